/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that are written to look like others: with letters of two scripts ("frее" has two Cyrillic
 * letters), or with characters of no width between the letters. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_SCRIPTS_H
#define NB_TOKENIZER_TEXT_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a folded word (UTF-8) mixes Latin letters with Cyrillic or Greek ones that
 * may pass for Latin ones, and with no others. Writes the word to
 * `plain`, with letters that look like Latin ones replaced by these (Unicode Technical Standard
 * #39, section 4, "Confusable Detection"), and sets *plain_length. `plain` has room for `length`
 * bytes, which is always enough. */
bool nb_scripts_mixed(const unsigned char *word, size_t length, unsigned char *plain,
                      size_t *plain_length);

/* Whether a text has characters of no width that only serve to split words unseen: U+200B, U+2060,
 * or U+FEFF behind the beginning. The joiners that some scripts and emoji need do not count. The
 * bytes need not be UTF-8. */
bool nb_scripts_zero_width(const char *text, size_t length);

#endif
