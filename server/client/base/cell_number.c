/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/cell_number.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Whether the comma may part thousands: one to three digits before it, three after it, and no zero
 * at the front. */
static bool is_thousands(const char *text, const char *comma)
{
    const char *digits = text + strspn(text, "+-");
    ptrdiff_t before = comma - digits;
    return before >= 1 && before <= 3 && *digits != '0' && strspn(comma + 1, "0123456789") == 3 &&
           comma[4] == '\0';
}

enum nb_cell_number nb_cell_number_read(struct nb_string cell, bool has_decimal_commas, char *text,
                                        double *number)
{
    char *end = NULL;
    if (cell.length == 0 || cell.length > NB_CELL_NUMBER_MOST)
        return NB_CELL_NUMBER_NONE;
    memcpy(text, cell.bytes, cell.length);
    text[cell.length] = '\0';
    if (strspn(text, "+-.,0123456789eE") != cell.length) /* strtod takes more: inf, 0x10 */
        return NB_CELL_NUMBER_NONE;
    char *comma = strchr(text, ',');
    if (comma != NULL && (strchr(comma + 1, ',') != NULL || strchr(text, '.') != NULL))
        return NB_CELL_NUMBER_NONE;
    if (comma != NULL && !has_decimal_commas && is_thousands(text, comma))
        return NB_CELL_NUMBER_AMBIGUOUS;
    if (comma != NULL)
        *comma = '.';
    errno = 0;
    *number = strtod(text, &end);
    return end == text + cell.length && isfinite(*number) ? NB_CELL_NUMBER_READ
                                                          : NB_CELL_NUMBER_NONE;
}
