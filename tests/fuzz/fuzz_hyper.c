/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "fuzz_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char resources[] = "{\"current_host\": \"a\", \"hosts\": [\"a\", \"b\"]}";

    fuzz_job(fuzz_object(data, size), json_parse(resources, sizeof(resources) - 1, NULL), NULL);
    return 0;
}
