/* SPDX-License-Identifier: Apache-2.0
 *
 * Recognizes words that are written to look like others: with letters of two scripts ("frее" has
 * two Cyrillic letters), in small capitals, with marks through the letters, with signs that change
 * no word, or with zero-width characters between the letters. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_SCRIPTS_H
#define NB_TOKENIZER_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/string.h"

/* The disguises of a word, a bit each. */
enum nb_dress {
    NB_DRESS_MIXED = 1,    /* Latin letters mixed with Cyrillic or Greek ones that look alike */
    NB_DRESS_CAPITALS = 2, /* small capitals: ᴠɪᴀɢʀᴀ */
    NB_DRESS_STRUCK = 4,   /* letters that are struck through, underlined or encircled: v̶i̶a̶ */
    NB_DRESS_SIGNS = 8     /* signs that innocent texts have, too: vowel points, tatweel */
};

/* Classifies a character that follows the letter `base` (0: none): returns NB_DRESS_STRUCK or
 * NB_DRESS_SIGNS if it only decorates that letter, or 0. Signs are tatweel and vowel marks of
 * Arabic, points and accents of Hebrew, and marks after an ASCII letter with which they do not
 * compose (marks that do compose are part of one character in folded text). */
unsigned nb_scripts_added(uint32_t character, uint32_t base);

/* Writes the plain reading of a folded word (UTF-8) to `plain`, and its length. If the word mixes
 * Latin letters with Cyrillic or Greek ones, letters that look Latin are replaced by the Latin ones
 * (Unicode Technical Standard #39, section 4, "Confusable Detection"); small capitals and letters
 * with a stroke are replaced by plain ones. `plain` has room for `length` bytes, which is always
 * enough. Returns the disguises of the word; if there are none, `plain` is not written. */
unsigned nb_scripts_plain(const unsigned char *word, size_t length, unsigned char *plain,
                          size_t *plain_length);

/* Kinds of invisible characters in a text, a bit each. */
enum nb_unseen {
    NB_UNSEEN_SPLITS = 1,   /* characters without width that only split words: U+200B, U+2060, or
                               U+FEFF after the beginning; not the joiners that some scripts and
                               emoji need */
    NB_UNSEEN_OVERRIDES = 2 /* directional overrides (tokenizer/character.h) */
};

/* Returns the kinds of invisible characters in a text. The bytes need not be UTF-8. */
unsigned nb_scripts_unseen(const char *text, size_t length);

/* Checks whether bytes are valid in the charset in which they are read. Pure functions; any thread.
 */

/* Whether bytes are ASCII without an escape character, which begins another character set (ISO
 * 2022). */
bool nb_text_is_ascii(struct nb_string text);

/* Whether a text is UTF-8: it is valid, or has at most one invalid byte for every eight valid
 * characters above ASCII, as in a text that was cut or to which a list added a footer in another
 * charset. Time: linear in its length. */
bool nb_text_is_utf8(struct nb_string text);

/* Whether a text was converted to UTF-8 from the right charset: like nb_text_is_utf8, but U+FFFD
 * also counts as a fault. */
bool nb_text_is_readable(struct nb_string text);

#endif
