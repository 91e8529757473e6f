/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/character.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "core/base/error.h"

const uint32_t *nb_character_table;

struct range {
    uint32_t first, last;
};

/* Scripts without spaces between words, for which UAX #29 refers to dictionaries, and Hangul, whose
 * words carry particles: overlapping pairs of characters find the stems without a dictionary. */
static const struct range pair_scripts[] = {
    {0x0E00, 0x0EFF},   /* Thai, Lao */
    {0x1000, 0x109F},   /* Myanmar */
    {0x1100, 0x11FF},   /* Hangul Jamo */
    {0x1780, 0x17FF},   /* Khmer */
    {0x2E80, 0x2FDF},   /* Han radicals */
    {0x3005, 0x3007},   /* Han iteration mark, closing mark, zero */
    {0x3021, 0x3029},   /* Hangzhou numerals */
    {0x3031, 0x3035},   /* Kana repeat marks */
    {0x3038, 0x30FA},   /* Hiragana, Katakana; not the middle dot */
    {0x30FC, 0x31FF},   /* prolonged sound mark, Bopomofo, Hangul compatibility Jamo */
    {0x3400, 0x4DBF},   /* Han */
    {0x4E00, 0x9FFF},   /* Han */
    {0xA960, 0xA97F},   /* Hangul Jamo */
    {0xA9E0, 0xA9FF},   /* Myanmar */
    {0xAA60, 0xAA7F},   /* Myanmar */
    {0xAC00, 0xD7FF},   /* Hangul */
    {0xF900, 0xFAFF},   /* Han, compatibility */
    {0x1AFF0, 0x1B16F}, /* Kana */
    {0x20000, 0x3FFFF}, /* Han */
};

static bool is_pair_script(uint32_t character)
{
    size_t low = 0;
    size_t high = sizeof pair_scripts / sizeof *pair_scripts;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > pair_scripts[middle].last)
            low = middle + 1;
        else if (character < pair_scripts[middle].first)
            high = middle;
        else
            return true;
    }
    return false;
}

/* Marks that do not end a word when they stand inside it (UAX #29: MidNumLet, MidLetter, MidNum).
 * Colon, semicolon and characters that look like them are left out, unlike in UAX #29: in mail they
 * mostly end words ("Re:done", "key:value", "a;b"). */
static enum nb_class punctuation_class(uint32_t character)
{
    switch (character) {
    case '\'':
    case '.':
    case 0x2018: /* typographic apostrophes */
    case 0x2019:
        return NB_CLASS_MID_BOTH;
    case 0x00B7: /* middle dot, Catalan "col·lecció" */
    case 0x055F: /* Armenian abbreviation mark */
    case 0x05F4: /* Hebrew gershayim */
    case 0x2027: /* hyphenation point */
        return NB_CLASS_MID_LETTER;
    case ',':
    case 0x060C: /* Arabic comma, date separator, decimal and thousands separators */
    case 0x060D:
    case 0x066B:
    case 0x066C:
    case 0x07F8: /* NKo comma */
    case 0x2044: /* fraction slash: ½ folds to 1⁄2 */
        return NB_CLASS_MID_NUMBER;
    default:
        return NB_CLASS_SYMBOL;
    }
}

/* The class of a symbol of any category. */
static enum nb_class symbol_class(uint32_t character)
{
    if (character >= 0x1F1E6 && character <= 0x1F1FF)
        return NB_CLASS_FLAG;
    if (character >= 0x1F3FB && character <= 0x1F3FF)
        return NB_CLASS_TONE;
    return utf8proc_get_property((utf8proc_int32_t)character)->boundclass ==
                   UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC
               ? NB_CLASS_EMOJI
               : punctuation_class(character);
}

/* Returns the class of a character that is already folded. */
static enum nb_class character_class(uint32_t character)
{
    switch ((int)utf8proc_category((utf8proc_int32_t)character)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
        return NB_CLASS_SPACE;
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
        return is_pair_script(character) ? NB_CLASS_PAIR : NB_CLASS_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NO:
        return NB_CLASS_DIGIT;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
        return NB_CLASS_EXTEND;
    case UTF8PROC_CATEGORY_PC:
        return NB_CLASS_JOINER;
    case UTF8PROC_CATEGORY_SO:
        return character >= 0x2E80 && character <= 0x2FDF ? NB_CLASS_PAIR : symbol_class(character);
    case UTF8PROC_CATEGORY_CN: /* not assigned: versions of Unicode add Han in planes 2 and 3 */
        return character >= 0x20000 && character <= 0x3FFFF ? NB_CLASS_PAIR
                                                            : symbol_class(character);
    default: /* punctuation, symbols, private use */
        return symbol_class(character);
    }
}

