/* SPDX-License-Identifier: Apache-2.0
 *
 * The properties of a character: its folded form, its part in composition, and its class, which
 * decides word boundaries. One thread builds the table (nb_character_setup); after that any thread
 * may read it.
 */
#ifndef NB_TOKENIZER_TEXT_CHARACTER_H
#define NB_TOKENIZER_TEXT_CHARACTER_H

#include <stdint.h>

/* Classes: the Word_Break property of UAX #29, simplified; see tokenizer/README.md. */
enum nb_class {
    NB_CLASS_SPACE,      /* white space, control characters */
    NB_CLASS_LETTER,     /* letters of scripts that put spaces between words */
    NB_CLASS_DIGIT,      /* digits and other numbers */
    NB_CLASS_JOINER,     /* '_' and other connector punctuation (ExtendNumLet) */
    NB_CLASS_EXTEND,     /* combining marks */
    NB_CLASS_MID_BOTH,   /* inside a word between letters or digits: apostrophe, full stop */
    NB_CLASS_MID_LETTER, /* inside a word between letters */
    NB_CLASS_MID_NUMBER, /* inside a word between digits: comma */
    NB_CLASS_PAIR,       /* letters of scripts without spaces: counted as pairs */
    NB_CLASS_FLAG,       /* regional indicators: two make a flag */
    NB_CLASS_EMOJI,      /* pictures that emoji are made of (Extended_Pictographic of UTS #51) */
    NB_CLASS_TONE,       /* skin colour of the emoji before it (Emoji_Modifier) */
    NB_CLASS_SYMBOL,     /* every other mark */
    NB_CLASS_END         /* no character: the end of the text */
};

enum nb_kind {
    NB_KIND_SIMPLE,    /* folds to one character, which never composes with the one before it */
    NB_KIND_MARK,      /* a mark that folds to itself and never composes; has a combining class */
    NB_KIND_JOINING,   /* may compose with the characters before it, or change places with them */
    NB_KIND_EXPANDING, /* folds to several characters; the first never composes with one before it
                        */
    NB_KIND_IGNORED    /* default-ignorable: removed */
};

/* A character and its properties, packed into 32 bits: the character that it folds to (the
 * character itself for JOINING and EXPANDING) in 21 bits, its class (its combining class for MARK)
 * in 8, its kind in 3. */
enum { NB_CLASS_SHIFT = 21, NB_KIND_SHIFT = 29 };

static inline uint32_t nb_packed(uint32_t character, unsigned class_, enum nb_kind kind)
{
    return character | (uint32_t)class_ << NB_CLASS_SHIFT | (uint32_t)kind << NB_KIND_SHIFT;
}
static inline uint32_t nb_packed_character(uint32_t packed)
{
    return packed & 0x1FFFFF;
}
static inline unsigned nb_packed_class(uint32_t packed)
{
    return packed >> NB_CLASS_SHIFT & 0xFF;
}
static inline enum nb_kind nb_packed_kind(uint32_t packed)
{
    return (enum nb_kind)(packed >> NB_KIND_SHIFT);
}

/* Planes 0 and 1 are in the table. Characters of other planes (rare Han, tags, private use) are
 * looked up in utf8proc. */
enum { NB_CHARACTER_TABLE = 0x20000 };
extern const uint32_t *nb_character_table;

/* The packed description of a character of plane 2 and above. */
uint32_t nb_character_beyond(uint32_t character);

static inline uint32_t nb_character(uint32_t character)
{
    return character < NB_CHARACTER_TABLE ? nb_character_table[character]
                                          : nb_character_beyond(character);
}

/* Returns the class of a character that is already folded. */
enum nb_class nb_character_class(uint32_t character);

enum {
    NB_FOLD_SEGMENT = 32,   /* characters that are folded together, at most */
    NB_FOLD_EXPANSION = 18, /* U+FDFA folds to 18 characters, the most in Unicode */
    NB_FOLD_QUEUE = NB_FOLD_SEGMENT * NB_FOLD_EXPANSION
};

/* Folds 1 to NB_FOLD_SEGMENT characters with utf8proc: NFKC with full case folding,
 * default-ignorable characters removed (NFKC_Casefold of UAX #31). Returns the number of characters
 * in `folded`. */
unsigned nb_character_fold(const uint32_t *characters, unsigned count,
                           int32_t folded[NB_FOLD_QUEUE]);

/* Build and free the table. A second setup does nothing. Setup returns 0 or NB_NO_MEMORY. */
int nb_character_setup(void);
void nb_character_teardown(void);

#endif
