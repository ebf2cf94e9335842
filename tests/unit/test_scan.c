/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "core/scan.h"

#define TB    "Traceback (most recent call last):\n"
#define FRAME "  File \"train.py\", line 3, in main\n    step(x)\n    ~~~~^^^\n"
#define BAD   TB FRAME "ValueError: bad shard\n"

static struct scan scan(const char *text)
{
    struct scan s;

    scan_tail(text, strlen(text), &s);
    assert_true(s.from <= s.to && s.to <= strlen(text));
    assert_true(s.error_from <= s.error_to && s.error_to <= strlen(text));
    return s;
}

static void assert_range(const char *text, size_t from, size_t to, const char *want)
{
    auto_free char *got = mem_dup_n(text + from, to - from);

    assert_string_equal(got, want);
}

/* The final line of the block that is the last word of `text`. */
static void assert_block(const char *text, const char *want)
{
    struct scan s = scan(text);

    assert_true(s.traceback != s.fatal);
    assert_true(s.last);
    assert_range(text, s.error_from, s.error_to, want);
}

static void test_scan_finds_the_final_line_of_a_traceback(void **state)
{
    const char *text = "epoch 1\n" BAD "\n \n";
    struct scan s = scan(text);

    (void)state;
    assert_block(text, "ValueError: bad shard");
    assert_range(text, s.from, s.to, TB FRAME "ValueError: bad shard");
    assert_block(TB FRAME "KeyboardInterrupt", "KeyboardInterrupt");
    assert_block(TB FRAME "  [Previous line repeated 996 more times]\nRecursionError: deep\r\n",
                 "RecursionError: deep");
}

static void test_scan_sees_that_the_program_went_on(void **state)
{
    const char *text = BAD "trying again\nall is well\n";
    struct scan s = scan(text);

    (void)state;
    assert_true(s.traceback);
    assert_false(s.last);
    assert_range(text, s.line_from, s.line_to, "all is well");
}

static void test_scan_takes_the_last_of_several_blocks(void **state)
{
    (void)state;
    assert_block(BAD "trying again\n" TB FRAME "KeyError: 'x'\n", "KeyError: 'x'");
    /* a block that an outer layer repeats: the innermost line comes last */
    assert_block(TB FRAME "ProcessRaisedException: \n\n-- Process 1 terminated with the following "
                          "error:\n" BAD,
                 "ValueError: bad shard");
    assert_block(TB FRAME "ValueError: Caught ValueError in DataLoader worker process 0.\n"
                          "Original " BAD,
                 "ValueError: bad shard");
}

static void test_scan_keeps_a_chain_together(void **state)
{
    const char *during =
        "x\n" BAD
        "\nDuring handling of the above exception, another exception occurred:\n\n" TB FRAME
        "RuntimeError: no data\n";
    const char *cause = "x\n" BAD "\nThe above exception was the direct cause of the following "
                        "exception:\n\n" TB FRAME "RuntimeError: no data\n";

    (void)state;
    assert_block(during, "RuntimeError: no data");
    assert_int_equal(scan(during).from, 2);
    assert_block(cause, "RuntimeError: no data");
    assert_int_equal(scan(cause).from, 2);
}

static void test_scan_takes_prefixes_off(void **state)
{
    const char *torch = "[rank3]: " TB "[rank3]:   File \"t.py\", line 3, in <module>\n"
                        "[rank3]:     main()\n[rank3]: ValueError: bad shard\n";
    const char *logger = "12:00 ERROR " TB "12:00 ERROR   File \"t.py\", line 3, in f\n"
                         "12:00 ERROR ValueError: bad shard\n";

    (void)state;
    assert_block(torch, "ValueError: bad shard");
    assert_int_equal(scan(torch).from, 0);
    assert_block(logger, "ValueError: bad shard");
    assert_block("ERROR: " BAD, "ValueError: bad shard");
    assert_block("  + Exception Group " TB "  |   File \"t.py\", line 3, in f\n"
                 "  | ExceptionGroup: eg (1 sub-exception)\n"
                 "  +-+---------------- 1 ----------------\n    | ValueError: 1\n"
                 "    +------------------------------------\n",
                 "ExceptionGroup: eg (1 sub-exception)");
    assert_int_equal(scan_rank_prefix("[rank12]: x", 11), 10);
    assert_int_equal(scan_rank_prefix("[rank]: x", 9), 0);
    assert_int_equal(scan_rank_prefix("[rank1", 6), 0);
    assert_int_equal(scan_rank_prefix("[rank1]:", 8), 8);
}

static void test_scan_knows_a_syntax_error_without_header(void **state)
{
    const char *text = "starting\n  File \"train.py\", line 1\n    def f(:\n          ^\n"
                       "SyntaxError: invalid syntax\n";

    (void)state;
    assert_block(text, "SyntaxError: invalid syntax");
    assert_int_equal(scan(text).from, 9);
}

