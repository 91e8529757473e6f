/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the tokens of ASCII text, 64 bytes at a time. A run belongs to one thread.
 */
#ifndef NB_TOKENIZER_TEXT_ASCII_SCAN_H
#define NB_TOKENIZER_TEXT_ASCII_SCAN_H

#include "tokenizer/text/token.h"

/* Counts the tokens from *at on that neither contain nor touch a byte above 0x7F: next to one, a
 * mark may compose with the token, or an invisible character may continue it. Moves *at to the
 * beginning of the first token that contains or touches one, or to `end`. Returns as
 * nb_text_count. */
int nb_ascii_scan(struct nb_text_run *run, const unsigned char **at, const unsigned char *end);

#endif
