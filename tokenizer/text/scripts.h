/* SPDX-License-Identifier: Apache-2.0
 *
 * Words that are written to look like others: with letters of two scripts ("frее" has two Cyrillic
 * letters), in small capitals, with marks through the letters, with signs that change no word, or
 * with characters of no width between the letters. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_TEXT_SCRIPTS_H
#define NB_TOKENIZER_TEXT_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is not plain in a word, a bit each. */
enum nb_dress {
    NB_DRESS_MIXED = 1,    /* Latin letters and Cyrillic or Greek ones that pass for them */
    NB_DRESS_CAPITALS = 2, /* small capitals: ᴠɪᴀɢʀᴀ */
    NB_DRESS_STRUCK = 4,   /* letters that are struck through, underlined or encircled: v̶i̶a̶ */
    NB_DRESS_SIGNS = 8     /* signs that innocent texts have as well: vowel points, tatweel */
};

/* What the character behind `base`, the last letter of the word or 0, adds to the word without
 * being a letter of it: NB_DRESS_STRUCK, NB_DRESS_SIGNS, or 0 for all others. Signs are tatweel and
 * vowel marks of Arabic, points and accents of Hebrew, and marks that make no letter with a letter
 * of ASCII (what does is one character in folded text). */
unsigned nb_scripts_added(uint32_t character, uint32_t base);

/* Writes a folded word (UTF-8) as it reads to `plain`, and its length: letters that look like Latin
 * ones are replaced by these, if it mixes Latin letters with Cyrillic or Greek ones (Unicode
 * Technical Standard #39, section 4, "Confusable Detection"), small capitals and letters with a
 * stroke by plain ones. `plain` has room for `length` bytes, which is always enough. Returns what
 * is not plain in the word; if nothing is, `plain` is not written. */
unsigned nb_scripts_plain(const unsigned char *word, size_t length, unsigned char *plain,
                          size_t *plain_length);

/* What of characters that are not seen a text has. */
enum nb_unseen {
    NB_UNSEEN_SPLITS = 1,   /* those of no width that only serve to split words: U+200B, U+2060, or
                               U+FEFF behind the beginning; not the joiners that some scripts and
                               emoji need */
    NB_UNSEEN_OVERRIDES = 2 /* directional overrides (tokenizer/text/override.h) */
};

/* The bits of the characters that are in a text. The bytes need not be UTF-8. */
unsigned nb_scripts_unseen(const char *text, size_t length);

#endif
