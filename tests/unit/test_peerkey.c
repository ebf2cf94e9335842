/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made.h"
#include "run/peerkey.h"

#define DIGITS "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER  "10112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char path[] = "/tmp/serried-peerkey-XXXXXX";

static void write_key(const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    (void)close(fd);
}

static int key_of(const char *resources, const char *variables, const char *set,
                  struct peerkey *key, struct err *err)
{
    const struct given g = {.resources = resources, .variables = variables, .set = set};
    auto_made struct made m = made_new(&g);

    *key = (struct peerkey){0};
    return peerkey_get(&m.settings, m.job, key, err);
}

static void assert_same(const struct peerkey *a, const struct peerkey *b, bool same)
{
    assert_int_equal(memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0, same);
}

static void test_peerkey_is_bound_to_the_job_and_without_a_name_to_its_hosts(void **state)
{
    struct peerkey a, b, c, d;

    (void)state;
    assert_int_equal(key_of(TWO_HOSTS, "TRAINING_JOB_NAME=a", NULL, &a, NULL), 0);
    assert_int_equal(key_of(TWO_HOSTS, "TRAINING_JOB_NAME=b", NULL, &b, NULL), 0);
    assert_int_equal(key_of(TWO_GROUPS, "TRAINING_JOB_NAME=a", NULL, &c, NULL), 0);
    assert_same(&a, &b, false);
    assert_string_not_equal(a.tag, b.tag);
    assert_same(&a, &c, true);
    assert_string_equal(a.tag, c.tag);
    assert_int_equal(key_of(TWO_HOSTS, NULL, NULL, &b, NULL), 0);
    assert_int_equal(key_of("{\"current_host\": \"algo-1\", \"hosts\": [\"algo-2\", \"algo-1\"]}",
                            NULL, NULL, &c, NULL),
                     0);
    assert_int_equal(key_of(TWO_GROUPS, NULL, NULL, &d, NULL), 0);
    assert_same(&b, &c, true);
    assert_same(&b, &d, false);
    assert_true(a.derived);
    assert_int_equal(strlen(a.tag), 16);
}

static void test_peerkey_of_a_variable_or_a_file_is_the_same_secret(void **state)
{
    auto_free char *set = mem_printf("peer.key_file=%s", path);
    struct peerkey none, variable, file, other;

    (void)state;
    assert_int_equal(key_of(TWO_HOSTS, NULL, NULL, &none, NULL), 0);
    assert_int_equal(key_of(TWO_HOSTS, "SERRIED_JOB_KEY=" DIGITS, NULL, &variable, NULL), 0);
    assert_int_equal(key_of(TWO_HOSTS, "SERRIED_JOB_KEY=" OTHER, NULL, &other, NULL), 0);
    write_key("serried-key-1 " DIGITS "\n", 0600);
    assert_int_equal(key_of(TWO_HOSTS, NULL, set, &file, NULL), 0);
    assert_same(&variable, &file, true);
    assert_same(&variable, &other, false);
    assert_same(&variable, &none, false);
    assert_string_equal(variable.tag, none.tag);
    assert_false(variable.derived || file.derived);
}

static void test_peerkey_faults_are_sentences_without_the_key(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *says;
    } rows[] = {
        {"serried-key-1 " DIGITS "\n",  0640, "others may use it (mode 640): chmod 600"},
        {"serried-key-1 " DIGITS "0\n", 0600, "expected what serry keygen writes"      },
        {"serried-key-2 " DIGITS "\n",  0600, "expected what serry keygen writes"      },
        {"",                            0600, "expected what serry keygen writes"      },
    };
    auto_free char *set = mem_printf("peer.key_file=%s", path);
    struct peerkey key;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err err = ERR_INIT;

        write_key(rows[i].text, rows[i].mode);
        assert_true(key_of(TWO_HOSTS, NULL, set, &key, &err) < 0);
        assert_int_equal(err.blame, BLAME_CONFIG);
        assert_non_null(strstr(err.text, rows[i].says));
        assert_non_null(strstr(err.text, path));
        assert_null(strstr(err.text, "00112233"));
    }
}

static void test_peerkey_that_is_not_there(void **state)
{
    static const struct {
        const char *variables, *set, *says;
    } rows[] = {
        {NULL,                  "peer.key=required",              "setting peer.key = required: expected a key"    },
        {"SERRIED_JOB_KEY=",    "peer.key=required",              "expected a key"                                 },
        {"SERRIED_JOB_KEY=abc", NULL,                             "SERRIED_JOB_KEY: expected 64 hexadecimal digits"},
        {NULL,                  "peer.key_file=/nonexistent/key", "/nonexistent/key: No such file or directory"    },
        {NULL,                  "peer.key_file=/dev/null",        "expected a plain file"                          },
    };
    struct peerkey key;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct err err = ERR_INIT;

        assert_true(key_of(TWO_HOSTS, rows[i].variables, rows[i].set, &key, &err) < 0);
        assert_int_equal(err.blame, BLAME_CONFIG);
        assert_non_null(strstr(err.text, rows[i].says));
    }
}

static void test_keyform_reads_what_it_writes(void **state)
{
    unsigned char key[KEYFORM_BYTES] = {0, 255, 16, 1}, again[KEYFORM_BYTES];
    char text[KEYFORM_TEXT_SIZE];

    (void)state;
    keyform_write(key, text);
    assert_true(keyform_read(text, again));
    assert_memory_equal(key, again, sizeof(key));
    assert_true(keyform_read("  " DIGITS "\r\n", again));
    assert_false(keyform_read(DIGITS " x", again));
    assert_false(keyform_read("", again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peerkey_is_bound_to_the_job_and_without_a_name_to_its_hosts),
        cmocka_unit_test(test_peerkey_of_a_variable_or_a_file_is_the_same_secret),
        cmocka_unit_test(test_peerkey_faults_are_sentences_without_the_key),
        cmocka_unit_test(test_peerkey_that_is_not_there),
        cmocka_unit_test(test_keyform_reads_what_it_writes),
    };
    int fd = mkstemp(path), failed;

    if (fd < 0)
        return 1;
    (void)close(fd);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
