/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/cleanup.h"

#include <stdlib.h>
#include <unistd.h>

void cleanup_free(void *pointer_to_pointer)
{
    free(*(void **)pointer_to_pointer);
}

void cleanup_fd(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
}
