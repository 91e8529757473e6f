/* SPDX-License-Identifier: Apache-2.0
 *
 * Character n-grams of a text. Any thread; nothing lives longer than a call.
 */
#ifndef NB_TOKENIZER_TEXT_NGRAMS_H
#define NB_TOKENIZER_TEXT_NGRAMS_H

#include "tokenizer/bag/tokenizing.h"

enum { NB_NGRAM = 5 }; /* characters */

/* Counts every NB_NGRAM folded characters in a row, "ngram:ee mo", of the text from `text` to
 * `end`. Leading white space is left out, and a run of white space becomes one blank. The bag must
 * be prepared. Returns as nb_text_count. */
int nb_ngrams_count(struct nb_tokenizing *t, const unsigned char *text, const unsigned char *end);

#endif