/* Folds 1 to NB_FOLD_SEGMENT characters with utf8proc: NFKC, full case folding,
 * default-ignorable characters removed (NFKC_Casefold of UAX #31). Returns the number of characters
 * in `folded`. */
static unsigned character_fold(const uint32_t *characters, unsigned count,
                               int32_t folded[NB_FOLD_QUEUE])
{
    const utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT | UTF8PROC_CASEFOLD | UTF8PROC_IGNORE;
    unsigned char text[NB_FOLD_SEGMENT * 4];
    unsigned length = 0;
    assert(count >= 1 && count <= NB_FOLD_SEGMENT);
    for (unsigned i = 0; i < count; i++)
        length += nb_utf8_encode(characters[i], text + length);
    utf8proc_ssize_t n =
        utf8proc_decompose(text, (utf8proc_ssize_t)length, folded, NB_FOLD_QUEUE, options);
    if (n <= 0 || n > NB_FOLD_QUEUE)
        return 0;
    n = utf8proc_normalize_utf32(folded, n, options);
    return n <= 0 ? 0 : (unsigned)n;
}

static bool is_han_or_hangul(uint32_t c)
{
    return (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x4E00 && c <= 0x9FFF) ||
           (c >= 0xAC00 && c <= 0xD7A3);
}

/* Sets a bit in `joins` for each character that can compose with the one before it: those that are
 * not the first of a canonical decomposition. Vowels and final consonants of Hangul are added by
 * their ranges: they compose by arithmetic and no table lists them. */
static void find_joining(unsigned char *joins)
{
    utf8proc_int32_t parts[8];
    for (uint32_t c = 0xC0; c < NB_CHARACTER_TABLE; c++) {
        if (is_han_or_hangul(c) ||
            utf8proc_get_property((utf8proc_int32_t)c)->decomp_seqindex == UINT16_MAX)
            continue;
        utf8proc_ssize_t n =
            utf8proc_decompose_char((utf8proc_int32_t)c, parts, 8, UTF8PROC_DECOMPOSE, NULL);
        for (utf8proc_ssize_t i = 1; i < n && i < 8; i++)
            joins[parts[i] >> 3] |= (unsigned char)(1u << (parts[i] & 7));
    }
    for (uint32_t c = 0x1161; c <= 0x11C2; c++)
        if (c <= 0x1175 || c >= 0x11A8)
            joins[c >> 3] |= (unsigned char)(1u << (c & 7));
}

/* The packed description of a character. `joins` is NULL for characters above the table, none of
 * which composes. */
static uint32_t describe(uint32_t c, const unsigned char *joins)
{
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)c);
    if (property->ignorable)
        return nb_packed(c, 0, NB_KIND_IGNORED);
    /* Letters in black circles and squares are letters, like those in white ones (by NFKC). */
    if ((c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189))
        return nb_packed('a' + (c - 0x1F150) % 32, NB_CLASS_LETTER, NB_KIND_SIMPLE);
    int32_t folded[NB_FOLD_QUEUE] = {(int32_t)c};
    unsigned n = 1;
    if (!is_han_or_hangul(c) &&
        (property->decomp_seqindex != UINT16_MAX || property->casefold_seqindex != UINT16_MAX))
        n = character_fold(&c, 1, folded);
    if (n == 0)
        return nb_packed(c, 0, NB_KIND_IGNORED);
    uint32_t first = (uint32_t)folded[0];
    unsigned order = (unsigned)utf8proc_get_property(folded[0])->combining_class;
    bool joining =
        joins != NULL && first < NB_CHARACTER_TABLE && (joins[first >> 3] >> (first & 7) & 1) != 0;
    if (n == 1 && first == c && order != 0 && !joining)
        return nb_packed(c, order, NB_KIND_MARK);
    if (joining || order != 0)
        return nb_packed(c, 0, NB_KIND_JOINING);
    if (n > 1)
        return nb_packed(c, 0, NB_KIND_EXPANDING);
    return nb_packed(first, character_class(first), NB_KIND_SIMPLE);
}

uint32_t nb_character_beyond(uint32_t character)
{
    return describe(character, NULL);
}

int nb_character_setup(void)
{
    if (nb_character_table != NULL)
        return 0;
    uint32_t *table = malloc(NB_CHARACTER_TABLE * sizeof *table);
    unsigned char *joins = calloc(NB_CHARACTER_TABLE / 8, 1);
    if (table == NULL || joins == NULL) {
        free(table);
        free(joins);
        return NB_NO_MEMORY;
    }
    find_joining(joins);
    for (uint32_t c = 0; c < NB_CHARACTER_TABLE; c++)
        table[c] = describe(c, joins);
    free(joins);
    nb_character_table = table;
    return 0;
}

