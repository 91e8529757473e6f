/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the tokens of text that is not all ASCII, one folded character at a time. A run belongs to
 * one thread.
 */
#ifndef NB_TOKENIZER_TEXT_WORDS_H
#define NB_TOKENIZER_TEXT_WORDS_H

#include "tokenizer/text/token.h"

/* Counts the tokens from *at, where a token begins, up to white space that ASCII follows, or up to
 * `end`; moves *at there. Returns as nb_text_count. */
int nb_words_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

#endif