static void test_scan_reads_a_block_whose_header_was_cut_off(void **state)
{
    const char *half = "one, in f\n    g()\n" FRAME FRAME "ValueError: bad shard\n";
    const char *none = "starting\n  File \"a\", line 3, in no traceback\nmore\n";

    (void)state;
    assert_block(half, "ValueError: bad shard");
    assert_false(scan(none).traceback);
}

static void test_scan_takes_a_block_that_was_not_finished(void **state)
{
    struct scan s = scan(TB FRAME);

    (void)state;
    assert_true(s.traceback && s.last);
}

static void test_scan_reads_on_only_to_the_end_of_a_block(void **state)
{
    const char *text = "epoch 1\n" BAD "more\n" TB FRAME "KeyError: 1\n";
    const char *error = strstr(text, "ValueError");
    size_t all = strlen(text);
    struct scan s;

    (void)state;
    for (size_t n = strlen("epoch 1\n" TB); n < (size_t)(error - text) + 15; n++) {
        scan_begun(text, n, all, &s);
        assert_true(s.traceback && s.last);
        assert_range(text, s.error_from, s.error_to, "ValueError: bad shard");
    }
    scan_begun(text, 7, all, &s);
    assert_false(s.traceback);
    assert_range(text, s.line_from, s.line_to, "epoch 1");
}

static void test_scan_knows_a_block_that_was_cut(void **state)
{
    (void)state;
    assert_true(scan(TB).cut);
    assert_true(scan(TB FRAME).cut);
    assert_true(scan(BAD TB FRAME).cut);
    assert_true(scan(TB FRAME "ValueError: bad sh").cut);
    assert_false(scan(BAD).cut);
    assert_false(scan(TB FRAME "ValueError: bad shard\r\n").cut);
    assert_false(scan(BAD "bye").cut);
    assert_false(scan("epoch 1").cut);
}

static void test_scan_is_not_misled_by_a_dying_interpreter(void **state)
{
    (void)state;
    assert_block(BAD "Exception ignored in: <function D.__del__ at 0x7f>\n" TB FRAME
                     "AttributeError: 'NoneType'\n",
                 "ValueError: bad shard");
    assert_block(BAD "Exception ignored in: <_io.TextIOWrapper name='<stdout>'>\n"
                     "BrokenPipeError: [Errno 32] Broken pipe\n",
                 "ValueError: bad shard");
    assert_block(BAD
                 "[rank0]:[W1016 11:22 ProcessGroup.cpp:1] Warning: not destroyed\n"
                 "terminate called without an active exception\n"
                 "Fatal Python error: Aborted\n\nCurrent thread 0x7f (most recent call first):\n"
                 "  <no Python frame>\n\nExtension modules: numpy (total: 1)\n",
                 "ValueError: bad shard");
    assert_false(scan(BAD "terminate called\n  what():  Connection reset by peer\n").consequence);
}

static void test_scan_knows_blocks_of_native_code(void **state)
{
    (void)state;
    assert_block("x\nterminate called after throwing an instance of 'std::runtime_error'\n"
                 "  what():  bad shard\n",
                 "terminate called after throwing an instance of 'std::runtime_error'\n"
                 "  what():  bad shard");
    assert_block(
        "x\nFatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent "
        "call first):\n  File \"t.py\", line 7 in main\n\nExtension modules: a, b\n",
        "Fatal Python error: Segmentation fault");
    assert_block("double free or corruption (!prev)\n", "double free or corruption (!prev)");
    assert_block("train: t.c:9: main: Assertion `n > 0' failed.\n",
                 "train: t.c:9: main: Assertion `n > 0' failed.");
    /* a handled exception long before */
    assert_block(BAD "trying again\nfree(): invalid pointer\n", "free(): invalid pointer");
}

static void test_scan_takes_the_last_line_where_nothing_is_known(void **state)
{
    const char *text = "note: ignoring Exception in plugin\n 10%\r100%\nno such shard  \n\n";
    struct scan s = scan(text);

    (void)state;
    assert_false(s.traceback || s.fatal || s.last);
    assert_range(text, s.error_from, s.error_to, "no such shard  ");
    s = scan("\n\n");
    assert_int_equal(s.error_from, s.error_to);
    scan_tail(NULL, 0, &s);
    assert_int_equal(s.to, 0);
    s = scan("  0%\r 50%\r 99%");
    assert_int_equal(s.error_to - s.error_from, 4);
}

static void test_scan_tells_consequences_from_causes(void **state)
{
    static const char *const yes[] = {
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by "
        "peer [127.0.0.1]:28048",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to [h]:7777",
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1275, remote process exited or "
        "there was a network error",
        "BrokenPipeError: [Errno 32] Broken pipe",
        "torch.distributed.elastic.SignalException: Process 7 got signal: 15",
        "connection error 39",
    };
    static const char *const no[] = {"ValueError: bad shard", "RuntimeError: CUDA out of memory",
                                     "KeyError: 'peer'", ""};

    (void)state;
    for (size_t i = 0; i < LENGTH(yes); i++)
        assert_true(scan_is_consequence(yes[i], strlen(yes[i])));
    for (size_t i = 0; i < LENGTH(no); i++)
        assert_false(scan_is_consequence(no[i], strlen(no[i])));
}

