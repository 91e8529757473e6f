/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the fields of CSV (RFC 4180), one after the other. Pure functions; any thread; a reader
 * belongs to one.
 */
#ifndef NB_SERVER_BASE_CSV_H
#define NB_SERVER_BASE_CSV_H

#include <stdbool.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_csv {
    const char *at, *end;
    size_t line; /* of the field that was read last, from 1 */
    size_t next; /* of the next field */
    struct nb_buffer unquoted;
    char separator;
    bool has_returns; /* there is no line feed: a CR alone ends lines */
};

/* Begins to read. Skips a byte order mark at the beginning. A first line "sep=;" sets the separator
 * and is skipped. Otherwise the separator is a comma, or if the first line has none outside of
 * quotes, a semicolon or a tab. */
void nb_csv_init(struct nb_csv *csv, struct nb_string text);
void nb_csv_deinit(struct nb_csv *csv);

/* Whether nothing is left. Ask between rows only. */
bool nb_csv_is_end(const struct nb_csv *csv);

struct nb_csv_field {
    struct nb_string text; /* valid until the next call */
    bool is_quoted;
    bool is_last; /* of its row */
};
/* Reads a field. Returns 0, NB_INVALID (text after a closing quote, or a quote that is not closed;
 * the error names the line) or NB_NO_MEMORY. */
int nb_csv_next(struct nb_csv *csv, struct nb_csv_field *field, struct nb_error *error);

#endif
