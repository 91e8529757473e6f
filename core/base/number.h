/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as people write them. Any thread.
 */
#ifndef NB_CORE_BASE_NUMBER_H
#define NB_CORE_BASE_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* Reads digits and nothing else: no signs and no blanks, which strtoull would take. Sets *value and
 * returns true; returns false for another text, or a number of more than 64 bits. */
bool nb_number_read_whole(struct nb_string text, uint64_t *value);

/* Reads digits with an optional fraction and exponent: no signs, "inf", "nan" or hexadecimal
 * digits, all of which strtod would take. Sets *value and returns true, or returns false. */
bool nb_number_read(struct nb_string text, double *value);

/* Appends a finite number in the fewest digits that read back to it. 0 or NB_NO_MEMORY. */
int nb_number_print(double value, struct nb_buffer *out);

#endif
