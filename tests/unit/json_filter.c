/* SPDX-License-Identifier: Apache-2.0
 *
 * json_filter - base/json, num and utf8 behind a pipe, for json_parity.py.
 *
 * A request is a letter, four bytes of length (little endian) and that many bytes; an answer is a
 * row of texts, each four bytes of length and the bytes. */
#include "config.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUEST_MAX (1U << 24)

static void answer(const char *text, size_t n)
{
    uint32_t length = (uint32_t)n;

    (void)fwrite(&length, sizeof(length), 1, stdout);
    (void)fwrite(text, 1, n, stdout);
}

static void answer_owned(char *text)
{
    answer(text, strlen(text));
    free(text);
}

/* The error's name; or "OK" and the tree in all its forms. */
static void try_json(const char *text, size_t n)
{
    struct err err = ERR_INIT;
    auto_json cJSON *tree = json_parse(text, n, &err);
    struct buf out = {0};

    if (!tree) {
        const char *name = err.code == -EINVAL   ? "EINVAL"
                           : err.code == -E2BIG  ? "E2BIG"
                           : err.code == -EILSEQ ? "EILSEQ"
                                                 : err.text;
        answer(name, strlen(name));
        return;
    }
    answer("OK", 2);
    json_write(&out, tree);
    answer_owned(buf_take(&out));
    answer_owned(json_env_text(tree));
    answer_owned(json_python_default(tree));
    answer_owned(json_arg_text(tree));
    json_python_repr(&out, tree);
    answer_owned(buf_take(&out));
    answer(json_truth(tree) ? "True" : "False", json_truth(tree) ? 4 : 5);
}

static void try_float(const char *text, size_t n)
{
    double value = 0;
    char written[NUM_FLOAT_SIZE];

    memcpy(&value, text, n < sizeof(value) ? n : sizeof(value));
    (void)num_float(value, written);
    answer(written, strlen(written));
}

static void try_upper(const char *text, size_t n)
{
    struct buf out = {0};

    utf8_upper(&out, text, n);
    answer(buf_text(&out), out.len);
    buf_done(&out);
}

static void try_replace(const char *text, size_t n)
{
    struct buf out = {0};

    utf8_replace(&out, text, n);
    answer(buf_text(&out), out.len);
    buf_done(&out);
}

/* A '1' or '0' for each character of valid text. */
static void try_printable(const char *text, size_t n)
{
    struct buf out = {0};
    uint32_t code = 0;
    size_t length;

    for (size_t at = 0; at < n && (length = utf8_decode(text + at, n - at, &code)); at += length)
        buf_char(&out, utf8_printable(code) ? '1' : '0');
    answer_owned(buf_take(&out));
}

int main(void)
{
    static const struct {
        char letter;
        void (*run)(const char *text, size_t n);
    } requests[] = {
        {'j', try_json     },
        {'f', try_float    },
        {'u', try_upper    },
        {'r', try_replace  },
        {'p', try_printable},
    };
    int letter;

    while ((letter = getchar()) != EOF) {
        uint32_t n = 0;
        auto_free char *text = NULL;

        if (fread(&n, sizeof(n), 1, stdin) != 1 || n > REQUEST_MAX)
            return 1;
        text = mem_grow(NULL, n, 1);
        if (fread(text, 1, n, stdin) != n)
            return 1;
        for (size_t i = 0; i < LENGTH(requests); i++)
            if (requests[i].letter == letter)
                requests[i].run(text, n);
    }
    return 0;
}
