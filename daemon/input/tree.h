/* SPDX-License-Identifier: Apache-2.0
 *
 * tree - reads <base>/input/config. Source: docs/contract.md, sections 1 and 2. */
#ifndef INPUT_TREE_H
#define INPUT_TREE_H
#include "core/job.h"

#define TREE_FILE_MAX ((size_t)16 << 20) /* bytes of one configuration file */

/* The base folder: `option` (--base), else SAGEMAKER_BASE_DIR, else /opt/ml; absolute, without
 * ".", ".." and a slash at the end. To free(). */
char *tree_base(const char *option, const struct strv *container);
/* Reads the files into `tree`; faults go to `findings`, naming file and place. */
void tree_read(const char *base, struct tree *tree, struct findings *findings);
/* A job_lister. */
int tree_list(const char *dir, struct strv *names);
#endif