static void test_scan_reads_the_lines_that_nccl_adds(void **state)
{
    struct scan s = scan(TB FRAME "DistBackendError: NCCL error in: x.cpp:1275, internal error\n"
                                  "ncclInternalError: Internal check failed.\nLast error:\n"
                                  "Net : Connection closed by remote peer a<50260>\n");

    (void)state;
    assert_true(s.traceback && s.last && s.consequence);
}

/* A block with lines behind it that may be its message, or not. */
static void assert_near(const char *text, unsigned after, const char *want)
{
    struct scan s = scan(text);

    assert_true(s.traceback != s.fatal);
    assert_false(s.last);
    assert_int_equal(s.after, after);
    assert_range(text, s.error_from, s.error_to, want);
}

static void test_scan_shows_the_first_line_of_a_message_of_several(void **state)
{
    (void)state;
    assert_near(TB FRAME "pydantic.ValidationError: 1 validation error for Shard\nname\n"
                         "  Field required [type=missing]\nFor further information visit x\n",
                2, "pydantic.ValidationError: 1 validation error for Shard");
    assert_near(TB FRAME "OSError: We couldn't connect to 'x' to load this file.\n"
                         "Checkout your internet connection\n",
                1, "OSError: We couldn't connect to 'x' to load this file.");
    assert_near(TB FRAME "AssertionError: \nNot equal to tolerance rtol=1e-07, atol=0\n\n"
                         "Mismatched elements: 1 / 2 (50%)\n x: array([1., 2.])\n",
                1, "AssertionError: \nNot equal to tolerance rtol=1e-07, atol=0");
    assert_block(TB FRAME "AssertionError: \n", "AssertionError: ");
    assert_near(TB FRAME "AssertionError: \n\n  + got\nmore\n", 1, "AssertionError: \n\n  + got");
}

static void test_scan_counts_the_lines_behind_a_block(void **state)
{
    (void)state;
    assert_near(BAD "cleanup done\n\n\nbye\n", 2, "ValueError: bad shard");
    assert_int_equal(scan(BAD "more\n" BAD).after, 0);
    assert_block(BAD "wandb: \nwandb: Run history:\nwandb: loss 1\n", "ValueError: bad shard");
    assert_block(BAD "srun: error: task 3: exited with exit code 1\n", "ValueError: bad shard");
}

static void test_scan_knows_blocks_of_other_languages(void **state)
{
    (void)state;
    assert_block("x\nthread 'main' panicked at 'bad shard', src/main.rs:2:5\n"
                 "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                 "thread 'main' panicked at 'bad shard', src/main.rs:2:5");
    assert_block("thread 'main' panicked at src/main.rs:2:5:\nbad shard\n"
                 "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
                 "thread 'main' panicked at src/main.rs:2:5:\nbad shard");
    assert_block("x\npanic: bad shard\n\ngoroutine 1 [running]:\nmain.main()\n"
                 "\t/src/main.go:4 +0x27\nexit status 2\n",
                 "panic: bad shard");
    assert_block("x\nF0101 10:00:00.000000    77 loader.cc:33] Check failed: n == m (3 vs. 4)\n"
                 "*** Check failure stack trace: ***\n    @     0x7f  google::LogMessage::Fail()\n",
                 "F0101 10:00:00.000000    77 loader.cc:33] Check failed: n == m (3 vs. 4)");
    assert_false(scan("F16 weights are used\nF01011 x\nthread 'a' is here\n").fatal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scan_finds_the_final_line_of_a_traceback),
        cmocka_unit_test(test_scan_sees_that_the_program_went_on),
        cmocka_unit_test(test_scan_takes_the_last_of_several_blocks),
        cmocka_unit_test(test_scan_keeps_a_chain_together),
        cmocka_unit_test(test_scan_takes_prefixes_off),
        cmocka_unit_test(test_scan_knows_a_syntax_error_without_header),
        cmocka_unit_test(test_scan_reads_a_block_whose_header_was_cut_off),
        cmocka_unit_test(test_scan_takes_a_block_that_was_not_finished),
        cmocka_unit_test(test_scan_reads_on_only_to_the_end_of_a_block),
        cmocka_unit_test(test_scan_knows_a_block_that_was_cut),
        cmocka_unit_test(test_scan_is_not_misled_by_a_dying_interpreter),
        cmocka_unit_test(test_scan_knows_blocks_of_native_code),
        cmocka_unit_test(test_scan_takes_the_last_line_where_nothing_is_known),
        cmocka_unit_test(test_scan_tells_consequences_from_causes),
        cmocka_unit_test(test_scan_reads_the_lines_that_nccl_adds),
        cmocka_unit_test(test_scan_shows_the_first_line_of_a_message_of_several),
        cmocka_unit_test(test_scan_counts_the_lines_behind_a_block),
        cmocka_unit_test(test_scan_knows_blocks_of_other_languages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
