/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/logform.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"

static const char *stream_name(const struct logform_who *who)
{
    return who->is_err ? "stderr" : "stdout";
}

static void add_rank(struct buf *out, const struct logform_who *who)
{
    if (who->step)
        buf_str(out, who->step);
    else
        buf_printf(out, "%u", who->rank);
}

/* Appends what stands for the field at the front of `format` and returns its length there. */
static size_t add_field(struct buf *out, const char *format, const struct logform_who *who)
{
    static const char *const fields[] = {"{host}", "{rank}", "{local_rank}", "{stream}"};
    size_t i = 0;

    while (i < LENGTH(fields) && strncmp(format, fields[i], strlen(fields[i])) != 0)
        i++;
    switch (i) {
    case 0:
        buf_str(out, who->host);
        break;
    case 1:
        add_rank(out, who);
        break;
    case 2:
        buf_printf(out, "%u", who->local_rank);
        break;
    case 3:
        buf_str(out, stream_name(who));
        break;
    default:
        buf_char(out, *format);
        return 1;
    }
    return strlen(fields[i]);
}

char *logform_prefix(const char *format, bool labelled, const struct logform_who *who)
{
    auto_buf struct buf out = {.max = 0};

    if (!strcmp(format, "auto"))
        format = labelled ? "[{host}:{rank}] " : "";
    if (!strcmp(format, "off"))
        format = "";
    while (*format)
        format += add_field(&out, format, who);
    return buf_take(&out);
}

bool logform_shows(const char *ranks, unsigned rank)
{
    if (!strcmp(ranks, "all"))
        return true;
    for (;;) {
        char *end;
        unsigned long first = strtoul(ranks, &end, 10);
        unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        if (first <= rank && rank <= last)
            return true;
        if (*end != ',')
            return false;
        ranks = end + 1;
    }
}

/* `text` as a JSON string. */
static void add_quoted(struct buf *out, const char *text, size_t n)
{
    auto_buf struct buf clean = {.max = 0};
    size_t from = 0;

    utf8_replace(&clean, text, n);
    buf_char(out, '"');
    for (size_t i = 0; i < clean.len; i++) {
        unsigned char c = (unsigned char)clean.data[i];

        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_add(out, clean.data + from, i - from);
        from = i + 1;
        if (c < 0x20)
            buf_printf(out, "\\u%04x", c);
        else
            buf_add(out, (const char[]){'\\', (char)c}, 2);
    }
    if (clean.len)
        buf_add(out, clean.data + from, clean.len - from);
    buf_char(out, '"');
}

void logform_json(struct buf *out, const struct logform_who *who, const char *time,
                  const char *line, size_t n, bool cut)
{
    buf_printf(out, "{\"time\":\"%s\",\"host\":", time);
    add_quoted(out, who->host, strlen(who->host));
    if (who->step) {
        buf_str(out, ",\"step\":");
        add_quoted(out, who->step, strlen(who->step));
    } else {
        buf_printf(out, ",\"rank\":%u", who->rank);
    }
    buf_printf(out, ",\"stream\":\"%s\",\"line\":", stream_name(who));
    add_quoted(out, line, n);
    buf_str(out, cut ? ",\"cut\":true}\n" : "}\n");
}
