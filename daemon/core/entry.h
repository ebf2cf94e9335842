/* SPDX-License-Identifier: Apache-2.0
 *
 * entry - where the user's program lies and what kind of program it is.
 *
 * The folder is looked into through a job_lister, so nothing here touches a disk. job_find_entry()
 * of core/job.h lives here. Source: docs/contract.md, sections 9 and 10; field case 05. */
#ifndef CORE_ENTRY_H
#define CORE_ENTRY_H
#include "core/job.h"

/* By the name and by what lies beside it at the code folder's top level. */
enum entry_kind entry_classify(const char *program, const struct strv *code_files);
/* "pkg/train.py" as "pkg.train"; "-m pkg.train" likewise. To free(). */
char *entry_module_name(const char *program);
#endif
