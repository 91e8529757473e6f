/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of named character references. Read-only; any thread.
 */
#ifndef NB_TOKENIZER_HTML_ENTITY_TABLE_H
#define NB_TOKENIZER_HTML_ENTITY_TABLE_H

#include "core/base/string.h"

enum {
    NB_HTML_ENTITY_LETTERS = 'z' - 'A' + 1,
    NB_HTML_ENTITY_NAME = 31, /* bytes of the longest name */
    NB_HTML_LEGACY_NAME = 6   /* bytes of the longest name that needs no final ';' */
};

/* The names, in one text for each first letter. A text has for each name, in the order of strcmp,
 * the rest of the name, '#', its code point in hexadecimal, and a blank: "gt#226b ". A name that
 * needs no final ';' has '*' instead of '#' ("t*3e "). Some names have two code points
 * ("gesl#22db+fe00 "). */
extern const struct nb_string nb_html_entity_names[NB_HTML_ENTITY_LETTERS];

#endif
