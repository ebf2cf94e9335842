/* SPDX-License-Identifier: Apache-2.0
 *
 * sdk_check - what the SDK refuses in a `distribution`, before anything is sent. Pure. */
#ifndef EMULATOR_SDK_CHECK_H
#define EMULATOR_SDK_CHECK_H
#include <stdbool.h>

#include "emulator/sdk.h"

/* Names, kinds of values, and which forms go together. */
int sdk_check(const struct sdk_job *job, struct err *err);
/* {FORM: {"enabled": ...}} is true; `form` may be NULL. */
bool sdk_is_on(const cJSON *form);
#endif
