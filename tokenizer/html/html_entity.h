/* SPDX-License-Identifier: Apache-2.0
 *
 * Character references of HTML ("&eacute;", "&#233;", "&#xe9;"). Read-only tables; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_ENTITY_H
#define NB_TOKENIZER_HTML_HTML_ENTITY_H

#include <stddef.h>

/* The most bytes of UTF-8 that one reference stands for (two characters). */
enum { NB_HTML_ENTITY_BYTES = 8 };

/* Reads the reference that begins with the '&' at text[0]. Writes what it stands for to `utf8`, its
 * length to *written, and returns the bytes of `text` that it takes; 0 if there is none, then the
 * '&' is an ordinary character. Names without the final ';' are taken where HTML takes them
 * ("&copy 2003", "&ampfoo"), numbers always; numbers 128 to 159 are windows-1252, as HTML has it.
 */
size_t nb_html_entity(const char *text, size_t length, char utf8[NB_HTML_ENTITY_BYTES],
                      size_t *written);

#endif
