/* SPDX-License-Identifier: Apache-2.0
 *
 * sdk - the hyperparameters that SageMaker's Python SDK would send for a `distribution`.
 *
 * As the PyTorch class of the SDK, release 2.257.6, does it: the same keys and values, and the same
 * dictionaries refused; TensorFlow's forms are known too. Pure.
 * Source: tests/golden/contract/distribution-cases.json, made with the SDK's own functions. */
#ifndef EMULATOR_SDK_H
#define EMULATOR_SDK_H
#include <cjson/cJSON.h>

struct err;
struct strv;

#define SDK_KEYS_MAX  100  /* hyperparameters of one job, as the service takes them */
#define SDK_KEY_MAX   256  /* characters of a name */
#define SDK_VALUE_MAX 2500 /* characters of a value */

struct sdk_job {
    const cJSON *distribution; /* of sdk_read(); NULL: none was given */
    const char *instance_type; /* NULL: groups of different machines */
    const struct strv *groups; /* names of the instance groups; NULL: none were given */
    long ranks;                /* processes per host; 0: not said */
};

/* The dictionary from its text, for cJSON_Delete(). NULL: not JSON (Python's own spelling is told
 * how to become it), or not a dictionary; BLAME_CONFIG, as for all below. */
cJSON *sdk_read(const char *text, struct err *err);
/* Adds to `values` what the dictionary stands for; names that are there already stay. Without one,
 * ranks over 1 mean torch_distributed. */
int sdk_distribution(const struct sdk_job *job, cJSON *values, struct err *err);
/* Adds one hyperparameter; `text` that is no JSON is a string. */
int sdk_user_value(cJSON *values, const char *name, const char *text, struct err *err);
/* Each value as the text that is sent, to *out; too many or too long ones are refused as the
 * service does. */
int sdk_encode(const cJSON *values, cJSON **out, struct err *err);
#endif
