/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads rows of categories, from which a network is learned, as JSON, NDJSON or CSV. Pure
 * functions; any thread. Errors name the row or the line.
 *
 * JSON: {"columns": ["name", ...], "rows": [["value", null, ...], ...]}, with null for a missing
 * value. NDJSON: one row per line, {"name": "value", ...}; the first line names the columns; a
 * value is missing if a later line leaves it out or has null. CSV (RFC 4180): UTF-8, separated by
 * commas; the first line names the columns; an empty field without quotes is missing.
 *
 * The columns are sorted by name, so that the learned network does not depend on their order in the
 * body.
 */
#ifndef NB_SERVER_API_NETWORK_ROWS_H
#define NB_SERVER_API_NETWORK_ROWS_H

#include "core/networks/network/columns.h"
#include "server/http/decoder.h"

/* Reads a body of NB_MEDIA_JSON, NB_MEDIA_NDJSON or NB_MEDIA_CSV with at most `most_values` values.
 * On success the caller owns *columns, which are closed. Returns 0, NB_INVALID, NB_UNUSABLE,
 * NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_rows_read(enum nb_media media, struct nb_string body, size_t most_values,
                 struct nb_columns **columns, struct nb_error *error);

#endif
