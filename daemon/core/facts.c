/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/facts.h"

#include <stdlib.h>

void facts_done(struct facts *f)
{
    free(f->torch_version);
    free(f->python);
    free(f->gethostname_library);
    free(f->bucket_region);
    free(f->host_ranks);
    strv_done(&f->python_path);
    strv_done(&f->interfaces);
    *f = (struct facts){0};
}
