/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "core/verdict.h"
#include "outcomes.h"

#define NOTE "note: ignoring Exception in plugin\n"

static struct verdict *judge(const struct outcome *o, size_t n)
{
    struct verdict_input in = {
        .outcomes = o, .n = n, .host = "algo-1", .memory = {.readable = true}};

    return verdict_new(&in);
}

#define JUDGE(o) judge(o, LENGTH(o))

static void assert_first(struct verdict *v, const struct outcome *first, int status,
                         const char *message)
{
    assert_int_equal(v->kind, VERDICT_FAILED);
    assert_ptr_equal(v->first, first);
    assert_int_equal(v->status, status);
    assert_string_equal(v->message, message);
    verdict_free(v);
}

static void test_verdict_success_needs_every_exit_code_0(void **state)
{
    struct outcome o[] = {ended(0, 0, 900, TB("KeyError: 'handled'")), ended(1, 0, 800, NULL)};
    struct verdict *v = JUDGE(o);

    (void)state;
    assert_int_equal(v->kind, VERDICT_SUCCESS);
    assert_int_equal(v->status, 0);
    assert_null(v->first);
    verdict_free(v);
    o[1].exit_code = 3;
    assert_first(JUDGE(o), &o[1], 3, "");
}

static void test_verdict_without_proof_there_is_no_success(void **state)
{
    struct outcome o[] = {
        ended(0, 0, 900, NULL), {.rank = 1, .host = "algo-1"}
    };
    struct verdict *v = JUDGE(o);

    (void)state;
    assert_int_equal(v->kind, VERDICT_FAILED);
    assert_int_equal(v->blame, BLAME_SELF);
    assert_int_equal(v->status, 70);
    verdict_free(v);
    v = judge(NULL, 0);
    assert_int_equal(v->status, 70);
    verdict_free(v);
}

/* Field case 26: rank 3 raises at 2 s, the others are loud and exit between 2.3 s and 3 s. */
static void test_verdict_names_the_first_not_the_loudest(void **state)
{
    static const char loud[] = NOTE RESET RESET RESET RESET RESET;
    struct outcome o[] = {
        told(with_error_at(ended(0, 1, 2300, loud), 2250), 2110, sizeof(NOTE) - 1),
        told(with_error_at(ended(1, 1, 2600, loud), 2550), 2110, sizeof(NOTE) - 1),
        told(with_error_at(ended(2, 1, 3000, loud), 2950), 2110, sizeof(NOTE) - 1),
        with_error_at(ended(3, 1, 2100, TB("ValueError: bad shard")), 2000),
    };
    struct verdict *v = JUDGE(o);

    (void)state;
    assert_string_equal(v->what, "exit code 1");
    assert_string_equal(v->where, "rank 3 on algo-1");
    assert_int_equal(v->blame, BLAME_USER);
    assert_true(verdict_is_follower(v, &o[0]));
    assert_false(verdict_is_follower(v, &o[3]));
    assert_first(v, &o[3], 1, "ValueError: bad shard");
}

/* The same with ranks 0 to 2 gone 50 ms before rank 3 is reaped: it is told before it ends. */
static void test_verdict_sees_the_cause_in_a_rank_that_ends_last(void **state)
{
    static const char cause[] = TB("ValueError: bad shard");
    struct outcome o[] = {
        with_error_at(ended(0, 1, 2300, RESET), 2280),
        with_error_at(ended(1, 1, 2310, RESET), 2290),
        with_error_at(ended(2, 1, 2320, RESET), 2300),
        told(with_error_at(ended(3, 1, 2350, cause), 2000), 2301, sizeof(cause) - 1),
    };

    (void)state;
    assert_first(JUDGE(o), &o[3], 1, "ValueError: bad shard");
    /* our signal ended it on its way out: it has no status of its own */
    o[3].exit_code = -1;
    o[3].signal = SIGTERM;
    assert_first(JUDGE(o), &o[3], 1, "ValueError: bad shard");
    /* errors of unknown words: time decides */
    for (size_t i = 0; i < 3; i++) {
        o[i].last_err = (char *)(uintptr_t) "cannot reach rank 3\ncannot reach rank 3\n";
        o[i].last_err_len = o[i].total_err = strlen(o[i].last_err);
        o[i].error_ms = 0;
    }
    assert_first(JUDGE(o), &o[3], 1, "ValueError: bad shard");
}

