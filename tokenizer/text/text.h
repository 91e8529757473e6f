/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 text to tokens: folding (NFKC, full case folding, default-ignorable characters removed) and
 * word boundaries after UAX #29, with a fast path for ASCII. Any thread; a context belongs to one.
 */
#ifndef NB_TOKENIZER_TEXT_TEXT_H
#define NB_TOKENIZER_TEXT_TEXT_H

#include "tokenizer/bag/tokenizing.h"

/* Counts the tokens of a text. Each token's feature text is `prefix` (a C string, "" for the body,
 * "subject:" for a Subject; at most 40 bytes) and the folded token. Bytes that are not UTF-8 are
 * read as windows-1252. A field that the settings leave out costs nothing. Returns 0 (also when the
 * budget ran out) or NB_NO_MEMORY. */
int nb_tokenize_text(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     const char *text, size_t length);

/* Builds and frees the character table (see nb_tokenizer_setup). */
int nb_text_setup(void);
void nb_text_teardown(void);

#endif
