/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "fuzz.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/json.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void must_be_utf8(const char *text)
{
    MUST(utf8_check(text, strlen(text)) == strlen(text));
}

/* What was written reads back as the same tree: its contract form is `expected`. */
static void must_read_back(const char *text, const char *expected)
{
    auto_json cJSON *tree = json_parse(text, strlen(text), NULL);
    auto_buf struct buf again = {0};

    MUST(tree);
    json_write(&again, tree);
    MUST(strcmp(buf_text(&again), expected) == 0);
}

static void try_writers(const cJSON *tree)
{
    auto_buf struct buf contract = {0};
    auto_buf struct buf repr = {0};
    auto_free char *plain = json_python_default(tree);
    auto_free char *variable = json_env_text(tree);
    auto_free char *argument = json_arg_text(tree);

    json_write(&contract, tree);
    must_read_back(buf_text(&contract), buf_text(&contract));
    must_read_back(plain, buf_text(&contract));
    json_python_repr(&repr, tree);
    must_be_utf8(buf_text(&repr));
    must_be_utf8(variable);
    must_be_utf8(argument);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    auto_json cJSON *tree = json_parse((const char *)data, size, &err);
    auto_json cJSON *file = json_parse_file_text((const char *)data, size, NULL);

    MUST(tree || err.code == -EINVAL || err.code == -E2BIG || err.code == -EILSEQ);
    MUST(tree || strncmp(err.text, "line ", 5) == 0);
    must_be_utf8(err.text);
    if (tree)
        try_writers(tree);
    if (file)
        try_writers(file);
    return 0;
}
