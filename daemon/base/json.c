/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/utf8.h"

cJSON *json_read(const char *path, size_t max, struct err *err)
{
    size_t len = 0;
    auto_free char *text = file_read(path, max, &len, err);
    cJSON *tree = text ? json_parse_file_text(text, len, err) : NULL;

    if (text && !tree && err)
        (void)err_wrap(err, "%s", path);
    return tree;
}

cJSON *json_get(const cJSON *object, const char *name)
{
    return cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
}

const char *json_string(const cJSON *node)
{
    return cJSON_IsString(node) ? node->valuestring : NULL;
}

bool json_is_number(const cJSON *node)
{
    return cJSON_IsRaw(node);
}

bool json_is_integer(const cJSON *node)
{
    return json_is_number(node) && !node->valuestring[strspn(node->valuestring, "-0123456789")];
}

bool json_integer(const cJSON *node, long min, long max, long *out)
{
    return json_is_integer(node) && num_integer(node->valuestring, min, max, out);
}

bool json_truth(const cJSON *node)
{
    if (cJSON_IsString(node))
        return node->valuestring[0] != '\0';
    if (json_is_number(node))
        return strcmp(node->valuestring, "0") != 0 && strcmp(node->valuestring, "0.0") != 0 &&
               strcmp(node->valuestring, "-0.0") != 0;
    return cJSON_IsTrue(node) || (node && node->child);
}

const char *json_kind(const cJSON *node)
{
    return cJSON_IsArray(node)    ? "a list"
           : cJSON_IsObject(node) ? "an object"
           : cJSON_IsString(node) ? "a string"
           : json_is_number(node) ? "a number"
           : cJSON_IsBool(node)   ? "true or false"
                                  : "null";
}

/* By code points. UTF-8 has their order; C0 80 stands for the smallest. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a == '\xc0' && *b)
        return -1;
    if (*b == '\xc0' && *a)
        return 1;
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
}

static int by_name(const void *a, const void *b)
{
    const struct json_member *left = a;
    const struct json_member *right = b;
    int order = compare_names(left->node->string, right->node->string);

    return order ? order : (left->at > right->at) - (left->at < right->at);
}

struct json_member *json_sorted(const cJSON *object, size_t *n)
{
    size_t count = (size_t)cJSON_GetArraySize(object);
    struct json_member *members = mem_grow(NULL, count, sizeof(*members));
    size_t i = 0;

    for (cJSON *node = object->child; node; node = node->next, i++)
        members[i] = (struct json_member){node, i};
    qsort(members, count, sizeof(*members), by_name);
    *n = count;
    return members;
}

cJSON *json_new_integer(long long value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%lld", value);
    return mem_check(cJSON_CreateRaw(text));
}

cJSON *json_new_float(double value)
{
    char text[NUM_FLOAT_SIZE];

    return mem_check(cJSON_CreateRaw(num_float(value, text)));
}

void json_add(cJSON *object, const char *name, cJSON *node)
{
    if (!cJSON_AddItemToObject(object, name, node ? node : mem_check(cJSON_CreateNull())))
        mem_check(NULL);
}

void json_add_string(cJSON *object, const char *name, const char *text)
{
    auto_buf struct buf clean = {0};

    if (!text) {
        json_add(object, name, NULL);
        return;
    }
    utf8_replace(&clean, text, strlen(text));
    json_add(object, name, mem_check(cJSON_CreateString(buf_text(&clean))));
}

void json_cleanup(cJSON **tree)
{
    cJSON_Delete(*tree);
}
