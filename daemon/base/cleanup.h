/* SPDX-License-Identifier: Apache-2.0
 *
 * cleanup - what lives for a scope is released at its end.
 *
 * A variable with auto_* must be initialised where it is declared. TAKE() moves a value out, so
 * that the cleanup finds nothing. */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H
#include <stddef.h>

void cleanup_free(void *pointer_to_pointer);
void cleanup_fd(int *fd); /* a negative descriptor is nothing to close */

#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_fd   __attribute__((cleanup(cleanup_fd)))

/* The value of `var`, which is NULL (or 0) afterwards. */
#define TAKE(var)                                                                                  \
    __extension__({                                                                                \
        __typeof__(var) taken_ = (var);                                                            \
        (var) = (__typeof__(var))0;                                                                \
        taken_;                                                                                    \
    })
#define TAKE_FD(fd)                                                                                \
    __extension__({                                                                                \
        int taken_ = (fd);                                                                         \
        (fd) = -1;                                                                                 \
        taken_;                                                                                    \
    })
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#endif
