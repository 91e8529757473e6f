/* SPDX-License-Identifier: Apache-2.0
 *
 * The first line of a table: whether it names the columns, and what they are. Pure functions; any
 * thread.
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

/* What a name says that bayesc itself uses: text, mail, label, id, in any case; else
 * NB_COLUMN_NONE. */
enum nb_file_column nb_file_column_of(struct nb_string name);

/* Whether the cells of a first line name columns; then sets columns[i] of each. They do when one is
 * called text or mail (the label is then the column of that name, or the only one with another
 * usual name of a label); or when one alone has another usual name of a text (message, body,
 * description ...) and another one a name of a label (category, class ...) or an id. */
bool nb_header_read(const struct nb_string *cells, size_t count, enum nb_file_column *columns);

/* Whether the cells of a first line are names of what the columns are said to be: the text or mail
 * has a name of a text, and so has the label, if there is one. */
bool nb_header_fits(const struct nb_string *cells, size_t count, const enum nb_file_column *columns,
                    size_t column_count);

#endif
