/* SPDX-License-Identifier: Apache-2.0
 *
 * keyform - the text of the key that the hosts of a job share: "serried-key-1 " and 64 hexadecimal
 * digits. Pure. */
#ifndef CORE_KEYFORM_H
#define CORE_KEYFORM_H
#include <stdbool.h>

#define KEYFORM_BYTES     32
#define KEYFORM_DIGITS    (2UL * KEYFORM_BYTES)
#define KEYFORM_TEXT_SIZE 96

/* One line, with its end. */
void keyform_write(const unsigned char key[KEYFORM_BYTES], char text[KEYFORM_TEXT_SIZE]);
/* Such a line, or the digits alone, white space around. False: neither. */
bool keyform_read(const char *text, unsigned char key[KEYFORM_BYTES]);
#endif
