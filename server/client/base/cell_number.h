/* SPDX-License-Identifier: Apache-2.0
 *
 * A decimal number as people write it in a table. Any thread.
 */
#ifndef NB_CLIENT_CELL_NUMBER_H
#define NB_CLIENT_CELL_NUMBER_H

#include <stdbool.h>

#include "core/base/string.h"

enum {
    NB_CELL_NUMBER_MOST = 64 /* bytes of a number */
};

enum nb_cell_number {
    NB_CELL_NUMBER_READ,
    NB_CELL_NUMBER_NONE,     /* it is no number */
    NB_CELL_NUMBER_AMBIGUOUS /* "1,234": a number with three decimals, or one over a thousand */
};

/* Reads a number, with or without an exponent: "12.5", "-3", "+.5e3". A comma in the place of the
 * point is one, too, as in "12,5"; before three digits it may part thousands, and is read as a
 * point only if `has_decimal_commas`: the table is of a country that writes them so. Writes the
 * number with a point into `text`, which has room for NB_CELL_NUMBER_MOST + 1 bytes, and its value.
 */
enum nb_cell_number nb_cell_number_read(struct nb_string cell, bool has_decimal_commas, char *text,
                                        double *number);

#endif