static void test_verdict_a_consequence_never_outranks_a_cause(void **state)
{
    struct outcome o[] = {
        with_error_at(ended(0, 1, 2000, RESET), 1900),
        ended(1, -SIGSEGV, 2400, NULL),
    };

    (void)state;
    assert_first(JUDGE(o), &o[1], 139, "");
    /* alone it is the cause after all */
    assert_first(judge(o, 1), &o[0], 1,
                 "ConnectionResetError: [Errno 104] Connection reset by peer");
}

static void test_verdict_a_crash_reaped_late_goes_before_consequences(void **state)
{
    struct outcome o[] = {
        with_error_at(ended(0, 1, 2300, RESET), 2280),
        told(ended(1, -SIGSEGV, 2900, NULL), 2301, 0), /* a long core dump */
        told(ended(2, -SIGTERM, 2310, NULL), 2301, 0),
    };

    (void)state;
    assert_first(JUDGE(o), &o[1], 139, "");
}

static void test_verdict_a_handled_exception_is_no_cause(void **state)
{
    static const char went_on[] = TB("KeyError: 'optional'") "trying again\n";
    struct outcome o[] = {
        told(with_error_at(ended(0, -SIGTERM, 2200, went_on), 300), 2110, sizeof(went_on) - 1),
        with_error_at(ended(1, 1, 2100, TB("ValueError: bad shard")), 2000),
    };

    (void)state;
    assert_first(JUDGE(o), &o[1], 1, "ValueError: bad shard");
    /* nothing more on stderr, but it lived on for long */
    o[0].last_err_len = o[0].total_err = o[0].told_err_len = strlen(TB("KeyError: 'optional'"));
    o[0].told_ms = 90000;
    o[0].end_ms = 90100;
    o[1].error_ms = 89900;
    o[1].end_ms = 89990;
    assert_first(JUDGE(o), &o[1], 1, "ValueError: bad shard");
}

static void test_verdict_words_after_the_stop_do_not_count(void **state)
{
    static const char cause[] = TB("ValueError: bad shard");
    static const char stopped[] = "epoch 1\n" TB("RuntimeError: told to stop");
    struct outcome o[] = {
        told(with_error_at(ended(0, 1, 2500, stopped), 2400), 2110, 8),
        with_error_at(ended(1, 3, 2100, cause), 2000),
    };

    (void)state;
    o[1].end_ms = 2105; /* even if the time of its traceback is not known */
    o[1].error_ms = 0;
    assert_first(JUDGE(o), &o[1], 3, "ValueError: bad shard");
}

/* The stop came in the middle of a traceback: what it is, its end tells. */
static void test_verdict_reads_a_traceback_to_its_end(void **state)
{
    static const char cause[] = TB("ValueError: bad shard");
    struct outcome o[] = {
        told(with_error_at(ended(0, 1, 2300, RESET RESET), 2260), 2255, 60),
        with_error_at(ended(1, 1, 2250, RESET), 2240),
        told(with_error_at(ended(2, 1, 2500, cause), 2254), 2255, 60),
    };

    (void)state;
    assert_first(JUDGE(o), &o[2], 1, "ValueError: bad shard");
    assert_first(judge(o, 2), &o[1], 1,
                 "ConnectionResetError: [Errno 104] Connection reset by peer");
}

static void test_verdict_knows_what_had_come_when_the_tail_was_cut(void **state)
{
    static const char tail[] = TB("ValueError: bad shard") "and much more after the stop\n";
    struct outcome o[] = {
        with_error_at(ended(0, 1, 2300, RESET), 2280),
        told(with_error_at(ended(1, 1, 2600, tail), 2200), 2301, 0),
    };

    (void)state;
    o[1].total_err = 100000 + sizeof(tail) - 1; /* bytes lost in front */
    o[1].told_err_len = 100000 + strlen(TB("ValueError: bad shard"));
    assert_first(JUDGE(o), &o[1], 1, "ValueError: bad shard");
    o[1].told_err_len = 5000; /* before the tail begins: nothing is known */
    assert_first(JUDGE(o), &o[0], 1, "ConnectionResetError: [Errno 104] Connection reset by peer");
}

