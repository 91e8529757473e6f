/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether bytes are valid in the charset in which they are read. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_READABLE_H
#define NB_TOKENIZER_TEXT_READABLE_H

#include <stdbool.h>

#include "core/base/string.h"

/* Whether bytes are ASCII without an escape character, which begins another character set (ISO
 * 2022). */
bool nb_text_is_ascii(struct nb_string text);

/* Whether a text is UTF-8: it is valid, or has at most one invalid byte for every eight valid
 * characters above ASCII, as in a text that was cut or to which a list added a footer in another
 * charset. Time: linear in its length. */
bool nb_text_is_utf8(struct nb_string text);

/* Whether the conversion of a text to UTF-8 assumed the right charset: like nb_text_is_utf8, with
 * U+FFFD as a fault, too. */
bool nb_text_is_readable(struct nb_string text);

#endif
