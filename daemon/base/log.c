/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/log.h"

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/mem.h"

#include <cjson/cJSON.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

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
    cJSON *object = cJSON_CreateObject();
    auto_free char *printed = NULL;

    (void)cJSON_AddStringToObject(object, "time", clock_text(clock_wall_ms(), time, sizeof(time)));
    (void)cJSON_AddStringToObject(object, "level", levels[level].name);
    (void)cJSON_AddStringToObject(object, "message", text);
    printed = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    buf_str(line, printed ? printed : "{}");
}

void log_line(enum log_level level, const char *format, ...)
{
    auto_buf struct buf line = {.max = 65536};
    auto_free char *text = NULL;
    va_list args;

    if (!log_has(level))
        return;
    va_start(args, format);
    text = mem_vprintf(format, args);
    va_end(args);
    if (logger.json) {
        add_json(&line, level, text);
    } else {
        buf_printf(&line, "serried: %s", levels[level].mark);
        add_visible(&line, text);
    }
    line.max++;
    buf_char(&line, '\n');
    if (logger.write)
        logger.write(logger.data, line.data, line.len);
    else
        (void)fd_write_all(STDERR_FILENO, line.data, line.len);
}
