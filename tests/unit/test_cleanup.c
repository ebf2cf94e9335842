/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

static void test_descriptor_is_closed_at_the_end_of_its_scope(void **state)
{
    (void)state;
    int seen;

    {
        auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_true(fd >= 0);
        seen = fd;
    }
    errno = 0;
    assert_int_equal(fcntl(seen, F_GETFD), -1);
    assert_int_equal(errno, EBADF);
}

static void test_negative_descriptor_is_left_alone(void **state)
{
    (void)state;
    int fd = -1;

    errno = 0;
    cleanup_fd(&fd);
    assert_int_equal(errno, 0);
}

static void test_taken_values_survive_their_scope(void **state)
{
    (void)state;
    char *kept;
    int kept_fd;

    {
        auto_free char *text = mem_dup("kept");
        auto_fd int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        kept = TAKE(text);
        kept_fd = TAKE_FD(fd);
        assert_null(text);
        assert_int_equal(fd, -1);
    }
    assert_string_equal(kept, "kept");
    assert_true(fcntl(kept_fd, F_GETFD) >= 0);
    cleanup_free(&kept);
    cleanup_fd(&kept_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptor_is_closed_at_the_end_of_its_scope),
        cmocka_unit_test(test_negative_descriptor_is_left_alone),
        cmocka_unit_test(test_taken_values_survive_their_scope),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