static void test_verdict_reads_the_torchelastic_error_file(void **state)
{
    struct outcome o[] = {
        ended(0, 1, 2300, "gone\n"),
        told(ended(1, 1, 2400, "W: slow\n"), 2301, 8),
    };

    (void)state;
    o[1].elastic_ms = 2000;
    o[1].elastic_text = (char *)(uintptr_t)TB("ValueError: bad shard");
    assert_first(JUDGE(o), &o[1], 1, "ValueError: bad shard");
    o[1].elastic_text = (char *)(uintptr_t) "bad shard";
    assert_first(JUDGE(o), &o[1], 1, "bad shard");
}

static void test_verdict_equal_times_go_to_the_lower_rank(void **state)
{
    struct outcome o[] = {ended(0, 0, 900, NULL), ended(1, 4, 800, NULL), ended(2, 5, 800, NULL)};

    (void)state;
    assert_first(JUDGE(o), &o[1], 4, "");
}

static void assert_memory(struct memory_facts memory, int code, const char *what, const char *help)
{
    struct outcome o = ended(0, code, 900, NULL);
    struct verdict_input in = {.outcomes = &o, .n = 1, .memory = memory};
    struct verdict *v = verdict_new(&in);

    assert_int_equal(v->status, 137);
    assert_string_equal(v->what, what);
    assert_non_null(strstr(v->help, help));
    if (!memory.oom_kills)
        assert_null(strstr(v->help, "out of memory"));
    verdict_free(v);
}

static void test_verdict_says_out_of_memory_only_with_proof(void **state)
{
    struct memory_facts killed = {.readable = true, .oom_kills = 1, .limit = 64 << 20};
    struct memory_facts unreadable = {.why = "/sys/fs/cgroup/memory.events: not there"};
    struct memory_facts none = {.readable = true};

    (void)state;
    assert_memory(killed, -SIGKILL, "killed: out of memory, limit 64.0 MiB", "killed 1 of this");
    assert_memory(killed, 137, "killed: out of memory, limit 64.0 MiB", "killed 1 of this");
    assert_memory(none, -SIGKILL, "signal 9 (SIGKILL)", "no memory event was counted");
    assert_memory(none, 137, "exit code 137", "no memory event was counted");
    assert_memory(unreadable, -SIGKILL, "signal 9 (SIGKILL)", "memory.events: not there");
    killed.limit = 3LL << 30;
    assert_memory(killed, -SIGKILL, "killed: out of memory, limit 3.0 GiB", "limit 3.0 GiB");
}

static void test_verdict_a_stop_is_143_whatever_the_ranks_return(void **state)
{
    struct outcome o[] = {told(ended(0, 0, 900, NULL), 500, 0),
                          told(ended(1, 1, 900, RESET), 500, 0),
                          told(ended(2, -SIGKILL, 900, NULL), 500, 0)};
    struct verdict_input in = {.outcomes = o, .n = 3, .stopped = true, .host = "algo-1"};
    struct verdict *v;

    (void)state;
    o[2].killed_ms = 800;
    v = verdict_new(&in);
    assert_int_equal(v->kind, VERDICT_STOPPED);
    assert_int_equal(v->status, 143);
    assert_null(v->first);
    assert_string_equal(v->message, "rank 2 on algo-1 had to be killed");
    assert_false(verdict_is_follower(v, &o[1]));
    verdict_free(v);
}

static void test_verdict_of_a_stop_names_some_of_those_killed(void **state)
{
    struct outcome o[40];
    struct verdict *v;

    (void)state;
    for (unsigned i = 0; i < LENGTH(o); i++) {
        o[i] = told(ended(i, -SIGKILL, 900, NULL), 700, 0);
        o[i].killed_ms = 800;
    }
    v = verdict_new(
        &(struct verdict_input){.outcomes = o, .n = LENGTH(o), .stopped = true, .host = "algo-1"});
    assert_non_null(strstr(v->message, ", rank 31 on algo-1 and 8 more had to be killed"));
    verdict_free(v);
}

