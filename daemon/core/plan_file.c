/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdlib.h>

#include "base/mem.h"
#include "core/plan.h"

void plan_add_file(struct plan *plan, const char *path, const char *text)
{
    struct plan_file *file;

    plan->files = mem_grow(plan->files, plan->n_files + 1, sizeof(*plan->files));
    file = &plan->files[plan->n_files++];
    file->path = mem_dup(path);
    file->text = mem_dup(text);
}

void plan_files_done(struct plan *plan)
{
    for (size_t i = 0; i < plan->n_files; i++) {
        free(plan->files[i].path);
        free(plan->files[i].text);
    }
    free(plan->files);
    plan->files = NULL;
    plan->n_files = 0;
}
