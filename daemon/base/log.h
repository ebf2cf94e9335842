/* SPDX-License-Identifier: Apache-2.0
 *
 * log - what the launcher itself says: levels, one line a call, one writer.
 *
 * Lines go to the writer set by log_to(), else to standard error. Each is one sentence without its
 * own line end; control characters in it are shown as \xNN. Secrets must have passed core/redact.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H
#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR };

void log_set_level(enum log_level least);
bool log_has(enum log_level level);
/* JSON lines {"time","level","message"} in place of "serried: warning: ...". */
void log_set_json(bool on);
/* `write` gets whole lines with their line end; NULL goes back to standard error. */
void log_to(void (*write)(void *data, const char *line, size_t n), void *data);

void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define log_debug(...)   log_line(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)    log_line(LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_error(...)   log_line(LOG_ERROR, __VA_ARGS__)
#endif
