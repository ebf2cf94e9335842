/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "emulator/fault.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/num.h"
#include "base/strv.h"
#include "emulator/rack.h"

#define SPEC_MAX    1024 /* bytes */
#define AT_MAX_S    604800.0
#define DELAY_MAX   60000.0    /* ms */
#define SIZE_MAX_MB 16777216.0 /* MiB */
#define NUMBER_MAX  1e15       /* of a number before its unit is looked at */

enum form { FORM_PLAIN, FORM_PAIR, FORM_DELAY, FORM_LOSS, FORM_SIZE };
enum when { WHEN_ANY, WHEN_LATER, WHEN_START };

static const struct kind { /* in the order of enum fault_kind */
    const char *name;
    const char *tail; /* behind NAME:HOST, for the sentence */
    enum form form;
    enum when when;
    bool live, ends;
} kinds[] = {
    {"kill",       "[@SECONDS]",         FORM_PLAIN, WHEN_ANY,   true,  true },
    {"stop",       "[@SECONDS]",         FORM_PLAIN, WHEN_ANY,   true,  false},
    {"freeze",     "[@SECONDS]",         FORM_PLAIN, WHEN_ANY,   true,  false},
    {"thaw",       "[@SECONDS]",         FORM_PLAIN, WHEN_ANY,   true,  false},
    {"cut",        "[:OTHER][@SECONDS]", FORM_PAIR,  WHEN_ANY,   true,  false},
    {"heal",       "[:OTHER][@SECONDS]", FORM_PAIR,  WHEN_ANY,   true,  false},
    {"delay",      ":50ms[@SECONDS]",    FORM_DELAY, WHEN_ANY,   true,  false},
    {"loss",       ":5%[@SECONDS]",      FORM_LOSS,  WHEN_ANY,   true,  false},
    {"late-name",  "@SECONDS",           FORM_PLAIN, WHEN_LATER, false, false},
    {"no-name",    "",                   FORM_PLAIN, WHEN_START, false, false},
    {"late-start", "@SECONDS",           FORM_PLAIN, WHEN_LATER, false, false},
    {"no-start",   "",                   FORM_PLAIN, WHEN_START, false, true },
    {"disk",       ":16MiB",             FORM_SIZE,  WHEN_START, false, false},
    {"memory",     ":256MiB",            FORM_SIZE,  WHEN_START, false, false},
};
_Static_assert(LENGTH(kinds) == FAULT_KINDS, "a row each");

/* How many of what fault.value counts is one of it. */
static const struct unit {
    enum form form;
    const char *name;
    double factor;
    double min, max; /* of fault.value */
    const char *range;
} units[] = {
    {FORM_DELAY, "ms",  1,    1,    DELAY_MAX,   "1ms to 60s"      },
    {FORM_DELAY, "s",   1000, 1,    DELAY_MAX,   "1ms to 60s"      },
    {FORM_LOSS,  "%",   0.01, 1e-6, 1,           "0.0001% to 100%" },
    {FORM_SIZE,  "MiB", 1,    1,    SIZE_MAX_MB, "1MiB to 16384GiB"},
    {FORM_SIZE,  "GiB", 1024, 1,    SIZE_MAX_MB, "1MiB to 16384GiB"},
};

static int refuse_kind(const char *word, struct err *err)
{
    const char *names[FAULT_KINDS];
    auto_buf struct buf all = {0};
    const char *near;

    for (size_t i = 0; i < FAULT_KINDS; i++) {
        names[i] = kinds[i].name;
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    }
    near = names_nearest(word, names, FAULT_KINDS);
    if (near)
        return err_set(err, BLAME_USER, -EINVAL, "no fault is named \"%s\"; did you mean \"%s\"?",
                       word, near);
    return err_set(err, BLAME_USER, -EINVAL, "no fault is named \"%s\"; there are %s", word,
                   buf_text(&all));
}

static int refuse_shape(const struct kind *kind, const char *found, struct err *err)
{
    return err_set(err, BLAME_USER, -EINVAL, "expected %s:HOST%s, found %s", kind->name, kind->tail,
                   found);
}

