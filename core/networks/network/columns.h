/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of rows of categories, from which networks are learned. It is built row by row and not
 * changed after nb_columns_close; then any thread may read it. A category is a byte.
 */
#ifndef NB_CORE_NETWORKS_NETWORK_COLUMNS_H
#define NB_CORE_NETWORKS_NETWORK_COLUMNS_H

#include "core/networks/network/network.h"

/* The code of a value that is missing. */
enum { NB_COLUMN_MISSING = 255 };

struct nb_column {
    char *name;
    char **states; /* by their bytes, after nb_columns_close */
    uint32_t state_count;
    uint32_t last;        /* state of the previous value, because most values repeat */
    unsigned char *codes; /* of each row: a state, or NB_COLUMN_MISSING */
};

struct nb_columns {
    struct nb_column *columns;
    size_t count;
    size_t rows, room;
    size_t most_values; /* rows times columns */
};

/* An empty table. The caller frees it; NULL: out of memory. */
struct nb_columns *nb_columns_new(size_t most_values);
void nb_columns_free(struct nb_columns **columns);

/* Adds a column; before the first row. Errors: as nb_network_add. */
int nb_columns_add(struct nb_columns *columns, struct nb_string name, struct nb_error *error);
/* Returns the number of the column with this name; SIZE_MAX: there is none. */
size_t nb_columns_find(const struct nb_columns *columns, struct nb_string name);

/* Adds a row of missing values. NB_TOO_LARGE or NB_NO_MEMORY. */
int nb_columns_add_row(struct nb_columns *columns, struct nb_error *error);
/* Sets a value of the last row. NB_UNUSABLE (nb_network_check_name), NB_TOO_LARGE (states of the
 * column) or NB_NO_MEMORY; `error` names the column. */
int nb_columns_set(struct nb_columns *columns, size_t column, struct nb_string value,
                   struct nb_error *error);

/* Called after the last row. Sorts the states by their bytes, so that they do not depend on the
 * order of the rows. NB_INVALID: there are no rows, or a column has no value. */
int nb_columns_close(struct nb_columns *columns, struct nb_error *error);

#endif