void nb_character_teardown(void)
{
    free((void *)(uintptr_t)nb_character_table);
    nb_character_table = NULL;
}

static uint32_t queue_unchanged(struct nb_fold *fold, const uint32_t *segment, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fold->queue[i] =
            nb_packed_kind(segment[i]) == NB_KIND_MARK
                ? nb_packed(nb_packed_character(segment[i]), NB_CLASS_EXTEND, NB_KIND_SIMPLE)
                : segment[i];
    fold->queued = count;
    fold->taken = 1;
    return fold->queue[0];
}

static uint32_t queue_folded(struct nb_fold *fold, const uint32_t *segment, unsigned count)
{
    uint32_t characters[NB_FOLD_SEGMENT];
    int32_t folded[NB_FOLD_QUEUE];
    for (unsigned i = 0; i < count; i++)
        characters[i] = nb_packed_character(segment[i]);
    unsigned n = character_fold(characters, count, folded);
    if (n == 0) { /* impossible: ignored characters fold to nothing, but no segment has them */
        fold->queue[0] = nb_packed(0xFFFD, NB_CLASS_SYMBOL, NB_KIND_SIMPLE);
        n = 1;
    }
    for (unsigned i = 0; i < n; i++)
        fold->queue[i] =
            nb_packed((uint32_t)folded[i], character_class((uint32_t)folded[i]), NB_KIND_SIMPLE);
    fold->queued = n;
    fold->taken = 1;
    return fold->queue[0];
}

uint32_t nb_fold_segment(struct nb_fold *fold, uint32_t first)
{
    assert(fold->taken == fold->queued && nb_packed_kind(first) != NB_KIND_IGNORED);
    uint32_t segment[NB_FOLD_SEGMENT] = {first};
    unsigned count = 1;
    /* Marks that never compose and are in canonical order already need no utf8proc: the vowel signs
     * and tones of Thai, Hebrew points and others. */
    bool unchanged =
        nb_packed_kind(first) == NB_KIND_SIMPLE || nb_packed_kind(first) == NB_KIND_MARK;
    unsigned order = nb_packed_kind(first) == NB_KIND_MARK ? nb_packed_class(first) : 0;
    while (count < NB_FOLD_SEGMENT) {
        enum nb_kind kind = nb_packed_kind(fold->ahead);
        if (kind != NB_KIND_MARK && kind != NB_KIND_JOINING)
            break;
        if (kind == NB_KIND_JOINING || nb_packed_class(fold->ahead) < order)
            unchanged = false;
        order = nb_packed_class(fold->ahead);
        segment[count++] = fold->ahead;
        nb_fold_advance(fold);
    }
    return unchanged ? queue_unchanged(fold, segment, count) : queue_folded(fold, segment, count);
}

enum {
    EMBED_LEFT = 0x202A, /* embeddings: the letters inside keep the order of their script */
    EMBED_RIGHT = 0x202B,
    POP = 0x202C,
    OVERRIDE_LEFT = 0x202D,
    OVERRIDE_RIGHT = 0x202E,
    ISOLATE = 0x2066, /* isolates, up to FIRST_ISOLATE: treated as embeddings */
    FIRST_ISOLATE = 0x2068,
    POP_ISOLATE = 0x2069,
    PARAGRAPH = 0x2029,
    DEPTH = 8
};

enum direction { UNKNOWN, LEFT, RIGHT };

/* An open override or embedding. */
struct level {
    size_t start;             /* where its content begins in the output */
    enum direction direction; /* direction of an override; UNKNOWN: an embedding */
    enum direction script;    /* direction of the first letter inside */
};

struct writer {
    struct nb_buffer *out;
    struct nb_buffer spare; /* owned */
    struct level levels[DEPTH];
    size_t depth;
    bool is_changed;
};

static enum direction script_of(uint32_t character)
{
    switch (utf8proc_get_property((utf8proc_int32_t)character)->bidi_class) {
    case UTF8PROC_BIDI_CLASS_L:
        return LEFT;
    case UTF8PROC_BIDI_CLASS_R:
    case UTF8PROC_BIDI_CLASS_AL:
        return RIGHT;
    default:
        return UNKNOWN;
    }
}

/* Whether a character stays with the one before it. */
static bool is_extending(uint32_t character)
{
    enum nb_kind kind = nb_packed_kind(nb_character(character));
    return kind == NB_KIND_MARK || kind == NB_KIND_IGNORED ||
           character_class(character) == NB_CLASS_EXTEND;
}

