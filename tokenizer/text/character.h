/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tokenizer knows of a character: its folded form, how it takes part in composition, and
 * its class for finding words. A table built once (nb_character_setup); afterwards any thread.
 */
#ifndef NB_TOKENIZER_TEXT_CHARACTER_H
#define NB_TOKENIZER_TEXT_CHARACTER_H

#include <stdint.h>

/* Classes after the Word_Break property of UAX #29, simplified; see tokenizer/README.md. */
enum nb_class {
    NB_CLASS_SPACE,      /* white space, control characters */
    NB_CLASS_LETTER,     /* letters of scripts that put spaces between words */
    NB_CLASS_DIGIT,      /* digits and other numbers */
    NB_CLASS_JOINER,     /* '_' and other connector punctuation: ExtendNumLet */
    NB_CLASS_EXTEND,     /* combining marks */
    NB_CLASS_MID_BOTH,   /* apostrophe, full stop: between letters or between digits */
    NB_CLASS_MID_LETTER, /* between letters */
    NB_CLASS_MID_NUMBER, /* comma: between digits */
    NB_CLASS_PAIR,       /* letters of scripts without spaces: counted as pairs */
    NB_CLASS_FLAG,       /* regional indicators: two make a flag */
    NB_CLASS_SYMBOL,     /* every other mark */
    NB_CLASS_END         /* no character: the text is over */
};

enum nb_kind {
    NB_KIND_SIMPLE,    /* folds to one character that stays apart from the one before it */
    NB_KIND_MARK,      /* a mark that folds to itself and never composes; has a combining class */
    NB_KIND_JOINING,   /* may compose or be reordered with the characters before it */
    NB_KIND_EXPANDING, /* folds to several characters, of which the first stays apart */
    NB_KIND_IGNORED    /* default-ignorable: removed */
};

/* A character packed into 32 bits: what it folds to (for JOINING and EXPANDING: the character
 * itself) in 21 bits, its class (for MARK: its combining class) in 8, its kind in 3. */
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

/* Planes 0 and 1 stand in the table; the others (rare Han, tags, private use) follow a rule. */
enum { NB_CHARACTER_TABLE = 0x20000 };
extern const uint32_t *nb_character_table;

/* The packed description of a character of plane 2 and above. */
uint32_t nb_character_beyond(uint32_t character);

static inline uint32_t nb_character(uint32_t character)
{
    return character < NB_CHARACTER_TABLE ? nb_character_table[character]
                                          : nb_character_beyond(character);
}

/* The class of a character as it is, without folding: for what comes out of composition. */
enum nb_class nb_character_class(uint32_t character);

enum {
    NB_FOLD_SEGMENT = 32,   /* characters that are folded together at most */
    NB_FOLD_EXPANSION = 18, /* U+FDFA becomes 18 characters: the most in Unicode */
    NB_FOLD_QUEUE = NB_FOLD_SEGMENT * NB_FOLD_EXPANSION
};

/* NFKC with full case folding and default-ignorable characters removed (NFKC_Casefold of UAX #31)
 * of 1 to NB_FOLD_SEGMENT characters, by utf8proc. Returns how many characters came out. */
unsigned nb_character_fold(const uint32_t *characters, unsigned count,
                           int32_t folded[NB_FOLD_QUEUE]);

/* Builds and frees the table. Setting up twice does nothing. Returns 0 or NB_NO_MEMORY. */
int nb_character_setup(void);
void nb_character_teardown(void);

#endif
