/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/files/header.h"

#include <stddef.h>

/* The first names are bayesc's own. The others are from the headers of published corpora and of
 * exports from help desks. */
static const char *const OF_TEXT[] = {"text",        "message", "messages", "body",   "content",
                                      "description", "sms",     "comment",  "review", "v2"};
static const char *const OF_LABEL[] = {"label",  "labels", "category", "class",
                                       "target", "tag",    "queue",    "v1"};

#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool is_one_of(struct nb_string name, const char *const *names, size_t count)
{
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found = found || nb_string_equals_nocase(name, names[i]);
    return found;
}

enum nb_file_column nb_file_column_of(struct nb_string name)
{
    static const char *const NAMES[] = {"-", "text", "mail", "label", "id"};
    for (size_t i = 0; i < COUNT(NAMES); i++)
        if (nb_string_equals_nocase(name, NAMES[i]))
            return (enum nb_file_column)i;
    return NB_COLUMN_NONE;
}

static enum nb_file_column usual_column_of(struct nb_string name)
{
    if (is_one_of(name, OF_TEXT, COUNT(OF_TEXT)))
        return NB_COLUMN_TEXT;
    return is_one_of(name, OF_LABEL, COUNT(OF_LABEL)) ? NB_COLUMN_LABEL : nb_file_column_of(name);
}

static size_t count_of(const enum nb_file_column *columns, size_t count, enum nb_file_column column)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += columns[i] == column;
    return found;
}

/* For a table with a column text or mail: takes the column with a usual name of a label, if there
 * is exactly one. */
static void take_usual_label(const struct nb_string *cells, size_t count,
                             enum nb_file_column *columns)
{
    size_t found = 0, at = 0;
    for (size_t i = 0; i < count; i++)
        if (columns[i] == NB_COLUMN_NONE &&
            is_one_of(nb_string_trim(cells[i]), OF_LABEL, COUNT(OF_LABEL))) {
            found++;
            at = i;
        }
    if (found == 1)
        columns[at] = NB_COLUMN_LABEL;
}

bool nb_header_read(const struct nb_string *cells, size_t count, enum nb_file_column *columns)
{
    for (size_t i = 0; i < count; i++)
        columns[i] = nb_file_column_of(nb_string_trim(cells[i]));
    if (count_of(columns, count, NB_COLUMN_TEXT) + count_of(columns, count, NB_COLUMN_MAIL) > 0) {
        if (count_of(columns, count, NB_COLUMN_LABEL) == 0)
            take_usual_label(cells, count, columns);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        columns[i] = usual_column_of(nb_string_trim(cells[i]));
    size_t labels = count_of(columns, count, NB_COLUMN_LABEL),
           ids = count_of(columns, count, NB_COLUMN_ID);
    return count_of(columns, count, NB_COLUMN_TEXT) == 1 && labels <= 1 && ids <= 1 &&
           labels + ids > 0;
}

bool nb_header_fits(const struct nb_string *cells, size_t count, const enum nb_file_column *columns,
                    size_t column_count)
{
    bool fits = true;
    for (size_t i = 0; i < column_count; i++) {
        struct nb_string name = i < count ? nb_string_trim(cells[i]) : nb_string_of("");
        if (columns[i] == NB_COLUMN_TEXT || columns[i] == NB_COLUMN_MAIL)
            fits = fits && (is_one_of(name, OF_TEXT, COUNT(OF_TEXT)) ||
                            nb_file_column_of(name) == NB_COLUMN_MAIL);
        else if (columns[i] == NB_COLUMN_LABEL)
            fits = fits && is_one_of(name, OF_LABEL, COUNT(OF_LABEL));
    }
    return fits;
}
