/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of named character references. Read-only; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_ENTITY_TABLE_H
#define NB_TOKENIZER_HTML_HTML_ENTITY_TABLE_H

#include "core/base/string.h"

enum {
    NB_HTML_ENTITY_LETTERS = 'z' - 'A' + 1,
    NB_HTML_ENTITY_NAME = 31, /* bytes of the longest name */
    NB_HTML_LEGACY_NAME = 6   /* bytes of the longest name that needs no final ';' */
};

/* The names by their first letter: a text has the rest of each name in the order of strcmp, '#' and
 * its code point in hexadecimal, and a blank: "gt#226b ". Of a name that needs no final ';' the
 * mark is '*' ("t*3e "). Some names have two code points ("gesl#22db+fe00 "). */
extern const struct nb_string nb_html_entity_names[NB_HTML_ENTITY_LETTERS];

#endif
