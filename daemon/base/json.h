/* SPDX-License-Identifier: Apache-2.0
 *
 * json - JSON as Python's json module reads and writes it, in cJSON trees.
 *
 * cJSON's own parser is not used for outside text: it rounds integers, keeps repeated keys, ignores
 * case and refuses NaN (docs: notes on cJSON). json_parse() builds cJSON trees in which
 * - a number is a cJSON_Raw node whose text is already Python's: "3", "1e+16", "-0.0", "NaN",
 *   "Infinity"; an integer has digits and a sign only, of any length, and -0 is 0;
 * - an object's repeated key keeps its first place and takes its last value;
 * - strings are UTF-8. \u0000 and half of a surrogate pair, which JSON can spell and UTF-8 text
 *   cannot hold, are let through only where every output spells them again (inside a list or a
 *   nested object of a hyperparameter); in the tree they are C0 80 and ED A0..BF xx.
 * Trees are freed with cJSON_Delete() or auto_json.
 * Source: docs/contract.md, sections 3 and 8. */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

#define JSON_DEPTH_MAX   900    /* containers within containers */
#define JSON_MEMBERS_MAX 20000  /* of one object, repeated ones too */
#define JSON_VALUES_MAX  200000 /* of one text */

/* Parses exactly one value with white space around it. NULL with `err` (BLAME_CONFIG, "line 3,
 * column 7: expected ..., found ..."; place in characters) and err->code
 *   -EINVAL  not JSON (in a hyperparameter: the raw text is then the value),
 *   -E2BIG   nested too deep, an object with too many members, or too many values,
 *   -EILSEQ  bytes that are not UTF-8; or JSON, but with \u0000 or half a surrogate pair in a
 *            string that a variable or an argument would have to carry as it is: the text's only
 *            value, or a name or string right inside its outermost object. */
cJSON *json_parse(const char *text, size_t len, struct err *err);
/* As json_parse(), but skips a byte-order mark in front, and no string may hold \u0000 or half a
 * surrogate pair: for files. */
cJSON *json_parse_file_text(const char *text, size_t len, struct err *err);
/* file_read() and json_parse_file_text(); errors name the file. `max` in bytes. */
cJSON *json_read(const char *path, size_t max, struct err *err);

/* Member by exact name, NULL if absent (or `object` is NULL or no object). */
cJSON *json_get(const cJSON *object, const char *name);
/* The text of a string node, else NULL. */
const char *json_string(const cJSON *node);
bool json_is_number(const cJSON *node);
bool json_is_integer(const cJSON *node);
/* Integer node within [min, max] to *out; else false. */
bool json_integer(const cJSON *node, long min, long max, long *out);
/* Python's truth: false, null, 0, 0.0, "", {}, [] and NULL are false. */
bool json_truth(const cJSON *node);
/* "a list", "an object", "a string", "a number", "true or false", "null": for error texts. */
const char *json_kind(const cJSON *node);

struct json_member {
    cJSON *node;
    size_t at; /* place in the object */
};
/* The members sorted by the code points of their names, equal names in their order, to free(). */
struct json_member *json_sorted(const cJSON *object, size_t *n);

/* The contract's JSON (8.1): keys sorted by code point at every depth, no spaces, ASCII only. */
void json_write(struct buf *out, const cJSON *node);
/* The value of an environment variable (8.1): null is empty, a string raw, else json_write(). To
 * free(). */
char *json_env_text(const cJSON *node);
/* Python's json.dumps() with default separators and insertion order (12.6: TF_CONFIG). To free().
 */
char *json_python_default(const cJSON *node);
/* The value of a user argument (8.2), to free(). */
char *json_arg_text(const cJSON *node);
/* Python's repr() of a tree, as it stands inside lists in 8.2. */
void json_python_repr(struct buf *out, const cJSON *node);

/* Number nodes as json_parse() makes them, for trees of our own. */
cJSON *json_new_integer(long long value);
cJSON *json_new_float(double value);
/* Adds `node` (owned from now on; NULL adds null) under `name`. */
void json_add(cJSON *object, const char *name, cJSON *node);
/* Adds a string, or null if `text` is NULL. Bytes that are not UTF-8 become U+FFFD. */
void json_add_string(cJSON *object, const char *name, const char *text);

void json_cleanup(cJSON **tree);
#define auto_json __attribute__((cleanup(json_cleanup)))
#endif
