/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX  17 /* always enough to tell a double from its neighbours */
#define DIGITS_SIZE 24 /* holds a 64-bit number */

/* strtod() in the C locale: the point is a point, whatever the process has chosen. */
static double read_real(const char *text, char **end)
{
    static locale_t plain;

    if (!plain)
        plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? strtod_l(text, end, plain) : strtod(text, end);
}

/* The `n` digits nearest to `value`, which is positive and finite. Returns the exponent of the
 * first digit. */
static int round_to(double value, int n, char *digits)
{
    char text[NUM_FLOAT_SIZE];
    const char *p = text;
    int count = 0;

    (void)snprintf(text, sizeof(text), "%.*e", n - 1, value);
    for (; *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') /* what else there is, is the locale's point */
            digits[count++] = *p;
    digits[count] = '\0';
    return (int)strtol(p + 1, NULL, 10);
}

static double read_back(const char *digits, int exponent)
{
    char text[NUM_FLOAT_SIZE + 16];

    (void)snprintf(text, sizeof(text), "%se%d", digits, exponent - (int)strlen(digits) + 1);
    return strtod(text, NULL);
}

/* The next larger number of as many digits. */
static int step_up(char *digits, int exponent)
{
    size_t n = strlen(digits);

    (void)snprintf(digits, DIGITS_SIZE, "%llu", strtoull(digits, NULL, 10) + 1);
    return exponent + (strlen(digits) > n);
}

/* The shortest digits that read back as `value`, without trailing zeros. Returns the exponent. */
static int shortest(double value, char *digits)
{
    /* Up to 15 digits survive the way through a normal double, so nothing can be shorter than its
     * 15 digits without their zeros. Subnormal numbers have less room. */
    int n = value < DBL_MIN ? 1 : DBL_DIG;
    int power = 0;
    /* The next double below a power of two is nearer than the one above: there the second nearest
     * digits may read back where the nearest do not (2**-24). */
    bool lopsided = frexp(value, &power) == 0.5;
    int exponent = 0;

    for (; n <= DIGITS_MAX; n++) {
        exponent = round_to(value, n, digits);
        if (read_back(digits, exponent) == value)
            break;
        if (lopsided && n < DIGITS_MAX) {
            exponent = step_up(digits, exponent);
            if (read_back(digits, exponent) == value)
                break;
        }
    }
    for (size_t last = strlen(digits) - 1; last > 0 && digits[last] == '0'; last--)
        digits[last] = '\0';
    return exponent;
}

static void lay_out(const char *digits, int exponent, char *text, size_t size)
{
    int n = (int)strlen(digits);
    int whole = exponent + 1; /* digits before the point */

    if (exponent < -4 || exponent >= 16)
        (void)snprintf(text, size, "%c%s%se%c%02d", digits[0], n > 1 ? "." : "", digits + 1,
                       exponent < 0 ? '-' : '+', abs(exponent) % 1000);
    else if (whole <= 0)
        (void)snprintf(text, size, "0.%.*s%s", -whole, "0000", digits);
    else if (n <= whole)
        (void)snprintf(text, size, "%s%.*s.0", digits, whole - n, "000000000000000");
    else
        (void)snprintf(text, size, "%.*s.%s", whole, digits, digits + whole);
}

char *num_float(double value, char *text)
{
    char digits[DIGITS_SIZE] = "0";
    bool minus = signbit(value) != 0;
    int exponent = 0;

    if (!isfinite(value)) {
        (void)snprintf(text, NUM_FLOAT_SIZE, "%s",
                       isnan(value) ? "NaN"
                       : minus      ? "-Infinity"
                                    : "Infinity");
        return text;
    }
    if (value != 0)
        exponent = shortest(fabs(value), digits);
    text[0] = '-';
    lay_out(digits, exponent, text + minus, NUM_FLOAT_SIZE - 1);
    return text;
}

double num_read(const char *text)
{
    return read_real(text, NULL);
}

bool num_integer(const char *text, long min, long max, long *out)
{
    char *end = NULL;
    long value;

    if (!*text || isspace((unsigned char)*text))
        return false;
    errno = 0;
    value = strtol(text, &end, 10);
    if (errno || *end || end == text || value < min || value > max)
        return false;
    *out = value;
    return true;
}

bool num_real(const char *text, double min, double max, double *out)
{
    char *end = NULL;
    double value;

    if (!*text || text[strspn(text, "+-.0123456789eE")]) /* no spaces, hexadecimals, words */
        return false;
    value = read_real(text, &end);
    if (*end || end == text || !isfinite(value) || value < min || value > max)
        return false;
    *out = value;
    return true;
}
