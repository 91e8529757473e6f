/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the ASCII tokens of a run that needs no derived features, for tokenizer/text/ascii_scan.c.
 * A run belongs to one thread.
 */
#ifndef NB_TOKENIZER_TEXT_ASCII_WORDS_H
#define NB_TOKENIZER_TEXT_ASCII_WORDS_H

#include "tokenizer/text/token.h"

/* Counts the whole tokens of the next windows from *at on. Stops at a long token, or at a token
 * that touches a byte above 0x7F; then sets *is_stuck. Moves *at behind the counted tokens. Returns
 * as nb_text_count. */
int nb_ascii_words(struct nb_text_run *run, const unsigned char **at, const unsigned char *end,
                   bool *is_stuck);

#endif
