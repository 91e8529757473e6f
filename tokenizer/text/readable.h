/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether bytes are in the charset in which they are read. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_READABLE_H
#define NB_TOKENIZER_TEXT_READABLE_H

#include <stdbool.h>

#include "core/base/string.h"

/* Whether bytes are ASCII without an escape, which begins another character set (ISO 2022). */
bool nb_text_is_ascii(struct nb_string text);

/* Whether a text is UTF-8: it is valid, or one byte that is not stands beside eight characters that
 * are, as where a text was cut, or where a list has added a footer in another charset. Time: linear
 * in its length. */
bool nb_text_is_utf8(struct nb_string text);

/* Whether a text in UTF-8 came out of the charset in which it was written: as above, with U+FFFD
 * for a fault, too. */
bool nb_text_is_readable(struct nb_string text);

#endif
