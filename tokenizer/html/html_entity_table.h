/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables behind html_entity.h. Read-only; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_ENTITY_TABLE_H
#define NB_TOKENIZER_HTML_HTML_ENTITY_TABLE_H

#include <stdint.h>

struct nb_html_entity_row {
    const char *name;
    uint32_t first, second; /* code points; the second is 0 for most */
};

enum {
    NB_HTML_ENTITIES = 2125,
    NB_HTML_LEGACY_ENTITIES = 106, /* names that need no final ';' */
    NB_HTML_ENTITY_NAME = 31,      /* bytes of the longest name */
    NB_HTML_LEGACY_NAME = 6        /* bytes of the longest name that needs no final ';' */
};

extern const struct nb_html_entity_row nb_html_entities[NB_HTML_ENTITIES];
extern const struct nb_html_entity_row nb_html_legacy_entities[NB_HTML_LEGACY_ENTITIES];

#endif
