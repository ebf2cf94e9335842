/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "core/wire.h"

static cJSON *tree(const char *text)
{
    cJSON *node = json_parse(text, strlen(text), NULL);

    assert_non_null(node);
    return node;
}

static const char *content(const struct buf *frame, size_t *n)
{
    size_t at = 0;
    const char *json = wire_next(frame, &at, n);

    assert_non_null(json);
    assert_int_equal(at, frame->len);
    return json;
}

/* What comes out of the other end. */
static struct wire_message sent(const struct wire_message *m)
{
    auto_buf struct buf frame = {0};
    struct wire_message out;
    struct err err = ERR_INIT;
    const char *json;
    size_t n;

    assert_int_equal(wire_encode(m, &frame), 0);
    json = content(&frame, &n); /* not within the call: the order of arguments is open */
    (void)wire_decode(json, n, &out, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(out.kind, m->kind);
    return out;
}

static void test_wire_every_kind_comes_out_as_it_went_in(void **state)
{
    struct wire_message m, out;

    (void)state;
    m = (struct wire_message){.kind = WIRE_HELLO,
                              .version = 1,
                              .release = mem_dup("0.1.0"),
                              .job = mem_dup("gr\xc3\xb6\xc3\x9f"
                                             "e"),
                              .host = mem_dup("algo-2"),
                              .ranks = 8,
                              .port = 7777,
                              .body = tree("{\"a\": \"b\"}")};
    out = sent(&m);
    assert_string_equal(out.job, m.job);
    assert_string_equal(out.host, "algo-2");
    assert_int_equal(out.ranks, 8);
    assert_int_equal(out.port, 7777);
    assert_string_equal(json_string(json_get(out.body, "a")), "b");
    wire_message_done(&out);
    wire_message_done(&m);
    m = (struct wire_message){.kind = WIRE_VERDICT,
                              .verdict = 1,
                              .status = 137,
                              .rank = -1,
                              .text = mem_dup("user: killed\n"),
                              .summary = mem_dup(""),
                              .body = tree("{}")};
    out = sent(&m);
    assert_int_equal(out.status, 137);
    assert_int_equal(out.rank, -1);
    assert_string_equal(out.text, "user: killed\n");
    wire_message_done(&out);
    wire_message_done(&m);
    m = (struct wire_message){.kind = WIRE_PONG, .time = INT64_MAX, .mine = 5};
    out = sent(&m);
    assert_true(out.time == INT64_MAX && out.mine == 5);
    m = (struct wire_message){.kind = WIRE_END, .stopped = true, .text = (char *)"SIGTERM"};
    out = sent(&m);
    assert_true(out.stopped);
    wire_message_done(&out);
    m = (struct wire_message){.kind = WIRE_READY};
    (void)sent(&m);
}

static void test_wire_what_does_not_fit_is_refused_by_name(void **state)
{
    static const struct {
        const char *json, *says;
    } rows[] = {
        {"",                                                             "not JSON"                        },
        {"{",                                                            "not JSON"                        },
        {"[]",                                                           "no known kind"                   },
        {"{\"say\": \"hallo\"}",                                         "no known kind"                   },
        {"{\"say\": 3}",                                                 "no known kind"                   },
        {"{\"say\": \"ping\"}",
         "message ping: /time: expected a time within its bounds, found nothing"                           },
        {"{\"say\": \"ping\", \"time\": -1}",                            "/time"                           },
        {"{\"say\": \"ping\", \"time\": 1.5}",                           "/time"                           },
        {"{\"say\": \"ping\", \"time\": 99999999999999999999}",          "/time"                           },
        {"{\"say\": \"end\", \"stopped\": 1, \"text\": \"\"}",           "/stopped: expected true or false"},
        {"{\"say\": \"end\", \"stopped\": true, \"text\": null}",        "/text: expected a string"        },
        {"{\"say\": \"end\", \"stopped\": true, \"text\": \"\\u0000\"}", "not JSON"                        },
        {"{\"say\": \"start\", \"hosts\": {}}",                          "/hosts: expected a list"         },
        {"{\"say\": \"report\", \"report\": []}",                        "/report: expected an object"     },
        {"{\"say\": \"verdict\", \"kind\": 3}",                          "/kind"                           },
        {"{\"say\": \"ready\"} x",                                       "not JSON"                        },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct wire_message m = {0};
        struct err err = ERR_INIT;

        assert_int_equal(wire_decode(rows[i].json, strlen(rows[i].json), &m, &err), -EBADMSG);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

static void test_wire_texts_have_bounds(void **state)
{
    auto_free char *host = mem_zero(255);
    struct wire_message m = {.kind = WIRE_HELLO, .host = host, .body = tree("{}")}, out;
    auto_buf struct buf frame = {0};
    struct err err = ERR_INIT;
    const char *json;
    size_t n;

    (void)state;
    memset(host, 'a', 254);
    assert_int_equal(wire_encode(&m, &frame), 0);
    json = content(&frame, &n);
    assert_int_equal(wire_decode(json, n, &out, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "hello: /host"));
    cJSON_Delete(m.body);
}

static void test_wire_a_message_over_the_limit_is_not_begun(void **state)
{
    struct wire_message m = {.kind = WIRE_REPORT, .body = cJSON_CreateObject()};
    auto_free char *text = mem_zero(WIRE_FRAME_MAX + 1);
    auto_buf struct buf frame = {0};

    (void)state;
    memset(text, 'x', WIRE_FRAME_MAX);
    json_add_string(m.body, "text", text);
    assert_int_equal(wire_encode(&m, &frame), -EMSGSIZE);
    assert_int_equal(frame.len, 0);
    wire_message_done(&m);
}

static void test_wire_frames_come_whole_whatever_the_pieces(void **state)
{
    auto_buf struct buf all = {0};
    auto_buf struct buf in = {0};
    struct wire_message m = {.kind = WIRE_PING};
    size_t seen = 0, at = 0, n;

    (void)state;
    for (m.time = 0; m.time < 3; m.time++)
        assert_int_equal(wire_encode(&m, &all), 0);
    for (size_t i = 0; i < all.len; i++) {
        const char *json;

        buf_add(&in, all.data + i, 1);
        while ((json = wire_next(&in, &at, &n))) {
            struct wire_message out;

            assert_int_equal(wire_decode(json, n, &out, NULL), 0);
            assert_int_equal(out.time, seen++);
        }
        assert_int_equal(n, 0);
    }
    assert_int_equal(seen, 3);
    assert_int_equal(at, all.len);
}

static void test_wire_lengths_that_cannot_be_are_told_apart_from_waiting(void **state)
{
    static const unsigned char none[] = {0, 0, 0, 0}, much[] = {0, 0x10, 0, 1};
    auto_buf struct buf in = {0};
    size_t at = 0, n;

    (void)state;
    assert_null(wire_next(&in, &at, &n));
    assert_int_equal(n, 0);
    buf_add(&in, none, 4);
    assert_null(wire_next(&in, &at, &n));
    assert_int_equal(n, 1);
    buf_clear(&in);
    buf_add(&in, much, 4);
    assert_null(wire_next(&in, &at, &n));
    assert_int_equal(n, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_every_kind_comes_out_as_it_went_in),
        cmocka_unit_test(test_wire_what_does_not_fit_is_refused_by_name),
        cmocka_unit_test(test_wire_texts_have_bounds),
        cmocka_unit_test(test_wire_a_message_over_the_limit_is_not_begun),
        cmocka_unit_test(test_wire_frames_come_whole_whatever_the_pieces),
        cmocka_unit_test(test_wire_lengths_that_cannot_be_are_told_apart_from_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
