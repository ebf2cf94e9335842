/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <ctype.h>
#include <float.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "core/redact.h"
#include "core/redact_parts.h"

#define WORD_SIZE 24

/* Secret wherever they stand in a name. */
static const char *const strong_parts[] = {"password", "passwd", "passphrase",
                                           "passcode", "secret", "credential"};
/* Secret as a word of a name: split at what is no letter or digit, and before capitals. */
static const char *const weak_words[] = {
    "accesskey", "apikey", "auth", "authorization", "bearer", "cookie", "cookies",   "creds", "jwt",
    "key",       "pass",   "pat",  "private",       "pwd",    "sig",    "signature", "token"};
/* What a word may end in as well, with one of these in front: hftoken, pgpass, sshkey. A list,
 * since a rule would take compass and monkey too. */
static const char *const glued_ends[] = {"token", "tokens", "pass", "pwd", "key", "auth", "cookie"};
static const char *const owners[] = {
    "access",  "account", "admin",  "api",     "app",    "auth",   "aws",     "azure",  "bearer",
    "bot",     "client",  "csrf",   "db",      "deploy", "docker", "ftp",     "gcp",    "git",
    "github",  "gitlab",  "google", "gpg",     "hf",     "http",   "hub",     "id",     "job",
    "jwt",     "ldap",    "login",  "mail",    "my",     "mysql",  "oauth",   "openai", "pg",
    "private", "proxy",   "redis",  "refresh", "root",   "secret", "session", "smtp",   "sql",
    "ssh",     "sudo",    "tls",    "user",    "vpn",    "wandb",  "web"};
/* In front of token or key they make something ordinary of it: pad_token, sort_key. */
static const char *const ordinary[] = {
    "additional",  "audio",       "bos",    "class",   "cls",     "column",  "end",
    "eod",         "eos",         "extra",  "feature", "foreign", "group",   "image",
    "index",       "initializer", "input",  "join",    "label",   "mask",    "max",
    "metric",      "min",         "new",    "num",     "output",  "pad",     "partition",
    "placeholder", "primary",     "prompt", "sep",     "sort",    "special", "start",
    "stop",        "suppress",    "target", "text",    "unk",     "video"};
/* As the last word they make a name one of something else than the secret. */
static const char *const harmless_ends[] = {"column", "columns", "count",  "dim",  "dir",
                                            "file",   "heads",   "length", "mask", "method",
                                            "name",   "names",   "path",   "size", "type"};
static const char *const plain_values[] = {"true", "false", "none", "null",
                                           "yes",  "no",    "on",   "off"};

static bool is_among(const char *word, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strcasecmp(words[i], word))
            return true;
    }
    return false;
}
#define IS_AMONG(word, words) is_among(word, words, LENGTH(words))

/* Copies the next word at *at into `word`, cut where it is too long to matter; false at the end. */
static bool next_word(const char **at, char word[WORD_SIZE])
{
    const char *c = *at;
    size_t n = 0;

    while (*c && !isalnum((unsigned char)*c))
        c++;
    if (!*c)
        return false;
    do {
        if (n < WORD_SIZE - 1)
            word[n++] = *c;
        c++;
    } while (isalnum((unsigned char)*c) &&
             !(isupper((unsigned char)c[0]) &&
               (islower((unsigned char)c[-1]) || islower((unsigned char)c[1]))));
    word[n] = '\0';
    *at = c;
    return true;
}

static bool is_strong(const char *name)
{
    for (size_t i = 0; i < LENGTH(strong_parts); i++) {
        if (strcasestr(name, strong_parts[i]))
            return true;
    }
    return false;
}

/* hftoken, pgpass */
static bool is_glued(const char *word)
{
    size_t n = strlen(word);

    for (size_t i = 0; i < LENGTH(glued_ends); i++) {
        size_t end = strlen(glued_ends[i]);
        char owner[WORD_SIZE] = "";

        if (n <= end || strcasecmp(word + n - end, glued_ends[i]) != 0)
            continue;
        memcpy(owner, word, n - end);
        if (IS_AMONG(owner, owners))
            return true;
    }
    return false;
}

/* Of one word of a name; `before` is the one in front of it, "" if it is the first. */
static enum redact_strength word_strength(const char *word, const char *before)
{
    bool many = !strcasecmp(word, "tokens");

    if (is_glued(word))
        return word[strlen(word) - 1] == 's' && word[strlen(word) - 2] == 'n' ? REDACT_MANY
                                                                              : REDACT_WEAK;
    if ((!many && !IS_AMONG(word, weak_words)) || IS_AMONG(before, ordinary))
        return REDACT_OPEN;
    return many ? REDACT_MANY : REDACT_WEAK;
}

enum redact_strength redact_strength(const char *name)
{
    char before[WORD_SIZE] = "", word[WORD_SIZE] = "";
    enum redact_strength most = REDACT_OPEN;

    if (is_strong(name))
        return REDACT_STRONG;
    if (!strcmp(name, "PWD")) /* the shell's working directory */
        return REDACT_OPEN;
    while (next_word(&name, word)) {
        enum redact_strength one = word_strength(word, before);

        most = one > most ? one : most;
        memcpy(before, word, sizeof(before));
    }
    return IS_AMONG(word, harmless_ends) ? REDACT_OPEN : most;
}

bool redact_is_secret_name(const char *name)
{
    return redact_strength(name) >= REDACT_WEAK;
}

/* One that some number, list of numbers or switch can have. */
static bool is_countable(const char *value)
{
    while (*value && !isalpha((unsigned char)*value))
        value++;
    return !*value;
}

bool redact_is_secret_as(enum redact_strength strength, const char *value)
{
    double number;

    if (strength == REDACT_OPEN || !*value || IS_AMONG(value, plain_values))
        return false;
    if (strength == REDACT_MANY)
        return !is_countable(value);
    return strength == REDACT_STRONG || strlen(value) >= REDACT_DIGITS_MIN ||
           !num_real(value, -DBL_MAX, DBL_MAX, &number);
}

bool redact_is_secret(const char *name, const char *value)
{
    return redact_is_secret_as(redact_strength(name), value);
}
