/* SPDX-License-Identifier: Apache-2.0
 *
 * Character references of HTML ("&eacute;", "&#233;", "&#xe9;"). Read-only tables; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_ENTITY_H
#define NB_TOKENIZER_HTML_HTML_ENTITY_H

#include <stddef.h>

/* The most bytes of UTF-8 for one reference, which stands for two characters at most. */
enum { NB_HTML_ENTITY_BYTES = 8 };

/* Reads the reference that begins with the '&' at text[0]. Writes the characters that it stands for
 * to `utf8` and their length to *written. Returns the bytes of `text` that the reference takes; 0
 * if there is none and the '&' is an ordinary character. As in HTML, some names need no final ';'
 * ("&copy 2003", "&ampfoo"), numbers never do, and the numbers 128 to 159 are windows-1252. */
size_t nb_html_entity(const char *text, size_t length, char utf8[NB_HTML_ENTITY_BYTES],
                      size_t *written);

#endif
