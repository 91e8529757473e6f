/* SPDX-License-Identifier: Apache-2.0
 *
 * Words written to look like others: letters of two scripts in one word ("frее" with two Cyrillic
 * letters), and characters of no width between the letters. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_SCRIPTS_H
#define NB_TOKENIZER_TEXT_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a folded word (UTF-8) mixes Latin letters with Cyrillic or Greek ones. If so, `plain`
 * gets the word with those of the others that look like Latin letters replaced by these (Unicode
 * Technical Standard #39, section 4, "Confusable Detection"); it has room for `length` bytes, which
 * always do. Sets *plain_length. */
bool nb_scripts_mixed(const unsigned char *word, size_t length, unsigned char *plain,
                      size_t *plain_length);

/* Whether a text has characters that have no width and no use but to part words unseen: U+200B,
 * U+2060, and U+FEFF other than at its beginning. The joiners that some scripts and emoji need are
 * none of these. Bytes that are not UTF-8 do no harm. */
bool nb_scripts_zero_width(const char *text, size_t length);

#endif
