/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/channels.h"

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/job.h"

void channels_read(struct job *job, const cJSON *file)
{
    job->channels = file ? cJSON_Duplicate(file, true) : cJSON_CreateObject();
}

char *channels_folder(const struct job *job, const char *channel)
{
    auto_free char *data = job_path(job, "input/data");

    return mem_printf("%s/%s", data, channel);
}
