/* SPDX-License-Identifier: Apache-2.0
 *
 * Real numbers as people write them. Any thread.
 */
#ifndef NB_CORE_BASE_NUMBER_H
#define NB_CORE_BASE_NUMBER_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Reads digits with an optional fraction and exponent: no signs, "inf", "nan" or hexadecimal
 * digits, all of which strtod would take. Sets *value and returns true, or returns false. */
bool nb_number_read(struct nb_string text, double *value);

/* Appends a finite number in the fewest digits that read back to it. 0 or NB_NO_MEMORY. */
int nb_number_print(double value, struct nb_buffer *out);

#endif
