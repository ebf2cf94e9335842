/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/num.h"
#include "base/utf8.h"

#define KIB       1024L
#define MIB       (1024L * KIB)
#define GIB       (1024L * MIB)
#define DAY_S     86400L
#define TEXT_MAX  4096   /* bytes of a text */
#define RANKS_MAX 999999 /* largest rank in log.ranks */
#define FOUND_MAX 80     /* bytes of a refused value that are shown */

enum kind { KIND_CHOICE, KIND_TEXT, KIND_BOOL, KIND_INTEGER, KIND_REAL, KIND_BYTES };

static const char *const kind_names[] = {
    [KIND_CHOICE] = "word",          [KIND_TEXT] = "text",   [KIND_BOOL] = "true or false",
    [KIND_INTEGER] = "whole number", [KIND_REAL] = "number", [KIND_BYTES] = "size",
};

static const struct {
    const char *suffix;
    long bytes;
} units[] = {
    {"GiB", GIB},
    {"MiB", MIB},
    {"KiB", KIB},
    {"",    1  },
};

static bool is_absolute(const char *value)
{
    return value[0] == '/';
}

static bool is_path_or_empty(const char *value)
{
    return !value[0] || is_absolute(value);
}

static bool is_prefix(const char *value)
{
    static const char *const fields[] = {"{host}", "{rank}", "{local_rank}", "{stream}"};
    bool has_field = false;

    if (!strcmp(value, "auto") || !strcmp(value, "off"))
        return true;
    while (*value) {
        size_t used = *value != '{' && *value != '}';

        for (size_t i = 0; i < LENGTH(fields) && !used; i++) {
            if (!strncmp(value, fields[i], strlen(fields[i])))
                used = strlen(fields[i]);
        }
        if (!used)
            return false;
        has_field = has_field || used > 1;
        value += used;
    }
    return has_field;
}

/* Digits at *at as a rank; moves *at behind them. */
static bool take_rank(const char **at, long *rank)
{
    size_t n = strspn(*at, "0123456789");
    auto_free char *digits = mem_dup_n(*at, n);

    *at += n;
    return num_integer(digits, 0, RANKS_MAX, rank);
}

static bool is_rank_list(const char *value)
{
    if (!strcmp(value, "all"))
        return true;
    for (;;) {
        long first, last;

        if (!take_rank(&value, &first))
            return false;
        if (*value == '-') {
            value++;
            if (!take_rank(&value, &last) || last < first)
                return false;
        }
        if (!*value)
            return true;
        if (*value++ != ',')
            return false;
    }
}

/* One macro for each kind of row. */
#define ROW(kind, name, member, standard, min, max, accepts, bounds, sentence)                     \
    {                                                                                              \
        name, kind, offsetof(struct settings, member), standard, min, max, accepts, bounds,        \
            sentence                                                                               \
    }
#define CHOICE(name, member, standard, ...)                                                        \
    ROW(KIND_CHOICE, name, member, standard, 0, 0, NULL, __VA_ARGS__)
#define TEXT(name, member, standard, ...) ROW(KIND_TEXT, name, member, standard, 0, 0, __VA_ARGS__)
#define SWITCH(name, member, standard, ...)                                                        \
    ROW(KIND_BOOL, name, member, standard, 0, 0, NULL, "true or false", __VA_ARGS__)
#define INTEGER(name, member, standard, min, max, ...)                                             \
    ROW(KIND_INTEGER, name, member, standard, min, max, NULL, __VA_ARGS__)
#define REAL(name, member, standard, min, max, ...)                                                \
    ROW(KIND_REAL, name, member, standard, min, max, NULL, __VA_ARGS__)
#define BYTES(name, member, standard, min, max, ...)                                               \
    ROW(KIND_BYTES, name, member, standard, min, max, NULL, __VA_ARGS__)

