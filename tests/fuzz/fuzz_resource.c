/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "fuzz_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char hyper[] =
        "{\"sagemaker_program\": \"train.py\", \"sagemaker_mpi_enabled\": \"true\","
        " \"sagemaker_distribution_instance_groups\": \"[\\\"train\\\"]\"}";

    for (int i = 0; i < 2; i++)
        fuzz_job(json_parse(hyper, sizeof(hyper) - 1, NULL), fuzz_object(data, size),
                 i ? "algo-3" : NULL);
    return 0;
}
