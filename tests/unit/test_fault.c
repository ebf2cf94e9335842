/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/fault.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/strv.h"
#include "emulator/rack.h"

/* A rack that writes down what it is asked for. */
static struct buf asked;

void rack_start(struct rack *r, size_t host)
{
    (void)r;
    buf_printf(&asked, "start %zu;", host);
}

void rack_signal(struct rack *r, size_t host, int number)
{
    (void)r;
    buf_printf(&asked, "signal %zu %d;", host, number);
}

void rack_freeze(struct rack *r, size_t host, bool on)
{
    (void)r;
    buf_printf(&asked, "freeze %zu %d;", host, on);
}

void rack_name(struct rack *r, size_t host, bool known)
{
    (void)r;
    buf_printf(&asked, "name %zu %d;", host, known);
}

void rack_road(struct rack *r, size_t from, size_t to, bool cut, unsigned delay_ms, double loss)
{
    (void)r;
    buf_printf(&asked, "road %ld %ld %d %u %.2f;", (long)from, (long)to, cut, delay_ms, loss);
}

static struct strv hosts(void)
{
    struct strv names = {0};

    strv_add(&names, "algo-1");
    strv_add(&names, "algo-2");
    strv_add(&names, "algo-3");
    return names;
}

static void test_each_kind_is_read(void **state)
{
    (void)state;
    auto_strv struct strv names = hosts();
    static const struct {
        const char *spec;
        struct fault want;
    } cases[] = {
        {"kill:algo-2",          {FAULT_KILL, 1, SIZE_MAX, 0, 0}      },
        {"kill:algo-2@0.5",      {FAULT_KILL, 1, SIZE_MAX, 0, 0.5}    },
        {"stop:algo-1@3",        {FAULT_STOP, 0, SIZE_MAX, 0, 3}      },
        {"freeze:algo-3@3",      {FAULT_FREEZE, 2, SIZE_MAX, 0, 3}    },
        {"thaw:algo-3@10",       {FAULT_THAW, 2, SIZE_MAX, 0, 10}     },
        {"cut:algo-1",           {FAULT_CUT, 0, SIZE_MAX, 0, 0}       },
        {"cut:algo-1:algo-3@2",  {FAULT_CUT, 0, 2, 0, 2}              },
        {"heal:algo-1:algo-3@4", {FAULT_HEAL, 0, 2, 0, 4}             },
        {"delay:algo-1:50ms",    {FAULT_DELAY, 0, SIZE_MAX, 50, 0}    },
        {"delay:algo-1:1.5s@2",  {FAULT_DELAY, 0, SIZE_MAX, 1500, 2}  },
        {"loss:algo-1:5%",       {FAULT_LOSS, 0, SIZE_MAX, 0.05, 0}   },
        {"late-name:algo-2@8",   {FAULT_LATE_NAME, 1, SIZE_MAX, 0, 8} },
        {"no-name:algo-2",       {FAULT_NO_NAME, 1, SIZE_MAX, 0, 0}   },
        {"late-start:algo-2@8",  {FAULT_LATE_START, 1, SIZE_MAX, 0, 8}},
        {"no-start:algo-2",      {FAULT_NO_START, 1, SIZE_MAX, 0, 0}  },
        {"disk:algo-2:16MiB",    {FAULT_DISK, 1, SIZE_MAX, 16, 0}     },
        {"memory:algo-2:2GiB",   {FAULT_MEMORY, 1, SIZE_MAX, 2048, 0} },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct err err = ERR_INIT;
        struct fault f;

        if (fault_parse(cases[i].spec, &names, &f, &err))
            fail_msg("%s", err.text);
        assert_int_equal(f.kind, cases[i].want.kind);
        assert_int_equal(f.host, cases[i].want.host);
        assert_int_equal(f.other, cases[i].want.other);
        assert_true(f.value > cases[i].want.value - 1e-9 && f.value < cases[i].want.value + 1e-9);
        assert_true(f.at_s > cases[i].want.at_s - 1e-9 && f.at_s < cases[i].want.at_s + 1e-9);
    }
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    auto_strv struct strv names = hosts();
    static const struct {
        const char *spec, *says;
    } cases[] = {
        {"",                    "no fault is named \"\"; there are kill, stop, freeze"         },
        {"kil:algo-2",          "kil:algo-2: no fault is named \"kil\"; did you mean \"kill\"?"},
        {"late_start:algo-2@3", "did you mean \"late-start\"?"                                 },
        {"explode:algo-2",      "there are kill, stop"                                         },
        {"kill",                "expected kill:HOST[@SECONDS], found no host"                  },
        {"kill:",               "found no host"                                                },
        {"kill:algo2",          "no host is named \"algo2\"; did you mean \"algo-2\"?"         },
        {"kill:leader",         "no host is named \"leader\""                                  },
        {"kill:algo-2:now",     "expected kill:HOST[@SECONDS], found now"                      },
        {"kill:algo-2@",        "expected seconds after \"@\""                                 },
        {"kill:algo-2@-1",      "expected seconds after \"@\""                                 },
        {"kill:algo-2@soon",    "found \"soon\""                                               },
        {"kill:algo-2@3@4",     "found \"3@4\""                                                },
        {"cut:algo-2:algo-2",   "two different hosts"                                          },
        {"cut:algo-2:algo-9",   "no host is named \"algo-9\""                                  },
        {"cut:algo-2:",         "no host is named \"\""                                        },
        {"delay:algo-2",        "expected delay:HOST:50ms[@SECONDS], found no value"           },
        {"delay:algo-2:50",     "expected delay:HOST:50ms[@SECONDS], found 50"                 },
        {"delay:algo-2:ms",     "found ms"                                                     },
        {"delay:algo-2:0ms",    "expected 1ms to 60s, found 0ms"                               },
        {"delay:algo-2:61s",    "expected 1ms to 60s, found 61s"                               },
        {"loss:algo-2:101%",    "found 101%"                                                   },
        {"loss:algo-2:-1%",     "found -1%"                                                    },
        {"loss:algo-2:nan%",    "found nan%"                                                   },
        {"disk:algo-2:16MB",    "expected disk:HOST:16MiB, found 16MB"                         },
        {"disk:algo-2:0MiB",    "expected 1MiB"                                                },
        {"disk:algo-2:16MiB@3", "expected no time: disk holds from the start"                  },
        {"no-start:algo-2@3",   "no-start holds from the start"                                },
        {"late-start:algo-2",   "expected late-start:HOST@SECONDS, found no time"              },
        {"late-name:algo-2@0",  "expected seconds after \"@\""                                 },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct err err = ERR_INIT;
        struct fault f = {.host = 77};

        assert_true(fault_parse(cases[i].spec, &names, &f, &err) < 0);
        assert_int_equal(err.blame, BLAME_USER);
        if (!strstr(err.text, cases[i].says))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].spec, err.text, cases[i].says);
        assert_int_equal(f.host, 77);
    }
}

