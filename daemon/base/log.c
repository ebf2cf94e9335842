/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"

#define MESSAGE_MAX 16384
/* What JSON makes of a byte has at most six; a little for the rest of the line. */
#define LINE_MAX_BYTES ((size_t)MESSAGE_MAX * 6 + 256)

static const struct {
    const char *name;
    const char *mark; /* in a text line; information needs none */
} levels[] = {
    [LOG_DEBUG] = {"debug",   "debug: "  },
    [LOG_INFO] = {"info",    ""         },
    [LOG_WARNING] = {"warning", "warning: "},
    [LOG_ERROR] = {"error",   "error: "  },
};

static struct {
    enum log_level least;
    bool json;
    void (*write)(void *data, const char *line, size_t n);
    void *data;
} logger = {LOG_INFO, false, NULL, NULL};

void log_set_level(enum log_level least)
{
    logger.least = least;
}

bool log_has(enum log_level level)
{
    return level >= logger.least;
}

void log_set_json(bool on)
{
    logger.json = on;
}

void log_to(void (*write)(void *data, const char *line, size_t n), void *data)
{
    logger.write = write;
    logger.data = data;
}

static void add_visible(struct buf *line, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == 0x7f)
            buf_printf(line, "\\x%02x", c);
        else
            buf_char(line, *text);
    }
}

static void add_json(struct buf *line, enum log_level level, const char *text)
{
    char time[32];
    auto_json cJSON *object = mem_check(cJSON_CreateObject());
    auto_free char *printed = NULL;

    json_add_string(object, "time", clock_text(clock_wall_ms(), time, sizeof(time)));
    json_add_string(object, "level", levels[level].name);
    json_add_string(object, "message", text);
    printed = mem_check(cJSON_PrintUnformatted(object));
    buf_str(line, printed);
}

void log_line(enum log_level level, const char *format, ...)
{
    auto_buf struct buf line = {.max = LINE_MAX_BYTES};
    auto_free char *text = NULL;
    va_list args;

    if (!log_has(level))
        return;
    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    text[utf8_clip(text, strlen(text), MESSAGE_MAX)] = '\0';
    if (logger.json) {
        add_json(&line, level, text);
    } else {
        buf_printf(&line, "serried: %s", levels[level].mark);
        add_visible(&line, text);
    }
    buf_char(&line, '\n');
    if (logger.write)
        logger.write(logger.data, line.data, line.len);
    else
        (void)fd_write_all(STDERR_FILENO, line.data, line.len);
}
