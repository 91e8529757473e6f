/* SPDX-License-Identifier: Apache-2.0
 *
 * Splits UTF-8 text into tokens: folds it (NFKC, full case folding, default-ignorable characters
 * removed) and finds word boundaries by UAX #29, with a fast path for ASCII. Any thread.
 */
#ifndef NB_TOKENIZER_TEXT_H
#define NB_TOKENIZER_TEXT_H

#include "tokenizer/bag_private.h"

/* Counts the tokens of a text. The text of each feature is `prefix` and the folded token; `prefix`
 * is a C string of at most 40 bytes, "" for the body, "subject:" for a Subject. Each byte that is
 * not part of UTF-8 is read as windows-1252. A field that the settings leave out is not counted.
 * Returns 0 (also when the limit on tokens or on work is reached) or NB_NO_MEMORY. */
int nb_tokenize_text(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     const char *text, size_t length);

/* Like nb_tokenize_text, for a text that is the value of an attribute: counts only its words, as
 * features of `part` (core/base/feature.h), whichever fields the settings leave out. */
int nb_tokenize_value(struct nb_tokenizing *t, unsigned part, const char *prefix, const char *text,
                      size_t length);

/* Build and free the table of characters (see nb_tokenizer_setup). Setup returns 0 or
 * NB_NO_MEMORY. */
int nb_text_setup(void);
void nb_text_teardown(void);

#endif
