/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "core/keyform.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "serried-key-1"
#define SPACE " \t\r\n"

void keyform_write(const unsigned char key[KEYFORM_BYTES], char text[KEYFORM_TEXT_SIZE])
{
    int n = snprintf(text, KEYFORM_TEXT_SIZE, "%s ", TITLE);

    for (int i = 0; i < KEYFORM_BYTES; i++)
        n += snprintf(text + n, KEYFORM_TEXT_SIZE - (size_t)n, "%02x", key[i]);
    (void)snprintf(text + n, KEYFORM_TEXT_SIZE - (size_t)n, "\n");
}

bool keyform_read(const char *text, unsigned char key[KEYFORM_BYTES])
{
    size_t n = strlen(TITLE);

    text += strspn(text, SPACE);
    if (strncmp(text, TITLE, n) == 0 && isblank((unsigned char)text[n]))
        text += n + strspn(text + n, " \t");
    if (strspn(text, "0123456789abcdefABCDEF") != KEYFORM_DIGITS ||
        text[KEYFORM_DIGITS + strspn(text + KEYFORM_DIGITS, SPACE)])
        return false;
    for (size_t i = 0; i < KEYFORM_BYTES; i++) {
        const char pair[] = {text[2UL * i], text[2UL * i + 1], '\0'};

        key[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return true;
}
