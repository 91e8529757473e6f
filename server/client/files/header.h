/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether the first line of a table names the columns, and what the columns are. Pure
 * functions; any thread.
 */
#ifndef NB_CLIENT_HEADER_H
#define NB_CLIENT_HEADER_H

#include <stdbool.h>

#include "core/base/string.h"

enum nb_file_column {
    NB_COLUMN_NONE,
    NB_COLUMN_TEXT,
    NB_COLUMN_MAIL,
    NB_COLUMN_LABEL,
    NB_COLUMN_ID
};

/* Returns the column for one of bayesc's own names: text, mail, label, id, in upper or lower case.
 * Returns NB_COLUMN_NONE for any other name. */
enum nb_file_column nb_file_column_of(struct nb_string name);

/* Returns whether the cells of a first line name columns, and then sets columns[i] for each. They
 * do when a cell is "text" or "mail"; the label is then the column "label", or the only one with
 * another usual name of a label. They also do when exactly one cell has another usual name of a
 * text (message, body, description ...) and another cell has a name of a label (category, class
 * ...) or an id. */
bool nb_header_read(const struct nb_string *cells, size_t count, enum nb_file_column *columns);

/* Returns whether the cells of a first line name the given columns: the column of the text or mail
 * has a usual name of a text, and the column of the label, if any, a usual name of a label. */
bool nb_header_fits(const struct nb_string *cells, size_t count, const enum nb_file_column *columns,
                    size_t column_count);

#endif
