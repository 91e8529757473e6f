/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/feature.h"

const char *const nb_field_names[NB_FIELDS + 1] = {
    [NB_FIELD_BODY] = "body",       [NB_FIELD_SUBJECT] = "subject",
    [NB_FIELD_ADDRESS] = "address", [NB_FIELD_RECEIVED] = "received",
    [NB_FIELD_HEADER] = "header",   [NB_FIELD_STRUCTURE] = "structure",
    [NB_FIELD_URL] = "url",         [NB_FIELD_HIDDEN] = "hidden",
    [NB_FIELD_CASE] = "case",       [NB_FIELD_PAIR] = "pair",
    [NB_FIELD_NGRAM] = "ngram",
};
