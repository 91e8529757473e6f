/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as JSON writes them, whatever the locale is. Pure functions; any thread.
 *
 * Each writes the text of `value` at `to`, which has room for NB_NUMBER_TEXT bytes, without a NUL
 * behind it, and returns the end of the text.
 */
#ifndef NB_SERVER_JSON_NUMBER_TEXT_H
#define NB_SERVER_JSON_NUMBER_TEXT_H

#include <stdbool.h>
#include <stdint.h>

enum { NB_NUMBER_TEXT = 32 }; /* the longest: sign, 17 digits, point, "e-308"; or 20 digits */

char *nb_number_text_u64(char *to, uint64_t value);
char *nb_number_text_i64(char *to, int64_t value);

/* Writes up to 17 significant digits, so that the text reads back as the same double, and always a
 * point or an exponent. `value` is finite. */
char *nb_number_text_double(char *to, double value);

/* Writes the fewest digits that read back as the same double (0.1, not 0.10000000000000001). This
 * takes longer than nb_number_text_double, except for values with up to four decimals, or with up
 * to nine from 0.0001 on. `value` is finite. */
char *nb_number_text_short_double(char *to, double value);

/* Writes this many decimals (at most 4) as printf's %.4f does: the exact value of the double is
 * rounded, halves to even. With `has_plus`, as %+.4f does. A value that is not below 10^9 is
 * written as "inf", "nan" or by %.4g. */
char *nb_number_text_fixed(char *to, double value, unsigned decimals, bool has_plus);

#endif