static const struct setting {
    const char *name;
    enum kind kind;
    size_t field; /* offset in struct settings */
    const char *standard;
    double min, max;                    /* of numbers */
    bool (*accepts)(const char *value); /* of texts; NULL: any */
    const char *bounds;                 /* of a choice its words with ", " between; it may be empty
                                           if its default is */
    const char *sentence;
} table[] = {
    CHOICE("launcher", launcher, "",
           "plain, torch, mpi, smddp, xla, tf-parameter-server, tf-mirrored",
           "How the ranks are started; empty: as the job asks."),
    CHOICE("torch.launcher", torch_launcher, "native", "native, exec",
           "Whether serried itself starts the ranks of a torch job (native), or the image's own "
           "torchrun does (exec)."),
    INTEGER("torch.port", master_port, "7777", 1, 65535, "1 to 65535",
            "The port that rank 0 of a torch job listens on; another is taken where it is in use."),
    TEXT("python", python, "", NULL, "a path or a name on PATH",
         "The Python that runs scripts and packages; empty: python3, else python, on PATH."),
    SWITCH("rank.oversubscribe", oversubscribe, "false",
           "Whether a host may have more ranks than GPUs."),
    INTEGER("step.install_limit_s", install_limit_s, "3600", 1, 28 * DAY_S, "1 to 2419200 seconds",
            "How long the installation of the requirements may take."),
    INTEGER("rank.early_exit_s", early_exit_s, "600", 0, 28 * DAY_S, "0 to 2419200 seconds",
            "How long the others may go on, after the first rank has ended well, without a "
            "warning; 0: for ever."),
    SWITCH("rank.early_exit_fails", early_exit_fails, "false",
           "Whether the job is ended as failed when rank.early_exit_s has passed."),
    REAL("stop.grace_s", stop_grace_s, "100", 0, DAY_S, "0 to 86400 seconds",
         "How long the ranks have to end by themselves when the job is stopped."),
    REAL("stop.failure_grace_s", stop_failure_grace_s, "10", 0, DAY_S, "0 to 86400 seconds",
         "How long the other ranks have to end by themselves after one has failed."),
    REAL("stop.drain_s", stop_drain_s, "10", 0, DAY_S, "0 to 86400 seconds",
         "How long output that nobody reads is waited for after the ranks have ended."),
    CHOICE("log.level", log_level, "", "debug, info, warning, error",
           "The least level of serried's own messages; empty: as sagemaker_container_log_level "
           "asks."),
    CHOICE("log.format", log_format, "text", "text, json",
           "Whether the console gets lines of text or of JSON."),
    TEXT("log.prefix", log_prefix, "auto", is_prefix,
         "auto, off, or a text with {host}, {rank}, {local_rank} or {stream} in it",
         "What stands in front of a rank's lines on the console; auto: [{host}:{rank}] if the job "
         "has more than one rank."),
    TEXT("log.ranks", log_ranks, "all", is_rank_list, "all, or a list such as 0,2-5",
         "The ranks whose lines the console shows; the last words of a rank that failed are shown "
         "anyway."),
    BYTES("log.line_max", log_line_max, "64 KiB", 256, MIB, "256 bytes to 1 MiB",
          "The longest line on the console; the rest goes on in another line."),
    BYTES(
        "log.file_max", log_file_max, "256 MiB", 0, 1024.0 * GIB, "0 to 1024 GiB",
        "The longest file of one stream of a rank; of a longer stream the middle is left out, and "
        "0 writes no files."),
    REAL("log.progress_per_s", log_progress_per_s, "2", 0.1, 100, "0.1 to 100",
         "How often a second the console shows a progress bar that draws over itself."),
    TEXT("cgroup.root", cgroup_root, "/sys/fs/cgroup", is_absolute, "an absolute path",
         "Where the control groups are mounted, for the proof of a lack of memory."),
    TEXT("peer.key_file", peer_key_file, "", is_path_or_empty, "an absolute path, or empty",
         "The key that the hosts of a job share, as serry keygen makes it; empty: SERRIED_JOB_KEY, "
         "else one derived from the job, which is no secret."),
    CHOICE("peer.key", peer_key, "any", "any, required",
           "Whether a job of several hosts runs without a key of its own (any) or is refused "
           "(required)."),
    INTEGER("peer.port", peer_port, "7770", 1, 65535, "1 to 65535",
            "The TCP port on which the daemons of a job's hosts meet."),
    REAL("peer.meet_limit_s", peer_meet_limit_s, "900", 1, DAY_S, "1 to 86400 seconds",
         "How long all hosts of the job are waited for, in total."),
    REAL("peer.heartbeat_s", peer_heartbeat_s, "1", 0.1, 600, "0.1 to 600 seconds",
         "How often the hosts of a job show each other that they are alive."),
    REAL("peer.silence_s", peer_silence_s, "10", 0.5, 3600, "0.5 to 3600 seconds",
         "How long a host may be silent before it is lost; it ends the job."),
};

static bool is_choice(const struct setting *row, const char *value)
{
    size_t n = strlen(value);

    if (!n)
        return !row->standard[0];
    for (const char *word = row->bounds; *word; word += strspn(word, ", ")) {
        size_t length = strcspn(word, ",");

        if (length == n && !memcmp(word, value, n))
            return true;
        word += length;
    }
    return false;
}

static bool is_text(const struct setting *row, const char *value)
{
    if (strlen(value) > TEXT_MAX)
        return false;
    for (const char *at = value; *at; at++) {
        if (iscntrl((unsigned char)*at))
            return false;
    }
    return !row->accepts || row->accepts(value);
}