static void test_long_text_is_refused(void **state)
{
    (void)state;
    auto_strv struct strv names = hosts();
    struct err err = ERR_INIT;
    struct fault f;
    char text[5000];

    memset(text, ':', sizeof(text));
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(fault_parse(text, &names, &f, &err), -E2BIG);
}

static void test_only_what_a_running_host_can_suffer_is_live(void **state)
{
    (void)state;
    for (enum fault_kind kind = FAULT_KILL; kind < FAULT_KINDS; kind++) {
        struct fault f = {.kind = kind};

        assert_int_equal(fault_is_live(&f), kind < FAULT_LATE_NAME);
        assert_int_equal(fault_ends_host(&f), kind == FAULT_KILL || kind == FAULT_NO_START);
    }
}

static void test_faults_reach_the_rack(void **state)
{
    (void)state;
    auto_strv struct strv names = hosts();
    static const struct {
        const char *spec, *calls;
    } cases[] = {
        {"kill:algo-2",         "signal 1 9;"                             },
        {"stop:algo-2",         "signal 1 15;"                            },
        {"freeze:algo-2",       "freeze 1 1;"                             },
        {"thaw:algo-2",         "freeze 1 0;"                             },
        {"cut:algo-2",          "road 1 -1 1 0 0.00;road -1 1 1 0 0.00;"  },
        {"cut:algo-2:algo-1",   "road 1 0 1 0 0.00;road 0 1 1 0 0.00;"    },
        {"heal:algo-2",         "road 1 -1 0 0 0.00;road -1 1 0 0 0.00;"  },
        {"delay:algo-2:50ms",   "road 1 -1 0 50 0.00;road -1 1 0 50 0.00;"},
        {"loss:algo-2:25%",     "road 1 -1 0 0 0.25;road -1 1 0 0 0.25;"  },
        {"no-name:algo-2",      "name 1 0;"                               },
        {"late-name:algo-2@3",  "name 1 1;"                               },
        {"late-start:algo-2@3", "start 1;"                                },
        {"no-start:algo-2",     ""                                        },
        {"disk:algo-2:1MiB",    ""                                        },
        {"memory:algo-2:1MiB",  ""                                        },
    };

    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct err err = ERR_INIT;
        struct fault f;

        assert_int_equal(fault_parse(cases[i].spec, &names, &f, &err), 0);
        buf_clear(&asked);
        fault_apply(&f, NULL);
        assert_string_equal(buf_text(&asked), cases[i].calls);
    }
    buf_done(&asked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_is_read),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_long_text_is_refused),
        cmocka_unit_test(test_only_what_a_running_host_can_suffer_is_live),
        cmocka_unit_test(test_faults_reach_the_rack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
