/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of ASCII of a run from which nothing is derived: for tokenizer/text/ascii_scan.c. A run
 * belongs to one thread.
 */
#ifndef NB_TOKENIZER_TEXT_ASCII_WORDS_H
#define NB_TOKENIZER_TEXT_ASCII_WORDS_H

#include "tokenizer/text/token.h"

/* Counts the tokens of the next windows from *at on, as far as they are whole, but no further than
 * a long one, or one that touches a byte above 0x7F. Moves *at behind them. Sets *is_stuck: such a
 * one is next. Returns as nb_text_count. */
int nb_ascii_words(struct nb_text_run *run, const unsigned char **at, const unsigned char *end,
                   bool *is_stuck);

#endif