static int find_host(const char *word, const struct strv *names, size_t *out, struct err *err)
{
    long at = strv_find(names, word);
    const char *near;

    if (at >= 0) {
        *out = (size_t)at;
        return 0;
    }
    near = names_nearest(word, (const char *const *)strv_list(names), names->n);
    return err_set(err, BLAME_USER, -EINVAL, "no host is named \"%s\"%s%s%s", word,
                   near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* A number and its unit. */
static int read_value(const struct kind *kind, const char *word, double *out, struct err *err)
{
    size_t length = strlen(word);

    for (size_t i = 0; i < LENGTH(units); i++) {
        const struct unit *unit = &units[i];
        size_t tail = strlen(unit->name);
        auto_free char *number = NULL;
        double value;

        if (unit->form != kind->form || length <= tail ||
            strcmp(word + length - tail, unit->name) != 0)
            continue;
        number = mem_dup_n(word, length - tail);
        if (!num_real(number, -NUMBER_MAX, NUMBER_MAX, &value))
            continue; /* "5ms" ends in "s" too */
        value *= unit->factor;
        if (value < unit->min || value > unit->max)
            return err_set(err, BLAME_USER, -ERANGE, "expected %s, found %s", unit->range, word);
        *out = value;
        return 0;
    }
    return refuse_shape(kind, word, err);
}

static int read_time(const struct kind *kind, const char *word, double *out, struct err *err)
{
    if (!word && kind->when == WHEN_LATER)
        return err_set(err, BLAME_USER, -EINVAL, "expected %s:HOST@SECONDS, found no time",
                       kind->name);
    if (word && kind->when == WHEN_START)
        return err_set(err, BLAME_USER, -EINVAL, "expected no time: %s holds from the start",
                       kind->name);
    if (word && (!num_real(word, 0, AT_MAX_S, out) || (kind->when == WHEN_LATER && *out <= 0)))
        return err_set(err, BLAME_USER, -EINVAL,
                       "expected seconds after \"@\", up to 604800, found \"%s\"", word);
    return 0;
}

/* What stands behind the host. */
static int read_tail(const struct kind *kind, const char *word, const struct strv *names,
                     struct fault *f, struct err *err)
{
    switch (kind->form) {
    case FORM_PLAIN:
        return word ? refuse_shape(kind, word, err) : 0;
    case FORM_PAIR:
        if (!word)
            return 0;
        if (find_host(word, names, &f->other, err))
            return err->code;
        return f->other != f->host
                   ? 0
                   : err_set(err, BLAME_USER, -EINVAL, "%s: expected two different hosts", word);
    default:
        return word ? read_value(kind, word, &f->value, err) : refuse_shape(kind, "no value", err);
    }
}

/* Ends the word at `c` and gives what is behind it; NULL: there is no `c`. */
static char *split(char *word, char c)
{
    char *at = word ? strchr(word, c) : NULL;

    if (at)
        *at++ = '\0';
    return at;
}

static int parse(char *text, const struct strv *names, struct fault *f, struct err *err)
{
    char *time = split(text, '@');
    char *host = split(text, ':');
    char *tail = split(host, ':');
    size_t i = 0;

    while (i < FAULT_KINDS && strcmp(text, kinds[i].name) != 0)
        i++;
    if (i == FAULT_KINDS)
        return refuse_kind(text, err);
    f->kind = (enum fault_kind)i;
    if (!host || !*host)
        return refuse_shape(&kinds[i], "no host", err);
    if (find_host(host, names, &f->host, err) || read_tail(&kinds[i], tail, names, f, err) ||
        read_time(&kinds[i], time, &f->at_s, err))
        return err->code;
    return 0;
}

int fault_parse(const char *spec, const struct strv *names, struct fault *out, struct err *err)
{
    struct fault f = {.other = SIZE_MAX};
    auto_free char *text = NULL;
    struct err inner = ERR_INIT;

    if (strlen(spec) > SPEC_MAX)
        return err_set(err, BLAME_USER, -E2BIG, "a fault of more than %d bytes", SPEC_MAX);
    text = mem_dup(spec);
    if (parse(text, names, &f, &inner))
        return err_set(err, inner.blame, inner.code, "%s: %s", spec, inner.text);
    *out = f;
    return 0;
}

bool fault_is_live(const struct fault *f)
{
    return kinds[f->kind].live;
}

bool fault_ends_host(const struct fault *f)
{
    return kinds[f->kind].ends;
}

static void both_roads(const struct fault *f, struct rack *r, bool cut, unsigned delay_ms,
                       double loss)
{
    rack_road(r, f->host, f->other, cut, delay_ms, loss);
    rack_road(r, f->other, f->host, cut, delay_ms, loss);
}

void fault_apply(const struct fault *f, struct rack *r)
{
    switch (f->kind) {
    case FAULT_KILL:
        rack_signal(r, f->host, SIGKILL);
        break;
    case FAULT_STOP:
        rack_signal(r, f->host, SIGTERM);
        break;
    case FAULT_FREEZE:
    case FAULT_THAW:
        rack_freeze(r, f->host, f->kind == FAULT_FREEZE);
        break;
    case FAULT_CUT:
        both_roads(f, r, true, 0, 0);
        break;
    case FAULT_HEAL:
        both_roads(f, r, false, 0, 0);
        break;
    case FAULT_DELAY:
        both_roads(f, r, false, (unsigned)f->value, 0);
        break;
    case FAULT_LOSS:
        both_roads(f, r, false, 0, f->value);
        break;
    case FAULT_NO_NAME:
    case FAULT_LATE_NAME:
        rack_name(r, f->host, f->kind == FAULT_LATE_NAME);
        break;
    case FAULT_LATE_START:
        rack_start(r, f->host);
        break;
    case FAULT_NO_START:
    case FAULT_DISK:
    case FAULT_MEMORY: /* the rack was made so */
    case FAULT_KINDS:
        break;
    }
}
