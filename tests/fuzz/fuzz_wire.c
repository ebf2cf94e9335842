/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes of another host: the first says in which pieces the rest comes in. */
#include "config.h"

#include "fuzz.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "core/wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* What was understood can be said again, and is understood the same way. */
static void must_say_again(const struct wire_message *m)
{
    struct wire_message again = {0};
    auto_buf struct buf one = {0};
    auto_buf struct buf two = {0};
    size_t at = 0, n = 0;
    const char *json;

    if (wire_encode(m, &one) == -EMSGSIZE) { /* it was written shorter than we write */
        MUST(!one.len);
        return;
    }
    json = wire_next(&one, &at, &n);
    MUST(json && at == one.len);
    MUST(wire_decode(json, n, &again, NULL) == 0);
    MUST(wire_encode(&again, &two) == 0);
    MUST(one.len == two.len && memcmp(one.data, two.data, one.len) == 0);
    wire_message_done(&again);
}

static void try_content(const char *json, size_t n)
{
    struct wire_message m = {0};
    struct err err = ERR_INIT;

    if (wire_decode(json, n, &m, &err) < 0) {
        MUST(err.code == -EBADMSG && err.text[0]);
        MUST(utf8_check(err.text, strlen(err.text)) == strlen(err.text));
        MUST(!m.body && !m.host && !m.text);
        return;
    }
    must_say_again(&m);
    wire_message_done(&m);
}

/* All frames that come, one behind the other; true: none will ever come again. */
static bool read_frames(const char *bytes, size_t n, size_t part, struct buf *seen)
{
    auto_buf struct buf in = {0};
    size_t length = 0;

    for (size_t from = 0; from < n && !length; from += part) {
        const char *frame;
        size_t at = 0;

        buf_add(&in, bytes + from, part < n - from ? part : n - from);
        while ((frame = wire_next(&in, &at, &length))) {
            MUST(length && length <= WIRE_FRAME_MAX && frame + length == in.data + at);
            try_content(frame, length);
            buf_add(seen, frame, length);
            buf_char(seen, '\n');
        }
        MUST(length <= 1 && at <= in.len);
        buf_drop_front(&in, at);
    }
    return length != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data + 1;
    auto_buf struct buf whole = {0};
    auto_buf struct buf parts = {0};

    if (size < 2)
        return 0;
    MUST(read_frames(bytes, size - 1, size, &whole) ==
         read_frames(bytes, size - 1, 1 + data[0] % 64U, &parts));
    MUST(whole.len == parts.len);
    MUST(memcmp(buf_text(&whole), buf_text(&parts), whole.len) == 0);
    try_content(bytes, size - 1);
    return 0;
}