static void test_verdict_trouble_of_ours_has_its_blame(void **state)
{
    struct err trouble = ERR_INIT;
    struct verdict_input in = {.trouble = &trouble, .host = "algo-1"};
    struct verdict *v;

    (void)state;
    (void)err_set(&trouble, BLAME_CONFIG, -EINVAL, "resourceconfig.json: /hosts: bad");
    v = verdict_new(&in);
    assert_int_equal(v->status, 65);
    assert_int_equal(v->blame, BLAME_CONFIG);
    assert_string_equal(v->what, "resourceconfig.json: /hosts: bad");
    assert_string_equal(v->where, "algo-1");
    verdict_free(v);
}

static void test_verdict_a_failed_start_has_the_blame_of_its_error(void **state)
{
    struct outcome o = {.host = "algo-1", .end_ms = 5};

    (void)state;
    o.spawn_error = (char *)(uintptr_t) "exec of ./x: Permission denied";
    o.spawn_blame = BLAME_USER;
    assert_first(judge(&o, 1), &o, 127, "exec of ./x: Permission denied");
    o.spawn_blame = BLAME_PLATFORM;
    assert_first(judge(&o, 1), &o, 71, "exec of ./x: Permission denied");
}

static void test_verdict_a_failed_step_shows_its_last_lines(void **state)
{
    struct outcome o = ended(0, 1, 900, NULL);
    struct verdict *v;

    (void)state;
    o.step = "install";
    o.last_out = (char *)(uintptr_t) "line 1\nno matching distribution\n";
    o.last_out_len = strlen(o.last_out);
    v = judge(&o, 1);
    assert_string_equal(v->where, "step install on algo-1");
    assert_string_equal(v->detail, "line 1\nno matching distribution");
    assert_first(v, &o, 1, "no matching distribution");
}

static void test_verdict_a_final_early_exit_names_who_left(void **state)
{
    struct outcome o[] = {told(ended(0, -SIGTERM, 900, NULL), 800, 0), ended(1, 0, 200, NULL),
                          told(ended(2, 0, 900, NULL), 800, 0)};
    struct verdict_input in = {.outcomes = o, .n = 3, .early_exit_final = true};
    struct verdict *v = verdict_new(&in);

    (void)state;
    assert_ptr_equal(v->first, &o[1]);
    assert_int_equal(v->status, 1);
    assert_string_equal(v->what, "left early with exit code 0");
    verdict_free(v);
    o[0] = ended(0, 5, 700, NULL); /* a failure at the same time says more */
    assert_first(verdict_new(&in), &o[0], 5, "");
}

static void test_verdict_texts_are_valid_utf8(void **state)
{
    static const char raw[] = TB("ValueError: gr\xc3\xb6\xc3\x9f\xff"
                                 "e\0x");
    struct outcome o = ended(0, 1, 900, raw);
    struct verdict *v;

    (void)state;
    o.last_err_len = o.total_err = sizeof(raw) - 1;
    v = judge(&o, 1);
    assert_non_null(strstr(v->detail, "gr\xc3\xb6\xc3\x9f\xef\xbf\xbd"
                                      "e\xef\xbf\xbdx"));
    assert_first(v, &o, 1,
                 "ValueError: gr\xc3\xb6\xc3\x9f\xef\xbf\xbd"
                 "e\xef\xbf\xbdx");
}

#define MULTI TB("ValueError: 1 validation error\nname\n  Field required\nFor further information")