/* Reverses the characters from `start` on and keeps marks behind their letters. */
static int turn(struct writer *w, size_t start)
{
    size_t length = w->out->length - start;
    w->spare.length = 0;
    if (length == 0)
        return 0;
    if (nb_buffer_reserve(&w->spare, length) != 0)
        return NB_NO_MEMORY;
    const unsigned char *at = (const unsigned char *)w->out->bytes + start;
    const unsigned char *end = at + length;
    size_t rest = length;
    while (at < end) {
        const unsigned char *from = at, *next = at;
        (void)nb_utf8_decode(&next, end);
        do
            at = next;
        while (at < end && is_extending(nb_utf8_decode(&next, end)));
        rest -= (size_t)(at - from);
        memcpy(w->spare.bytes + rest, from, (size_t)(at - from));
    }
    memcpy(w->out->bytes + start, w->spare.bytes, length);
    w->is_changed = true;
    return 0;
}

static void push(struct writer *w, enum direction direction)
{
    if (w->depth < DEPTH)
        w->levels[w->depth++] = (struct level){w->out->length, direction, UNKNOWN};
}

/* Ends the innermost level and puts its content in the order of the level around it. */
static int pop(struct writer *w)
{
    if (w->depth == 0)
        return 0;
    struct level level = w->levels[--w->depth];
    enum direction outer = w->depth > 0 ? w->levels[w->depth - 1].direction : UNKNOWN;
    enum direction script = level.script != UNKNOWN ? level.script : LEFT;
    if (w->depth > 0 && w->levels[w->depth - 1].script == UNKNOWN)
        w->levels[w->depth - 1].script = level.script;
    enum direction inner = level.direction != UNKNOWN ? level.direction : script;
    return inner != (outer != UNKNOWN ? outer : script) ? turn(w, level.start) : 0;
}

static int put(struct writer *w, uint32_t character, const unsigned char *from, size_t length)
{
    if (character == OVERRIDE_LEFT || character == OVERRIDE_RIGHT) {
        push(w, character == OVERRIDE_LEFT ? LEFT : RIGHT);
    } else if (character == EMBED_LEFT || character == EMBED_RIGHT ||
               (character >= ISOLATE && character <= FIRST_ISOLATE)) {
        push(w, UNKNOWN);
    } else if (character == POP || character == POP_ISOLATE) {
        return pop(w);
    } else {
        if (w->depth > 0 && w->levels[w->depth - 1].script == UNKNOWN)
            w->levels[w->depth - 1].script = script_of(character);
        return nb_buffer_append(w->out, from, length);
    }
    return 0;
}

static bool is_override(const unsigned char *at)
{
    return at[1] == 0x80 && (at[2] == 0xAD || at[2] == 0xAE);
}

/* Returns the next override at or after `at`; NULL if there is none. */
static const unsigned char *find(const unsigned char *at, const unsigned char *end)
{
    while (end - at >= 3 && (at = memchr(at, 0xE2, (size_t)(end - at) - 2)) != NULL) {
        if (is_override(at))
            return at;
        at++;
    }
    return NULL;
}

/* Appends one stretch: from `at` to the white space after the end of the overrides, or to the end
 * of the line. Moves *at there. */
static int stretch(struct writer *w, const unsigned char **at, const unsigned char *end)
{
    size_t start = w->out->length;
    bool was_inside = false;
    int rc = 0;
    w->is_changed = false;
    while (rc == 0 && *at < end) {
        const unsigned char *from = *at;
        uint32_t character = nb_utf8_decode(at, end);
        if (character == '\n' || character == PARAGRAPH ||
            (was_inside && w->depth == 0 && character <= ' '))
            break;
        rc = put(w, character, from, (size_t)(*at - from));
        was_inside = was_inside || w->depth > 0;
    }
    while (rc == 0 && w->depth > 0)
        rc = pop(w);
    if (rc != 0 || w->is_changed)
        return rc != 0 ? rc : nb_buffer_append(w->out, "\n", 1);
    w->out->length = start; /* drop a stretch that is shown in the order of its bytes */
    return 0;
}

int nb_override_shown(const char *text, size_t length, struct nb_buffer *out)
{
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    struct writer w = {.out = out};
    int rc = 0;
    while (rc == 0) {
        const unsigned char *found = find(at, end);
        if (found == NULL)
            break;
        while (found > at && found[-1] > ' ')
            found--;
        at = found;
        rc = stretch(&w, &at, end);
    }
    nb_buffer_deinit(&w.spare);
    return rc;
}