/* "65536", "64KiB" or "64 KiB". */
static bool read_bytes(const struct setting *row, const char *value, long *out)
{
    size_t n = strspn(value, "0123456789");
    auto_free char *digits = mem_dup_n(value, n);
    const char *suffix = value + n + strspn(value + n, " ");
    long count;

    for (size_t i = 0; i < LENGTH(units); i++) {
        if (strcmp(suffix, units[i].suffix) != 0)
            continue;
        if (!num_integer(digits, 0, (long)row->max / units[i].bytes, &count) ||
            count * units[i].bytes < (long)row->min)
            return false;
        *out = count * units[i].bytes;
        return true;
    }
    return false;
}

static bool read_bool(const char *value, bool *out)
{
    bool yes = strcmp(value, "true") == 0 || strcmp(value, "1") == 0;

    if (!yes && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return false;
    *out = yes;
    return true;
}

/* Reads `value` into the row's member; false, with nothing changed, if it is out of bounds. */
static bool take(struct settings *s, const struct setting *row, const char *value)
{
    void *field = (char *)s + row->field;

    switch (row->kind) {
    case KIND_BOOL:
        return read_bool(value, field);
    case KIND_INTEGER:
        return num_integer(value, (long)row->min, (long)row->max, field);
    case KIND_REAL:
        return num_real(value, row->min, row->max, field);
    case KIND_BYTES:
        return read_bytes(row, value, field);
    case KIND_CHOICE:
    case KIND_TEXT:
        if (row->kind == KIND_CHOICE ? !is_choice(row, value) : !is_text(row, value))
            return false;
        free(*(char **)field);
        *(char **)field = mem_dup(value);
        return true;
    }
    return false;
}

static const struct setting *find(const char *name)
{
    for (size_t i = 0; i < LENGTH(table); i++) {
        if (!strcmp(table[i].name, name))
            return &table[i];
    }
    return NULL;
}

void settings_init(struct settings *s)
{
    memset(s, 0, sizeof(*s));
    for (size_t i = 0; i < LENGTH(table); i++) {
        bool taken = take(s, &table[i], table[i].standard);

        assert(taken);
        (void)taken;
    }
}

void settings_done(struct settings *s)
{
    for (size_t i = 0; i < LENGTH(table); i++) {
        if (table[i].kind == KIND_CHOICE || table[i].kind == KIND_TEXT)
            free(*(char **)((char *)s + table[i].field));
    }
    memset(s, 0, sizeof(*s));
}

int settings_set(struct settings *s, const char *name, const char *value, struct err *err)
{
    const struct setting *row = find(name);
    const char *near = NULL;
    size_t n = strlen(value);

    if (!row) {
        near = names_nearest(name, settings_names(), LENGTH(table));
        return err_set(err, BLAME_CONFIG, -ENOENT, "unknown setting %s%s%s%s", name,
                       near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
    }
    if (take(s, row, value))
        return 0;
    return err_set(err, BLAME_CONFIG, -EINVAL, "%s: expected %s%s, found \"%.*s\"%s", name,
                   row->kind == KIND_CHOICE ? "one of " : "", row->bounds,
                   (int)utf8_clip(value, n, FOUND_MAX), value, n > FOUND_MAX ? "..." : "");
}

const char *const *settings_names(void)
{
    static const char *names[LENGTH(table) + 1];

    for (size_t i = 0; i < LENGTH(table) && !names[i]; i++)
        names[i] = table[i].name;
    return names;
}

bool settings_row(size_t index, struct setting_row *out)
{
    if (index >= LENGTH(table))
        return false;
    out->name = table[index].name;
    out->type = kind_names[table[index].kind];
    out->bounds = table[index].bounds;
    out->standard = table[index].standard;
    out->sentence = table[index].sentence;
    return true;
}

static char *bytes_text(long bytes)
{
    for (size_t i = 0; bytes && i < LENGTH(units); i++) {
        if (bytes % units[i].bytes == 0)
            return mem_printf("%ld%s%s", bytes / units[i].bytes, units[i].suffix[0] ? " " : "",
                              units[i].suffix);
    }
    return mem_dup("0");
}

static char *real_text(double value)
{
    char text[NUM_FLOAT_SIZE];
    size_t n = strlen(num_float(value, text));

    if (n > 2 && !strcmp(text + n - 2, ".0"))
        text[n - 2] = '\0';
    return mem_dup(text);
}

char *settings_get(const struct settings *s, const char *name)
{
    const struct setting *row = find(name);
    const void *field = row ? (const char *)s + row->field : NULL;

    if (!row)
        return NULL;
    switch (row->kind) {
    case KIND_BOOL:
        return mem_dup(*(const bool *)field ? "true" : "false");
    case KIND_INTEGER:
        return mem_printf("%ld", *(const long *)field);
    case KIND_REAL:
        return real_text(*(const double *)field);
    case KIND_BYTES:
        return bytes_text(*(const long *)field);
    case KIND_CHOICE:
    case KIND_TEXT:
        return mem_dup(*(char *const *)field);
    }
    return NULL;
}