/* Rank 3 failed first, but the others were gone before it was. */
static void test_verdict_sees_the_cause_behind_more_lines(void **state)
{
    static const struct {
        const char *err, *message;
        int code;
    } rows[] = {
        {MULTI,                                                                                  "ValueError: 1 validation error", 1       },
        {MULTI,                                                                                  "ValueError: 1 validation error", -SIGTERM},
        {TB("ValueError: bad shard") "cleanup done\n",                                           "ValueError: bad shard",          1       },
        {TB("ValueError: bad shard") "wandb: \nwandb: Run: x\n",                                 "ValueError: bad shard",          1       },
        {TB("ValueError: bad shard") "srun: error: task exited\n",                               "ValueError: bad shard",          1       },
        {"fatal: shard corrupt\n",                                                               "fatal: shard corrupt",           1       },
        {"thread 'main' panicked at 'bad shard', m.rs:2:5\nnote: run with `RUST_BACKTRACE=1`\n",
         "thread 'main' panicked at 'bad shard', m.rs:2:5",                                                                        101     },
        {"thread 'main' panicked at 'bad shard', m.rs:2:5\nAborting.\n",
         "thread 'main' panicked at 'bad shard', m.rs:2:5",                                                                        101     },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const char *err = rows[i].err;
        struct outcome o[] = {
            with_error_at(ended(0, 1, 2150, RESET), 2140),
            with_error_at(ended(1, 1, 2150, RESET), 2140),
            told(ended(2, -SIGTERM, 2170, NULL), 2160, 0),
            with_words_at(told(ended(3, rows[i].code, 2500, err), 2160, strlen(err)), 2010),
        };

        if (strstr(err, "Traceback"))
            o[3].error_ms = 2000;
        assert_first(JUDGE(o), &o[3], rows[i].code > 0 ? rows[i].code : 1, rows[i].message);
    }
}

/* Ranks that were well until we told them leave with a code of their own too. */
/* Its death, and the reset that it meant for others, came before we told them: their traceback had
 * begun, and our signal cut it. */
static void test_verdict_a_traceback_that_our_signal_cut_says_little(void **state)
{
    static const char *const cuts[] = {
        "Traceback (most recent call last):\n",
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n",
        TB("RuntimeError: [./gloo/transport/tcp/pair.cc:589] Read er"),
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(cuts); i++) {
        size_t n = strlen(cuts[i]) - (i == 2); /* no line's end */
        struct outcome cut = with_error_at(told(ended(0, -15, 5200, cuts[i]), 5100, n), 5090);
        struct outcome killed[] = {cut, ended(1, -9, 5095, NULL)};
        struct outcome reset[] = {cut, ended(1, 1, 5095, RESET)};
        struct verdict *v, *w;

        killed[0].last_err_len = reset[0].last_err_len = n;
        killed[0].total_err = reset[0].total_err = n;
        v = judge(killed, 2);
        w = judge(reset, 2);
        assert_string_equal(v->where, "rank 1 on algo-1");
        assert_int_equal(v->status, 137);
        assert_string_equal(w->where, "rank 0 on algo-1");
        verdict_free(v);
        verdict_free(w);
    }
}

static void test_verdict_what_the_stop_brought_about_is_no_cause(void **state)
{
    static const char reset[] = "ConnectionResetError: [Errno 104] Connection reset by peer";
    static const char *const rows[] = {" 50%|####\r 51%|####", " 50%|####\r 51%|####\n", "", NULL};
    struct outcome o[] = {
        with_error_at(ended(0, 1, 2150, RESET), 2140),
        {.rank = 1},
        {.rank = 2},
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        size_t n = rows[i] ? strlen(rows[i]) : 0;

        o[1] = with_words_at(told(ended(1, 1, 2500, rows[i]), 2160, n), 2100);
        assert_first(judge(o, 2), &o[0], 1, reset);
    }
    /* an old line; a shell's code for our signal; a traceback of the stop itself */
    o[1] = with_words_at(told(ended(1, 1, 9500, "epoch 1\n"), 9160, 8), 2100);
    assert_first(judge(o, 2), &o[0], 1, reset);
    o[1] = with_words_at(told(ended(1, 143, 2500, "epoch 1\n"), 2160, 8), 2100);
    assert_first(judge(o, 2), &o[0], 1, reset);
    o[1] = with_words_at(told(ended(1, 1, 2500, "epoch 1\n" TB("SystemExit: 1")), 2160, 8), 2100);
    o[1].error_ms = 2400;
    assert_first(judge(o, 2), &o[0], 1, reset);
    o[1].error_ms = 2160; /* at once */
    assert_first(judge(o, 2), &o[0], 1, reset);
    /* all do so */
    o[1] = with_words_at(told(ended(1, 1, 2500, "epoch 1\n"), 2160, 8), 2100);
    o[2] = with_words_at(told(ended(2, 1, 2500, "epoch 1\n"), 2160, 8), 2100);
    assert_first(judge(o, 3), &o[0], 1, reset);
}

