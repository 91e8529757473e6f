/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/feature.h"

/* Each field once, in the order of its number: its name, its kind, and whether it is a token. */
#define FIELDS(FIELD)                                                                              \
    FIELD(BODY, "body", TEXT, true)                                                                \
    FIELD(SUBJECT, "subject", TEXT, true)                                                          \
    FIELD(ADDRESS, "address", TEXT, true)                                                          \
    FIELD(RECEIVED, "received", CATEGORY, true)                                                    \
    FIELD(HEADER, "header", TEXT, true)                                                            \
    FIELD(STRUCTURE, "structure", CATEGORY, true)                                                  \
    FIELD(URL, "url", CATEGORY, true)                                                              \
    FIELD(HIDDEN, "hidden", TEXT, true)                                                            \
    FIELD(CASE, "case", TEXT, false)                                                               \
    FIELD(PAIR, "pair", TEXT, false)                                                               \
    FIELD(NGRAM, "ngram", TEXT, false)

#define NAME(field, name, kind, is_token) [NB_FIELD_##field] = (name),
#define INFO(field, name, kind, is_token)                                                          \
    [NB_FIELD_##field] = {(name), NB_FIELD_KIND_##kind, (is_token)},

const char *const nb_field_names[NB_FIELDS + 1] = {FIELDS(NAME)};
const char *const nb_field_kind_names[] = {"text", "category", "set", "number", NULL};
const struct nb_field_info nb_field_table[NB_FIELDS] = {FIELDS(INFO)};

enum nb_field nb_field_find(struct nb_string name)
{
    unsigned field = 0;
    while (field < NB_FIELDS && !nb_string_equals(name, nb_field_table[field].name))
        field++;
    return (enum nb_field)field;
}
