/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes text that should be UTF-8 but may contain invalid bytes. The properties of a character:
 * its folded form, its part in composition, and its class, which decides word boundaries. One
 * thread builds the table (nb_character_setup); after that any thread may read it.
 */
#ifndef NB_TOKENIZER_CHARACTER_H
#define NB_TOKENIZER_CHARACTER_H

#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

/* Returns the character of a byte in windows-1252, as browsers read it (WHATWG Encoding): the five
 * bytes that windows-1252 leaves undefined are the control characters of ISO 8859-1. */
static inline uint32_t nb_windows_1252(unsigned char byte)
{
    static const uint16_t high[32] = {
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};
    return byte >= 0x80 && byte < 0xA0 ? high[byte - 0x80] : byte;
}

/* Returns the character at *at, which is before `end`, and moves *at behind it. A byte that does
 * not begin a well-formed sequence (core/base/string.h) is read alone, as windows-1252: most mail
 * that declares no charset and is not UTF-8 is written in it. */
static inline uint32_t nb_utf8_decode(const unsigned char **at, const unsigned char *end)
{
    const unsigned char *p = *at;
    uint32_t first = *p;
    if (first < 0x80) {
        *at = p + 1;
        return first;
    }
    if (first >= 0xC2 && first < 0xE0 && end - p >= 2 && nb_utf8_is_continuation(p[1])) {
        *at = p + 2;
        return (first & 0x1F) << 6 | (p[1] & 0x3Fu);
    }
    if (first >= 0xE0 && first < 0xF0 && end - p >= 3 && nb_utf8_is_continuation(p[1]) &&
        nb_utf8_is_continuation(p[2])) {
        uint32_t c = (first & 0x0F) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        if (c >= 0x800 && (c < 0xD800 || c > 0xDFFF)) {
            *at = p + 3;
            return c;
        }
    }
    if (first >= 0xF0 && first < 0xF5 && end - p >= 4 && nb_utf8_is_continuation(p[1]) &&
        nb_utf8_is_continuation(p[2]) && nb_utf8_is_continuation(p[3])) {
        uint32_t c =
            (first & 0x07) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
        if (c >= 0x10000 && c <= 0x10FFFF) {
            *at = p + 4;
            return c;
        }
    }
    *at = p + 1;
    return nb_windows_1252((unsigned char)first);
}

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
    NB_CLASS_EMOJI,      /* pictures in emoji (Extended_Pictographic of UTS #51) */
    NB_CLASS_TONE,       /* skin colours of the emoji before them (Emoji_Modifier) */
    NB_CLASS_SYMBOL,     /* every other mark */
    NB_CLASS_END         /* no character: the end of the text */
};

enum nb_kind {
    NB_KIND_SIMPLE,    /* folds to one character, which never composes with the one before it */
    NB_KIND_MARK,      /* a mark that folds to itself and never composes; has a combining class */
    NB_KIND_JOINING,   /* may compose with the characters before it, or change places with them */
    NB_KIND_EXPANDING, /* folds to several characters; the first never composes with the character
                          before it */
    NB_KIND_IGNORED    /* default-ignorable: removed */
};

/* A character and its properties, packed into 32 bits: the character to which it folds (the
 * character itself for JOINING and EXPANDING) in 21 bits, its class (its combining class for MARK)
 * in 8 bits, its kind in 3 bits. */
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

enum {
    NB_FOLD_SEGMENT = 32,   /* most characters that are folded together */
    NB_FOLD_EXPANSION = 18, /* most characters that one folds to: U+FDFA */
    NB_FOLD_QUEUE = NB_FOLD_SEGMENT * NB_FOLD_EXPANSION
};

/* Build and free the table. A second setup does nothing. Setup returns 0 or NB_NO_MEMORY. */
int nb_character_setup(void);
void nb_character_teardown(void);

/* Folds UTF-8 text one character at a time: NFKC with full case folding, default-ignorable
 * characters removed. A fold belongs to one thread.
 *
 * A character that folds by itself needs one look-up in the table. Segments in which marks may
 * compose, or in which a character becomes several, go through utf8proc. A segment has at most
 * NB_FOLD_SEGMENT characters (the Stream-Safe Text Format of UAX #15 allows no more), so that the
 * time stays linear however many marks follow each other. */
struct nb_fold {
    const unsigned char *at; /* position after `ahead` */
    const unsigned char *end;
    const unsigned char *ahead_at; /* position of `ahead` in the text; `end` if there is none */
    const unsigned char *from;     /* position of the character that was returned last */
    uint32_t ahead;                /* the next character, packed; never of NB_KIND_IGNORED */
    unsigned taken, queued;        /* characters of `queue` that were returned, and all */
    uint32_t queue[NB_FOLD_QUEUE];
};

/* Reads the next character that is not ignored into `ahead`. */
static inline void nb_fold_advance(struct nb_fold *fold)
{
    do {
        fold->ahead_at = fold->at;
        if (fold->at == fold->end) {
            fold->ahead = nb_packed(0, NB_CLASS_END, NB_KIND_SIMPLE);
            return;
        }
        fold->ahead = nb_character(nb_utf8_decode(&fold->at, fold->end));
    } while (nb_packed_kind(fold->ahead) == NB_KIND_IGNORED);
}

/* Begins to fold the text from `at`, the first byte of a character, to `end`. The text is
 * borrowed. */
static inline void nb_fold_begin(struct nb_fold *fold, const unsigned char *at,
                                 const unsigned char *end)
{
    fold->at = at;
    fold->end = end;
    fold->taken = fold->queued = 0;
    nb_fold_advance(fold);
}

/* Folds the segment that begins with `first` and continues with `ahead`; returns its first
 * character and queues the others. */
uint32_t nb_fold_segment(struct nb_fold *fold, uint32_t first);

/* Returns the next folded character with its class (nb_packed_character, nb_packed_class). At the
 * end of the text it returns a character of NB_CLASS_END, however often it is called. */
static inline uint32_t nb_fold_next(struct nb_fold *fold)
{
    if (fold->taken < fold->queued)
        return fold->queue[fold->taken++];
    fold->from = fold->ahead_at;
    uint32_t packed = fold->ahead;
    if (fold->from == fold->end)
        return packed;
    nb_fold_advance(fold);
    enum nb_kind next = nb_packed_kind(fold->ahead);
    if (nb_packed_kind(packed) == NB_KIND_SIMPLE &&
        (next == NB_KIND_SIMPLE || next == NB_KIND_EXPANDING))
        return packed;
    return nb_fold_segment(fold, packed);
}

/* Handles text that is not shown in the order of its bytes: after a right-to-left override
 * (U+202E), "argaiv" is shown as "viagra". Pure functions; any thread. */

/* Appends the words that overrides reorder, in the order in which they are shown, with a line end
 * after each stretch; appends nothing if there are none. An override extends to its end mark
 * (U+202C) or to the end of the line (UAX #9, X2 to X7); overrides nested deeper than 8 are
 * ignored. An override does not change words of a script that is written in its direction anyway.
 * The text is UTF-8. Appends at most 4/3 of `length`, in linear time. Returns 0 or NB_NO_MEMORY. */
int nb_override_shown(const char *text, size_t length, struct nb_buffer *out);

#endif