static void test_verdict_an_old_traceback_says_nothing_of_a_stopped_rank(void **state)
{
    static const char reset[] = "ConnectionResetError: [Errno 104] Connection reset by peer";
    auto_buf struct buf err = {0};
    struct outcome o[2] = {with_error_at(ended(0, 1, 2150, RESET), 2140)};

    (void)state;
    buf_str(&err, TB("KeyError: 'optional'"));
    for (int i = 0; i < 50; i++)
        buf_printf(&err, "step %d\n", i);
    o[1] = told(with_error_at(ended(1, -SIGTERM, 2200, buf_text(&err)), 1900), 2160, err.len);
    assert_first(JUDGE(o), &o[0], 1, reset);
    o[1] = told(with_error_at(ended(1, -SIGTERM, 92200, MULTI), 1900), 92160, sizeof(MULTI) - 1);
    o[0].end_ms = 92150;
    o[0].error_ms = 92140;
    assert_first(JUDGE(o), &o[0], 1, reset);
}

static void test_verdict_shows_the_error_line_or_the_last(void **state)
{
    struct outcome o = with_error_at(ended(0, 1, 900, MULTI), 880);

    (void)state;
    assert_first(judge(&o, 1), &o, 1, "ValueError: 1 validation error");
    o = with_error_at(ended(0, 2, 900, TB("ImportError: x") "train.py: error: no --lr\n"), 300);
    assert_first(judge(&o, 1), &o, 2, "train.py: error: no --lr");
    o = with_error_at(ended(0, 1, 90000, TB("ImportError: x") "again\nfatal: no data\n"), 300);
    assert_first(judge(&o, 1), &o, 1, "fatal: no data");
    o = ended(0, -SIGABRT, 900,
              "F0101 10:00:00.0 77 l.cc:33] Check failed: n == m\n"
              "*** Check failure stack trace: ***\n    @ 0x7f  a()\nAborted\n");
    assert_first(judge(&o, 1), &o, 134, "F0101 10:00:00.0 77 l.cc:33] Check failed: n == m");
    /* longer than the tail: its beginning is not known */
    o = ended(0, 1, 900, "xxxxx\n");
    o.total_err = 100000;
    assert_first(judge(&o, 1), &o, 1, "... xxxxx");
}

/* An older error of another kind does not make the last word a consequence. */
static void test_verdict_a_handled_consequence_is_none(void **state)
{
    struct outcome o[] = {
        with_error_at(ended(0, 2, 90000, RESET "trying again\nfatal: no data\n"), 300),
        ended(1, 3, 90100, "cannot go on\n"),
    };

    (void)state;
    assert_first(JUDGE(o), &o[0], 2, "fatal: no data");
}

#define ROOT                                                                                       \
    TB("torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ")                      \
    "============\nt.py FAILED\n------------\nFailures:\n[1]:\n  time      : 2024\n"               \
    "  host      : algo-2\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 76)\n"           \
    "  error_file: <N/A>\n  traceback : To enable\n------------\n"                                 \
    "Root Cause (first observed failure):\n[0]:\n  time      : 2024\n  host      : algo-1\n"       \
    "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 77)\n  error_file: /e/1.json\n"       \
    "  traceback : Signal 9 (SIGKILL) received by PID 77\n============\n"

/* torchrun itself is the process that we see; it knows which of its ranks failed. */
static void test_verdict_reads_what_torchrun_says_of_its_ranks(void **state)
{
    struct outcome o = ended(0, 1, 900, TB("ValueError: bad shard") ROOT);
    struct verdict *v;

    (void)state;
    o.program = "torchrun";
    o.ranks = 2;
    v = judge(&o, 1);
    assert_string_equal(v->where, "torchrun on algo-1");
    assert_non_null(strstr(v->detail, "ValueError: bad shard"));
    assert_first(v, &o, 1, "rank 1 on algo-1: exitcode -9 (pid: 77), error_file /e/1.json");
    o.last_err_len = o.total_err = (size_t)(strstr(o.last_err, "/e/1.json") - o.last_err);
    assert_first(judge(&o, 1), &o, 1, "rank 1 on algo-1: exitcode -9 (pid: 77)");
    o.last_err_len = o.total_err = (size_t)(strstr(o.last_err, "[0]:") - o.last_err);
    v = judge(&o, 1);
    assert_non_null(strstr(v->message, "ChildFailedError"));
    verdict_free(v);
}

