/* SPDX-License-Identifier: Apache-2.0
 *
 * What the columns of a table with a header mean:
 * "text=description+title,label=category,amount=price" turns each row into a document with values
 * of named fields. One thread.
 */
#ifndef NB_CLIENT_MAPPING_H
#define NB_CLIENT_MAPPING_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/error.h"
#include "server/client/files/files.h"

enum {
    NB_MAPPING_MOST = 64, /* most parts of a document */
    NB_MAPPING_JOINED = 8 /* most columns of one part */
};

enum nb_mapping_role {
    NB_MAPPING_TEXT,
    NB_MAPPING_MAIL,
    NB_MAPPING_LABEL,
    NB_MAPPING_ID,
    NB_MAPPING_FIELD
};

/* The kind of a field decides how a cell becomes its value. */
enum nb_mapping_kind {
    NB_MAPPING_CATEGORY, /* a string; also for a field that the model does not have */
    NB_MAPPING_WORDS,    /* a text, which may be joined from several columns */
    NB_MAPPING_SET,      /* a list, split at ';' */
    NB_MAPPING_NUMBER
};

struct nb_mapping_part {
    enum nb_mapping_role role;
    enum nb_mapping_kind kind; /* of a field */
    struct nb_string name;     /* borrowed from the option, like the columns */
    struct nb_string columns[NB_MAPPING_JOINED];
    size_t cells[NB_MAPPING_JOINED]; /* indexes of the columns in a row */
    size_t count;                    /* of the columns */
};

struct nb_mapping {
    struct nb_mapping_part parts[NB_MAPPING_MOST];
    size_t count;
    bool numbers_rows;                /* "id=#", and no column "#": set by nb_mapping_find */
    bool has_decimal_commas;          /* "1,234" is 1.234, not 1234 (cell_number_read) */
    struct nb_buffer content, values; /* owned: of the last row */
};

/* Returns whether an option --columns is a mapping of a header, and not a list of columns. */
bool nb_mapping_is(const char *option);

/* Returns whether a mapping has fields. The model's settings then give their kinds. */
bool nb_mapping_has_fields(const char *option);

/* Reads an option into a mapping that is all zero; the mapping borrows from `option`. `fields` is
 * the member "fields" of a model's settings, or NULL, and is only read here. nb_mapping_deinit is
 * needed afterwards. Returns 0 or NB_CLIENT_USAGE. */
int nb_mapping_read(struct nb_mapping *mapping, const char *option, const json_t *fields,
                    struct nb_error *error);
void nb_mapping_deinit(struct nb_mapping *mapping);

/* Finds the columns in the header, which is the row at `line`. Returns 0 or NB_INVALID (there is no
 * such column, or there are two). */
int nb_mapping_find(struct nb_mapping *mapping, const struct nb_string *header, size_t count,
                    uint64_t line, struct nb_error *error);

/* Makes a document of the row that begins at `line`: an empty cell is a missing value. Sets the
 * content, the values, the label and, without `numbers_rows`, the id; they are valid until the next
 * row. Returns 0, NB_INVALID (a column is missing, or the cell of a number is not a number) or
 * NB_NO_MEMORY. */
int nb_mapping_apply(struct nb_mapping *mapping, const struct nb_string *cells, size_t count,
                     uint64_t line, struct nb_item *item, struct nb_error *error);

#endif