/* Nobody saw who sent it. */
static void test_verdict_says_of_a_signal_what_is_known(void **state)
{
    static const int signals[] = {SIGKILL, SIGTERM};

    (void)state;
    for (size_t i = 0; i < LENGTH(signals); i++) {
        struct outcome o = ended(0, -signals[i], 900, NULL);
        struct verdict *v = judge(&o, 1);

        assert_null(strstr(v->help, "somebody"));
        assert_non_null(strstr(v->help, "itself"));
        verdict_free(v);
    }
}

static void test_verdict_of_an_overdue_step_shows_how_far_it_came(void **state)
{
    static const int ends[] = {0, 1, -SIGTERM, -SIGKILL}; /* of the stop, whatever it makes of it */

    (void)state;
    for (size_t i = 0; i < LENGTH(ends); i++) {
        struct outcome o[] = {told(ended(0, ends[i], 61000, "fetching\nstill at it\n"), 60000, 21)};
        struct verdict *v;

        o[0].step = "install";
        o[0].overdue_s = 60;
        o[0].killed_ms = ends[i] == -SIGKILL ? 61000 : 0;
        v = JUDGE(o);
        assert_int_equal(v->kind, VERDICT_FAILED);
        assert_int_equal(v->status, 1);
        assert_ptr_equal(v->first, &o[0]);
        assert_string_equal(v->what, "not finished after 60 s");
        assert_string_equal(v->where, "step install on algo-1");
        assert_string_equal(v->message, "");
        assert_string_equal(v->detail, "fetching\nstill at it");
        assert_non_null(strstr(v->help, "step.install_limit_s"));
        verdict_free(v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_success_needs_every_exit_code_0),
        cmocka_unit_test(test_verdict_without_proof_there_is_no_success),
        cmocka_unit_test(test_verdict_names_the_first_not_the_loudest),
        cmocka_unit_test(test_verdict_sees_the_cause_in_a_rank_that_ends_last),
        cmocka_unit_test(test_verdict_a_consequence_never_outranks_a_cause),
        cmocka_unit_test(test_verdict_a_crash_reaped_late_goes_before_consequences),
        cmocka_unit_test(test_verdict_a_handled_exception_is_no_cause),
        cmocka_unit_test(test_verdict_words_after_the_stop_do_not_count),
        cmocka_unit_test(test_verdict_reads_a_traceback_to_its_end),
        cmocka_unit_test(test_verdict_knows_what_had_come_when_the_tail_was_cut),
        cmocka_unit_test(test_verdict_reads_the_torchelastic_error_file),
        cmocka_unit_test(test_verdict_equal_times_go_to_the_lower_rank),
        cmocka_unit_test(test_verdict_says_out_of_memory_only_with_proof),
        cmocka_unit_test(test_verdict_a_stop_is_143_whatever_the_ranks_return),
        cmocka_unit_test(test_verdict_of_a_stop_names_some_of_those_killed),
        cmocka_unit_test(test_verdict_trouble_of_ours_has_its_blame),
        cmocka_unit_test(test_verdict_a_failed_start_has_the_blame_of_its_error),
        cmocka_unit_test(test_verdict_a_failed_step_shows_its_last_lines),
        cmocka_unit_test(test_verdict_a_final_early_exit_names_who_left),
        cmocka_unit_test(test_verdict_texts_are_valid_utf8),
        cmocka_unit_test(test_verdict_sees_the_cause_behind_more_lines),
        cmocka_unit_test(test_verdict_a_traceback_that_our_signal_cut_says_little),
        cmocka_unit_test(test_verdict_what_the_stop_brought_about_is_no_cause),
        cmocka_unit_test(test_verdict_an_old_traceback_says_nothing_of_a_stopped_rank),
        cmocka_unit_test(test_verdict_shows_the_error_line_or_the_last),
        cmocka_unit_test(test_verdict_a_handled_consequence_is_none),
        cmocka_unit_test(test_verdict_reads_what_torchrun_says_of_its_ranks),
        cmocka_unit_test(test_verdict_says_of_a_signal_what_is_known),
        cmocka_unit_test(test_verdict_of_an_overdue_step_shows_how_far_it_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
