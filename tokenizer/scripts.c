/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/scripts.h"

#include <stdint.h>
#include <string.h>

#include "core/base/string.h"
#include "tokenizer/character.h"

/* Small letters of Cyrillic and Greek that a reader takes for Latin ones at a glance: a selection
 * from confusables.txt of UTS #39. */
static const struct {
    uint16_t character;
    char latin;
} LOOKALIKES[] = {
    {0x03B1, 'a'}, {0x03B3, 'y'}, {0x03B9, 'i'}, {0x03BA, 'k'}, {0x03BD, 'v'}, {0x03BF, 'o'},
    {0x03C1, 'p'}, {0x03C3, 'o'}, {0x03C5, 'u'}, {0x03C7, 'x'}, {0x0430, 'a'}, {0x0433, 'r'},
    {0x0435, 'e'}, {0x043A, 'k'}, {0x043C, 'm'}, {0x043D, 'h'}, {0x043E, 'o'}, {0x043F, 'n'},
    {0x0440, 'p'}, {0x0441, 'c'}, {0x0442, 't'}, {0x0443, 'y'}, {0x0445, 'x'}, {0x0455, 's'},
    {0x0456, 'i'}, {0x0458, 'j'}, {0x0475, 'v'}, {0x04BB, 'h'}, {0x04CF, 'l'}, {0x0501, 'd'},
    {0x051B, 'q'}, {0x051D, 'w'},
};

/* Small letters of Cyrillic and Greek that no reader takes for Latin ones, and the micro sign,
 * which is folded to a Greek letter. They occur next to Latin letters in honest words ("SMSку", "5
 * µg"), and in Latin text that was read in a Cyrillic charset. */
static const uint16_t FOREIGN[] = {
    0x03B4, 0x03B8, 0x03BB, 0x03BC, 0x03BE, 0x03C0, 0x03C6, 0x03C8, 0x0431, 0x0434, 0x0436, 0x0438,
    0x0439, 0x043B, 0x0444, 0x0446, 0x0447, 0x0448, 0x0449, 0x044A, 0x044B, 0x044C, 0x044D, 0x044E,
    0x044F, 0x0452, 0x0453, 0x0454, 0x0457, 0x0459, 0x045A, 0x045B, 0x045C, 0x045E, 0x045F,
};

static bool has_foreign(const unsigned char *word, size_t length)
{
    bool has = false;
    for (const unsigned char *at = word, *end = word + length; at < end;) {
        uint32_t c = nb_utf8_decode(&at, end);
        for (size_t i = 0; i < sizeof FOREIGN / sizeof *FOREIGN; i++)
            has = has || FOREIGN[i] == c;
    }
    return has;
}

/* Small letters that look like others: small capitals of the phonetic alphabet, and letters with a
 * stroke. Those that are no `sign` are also used in real languages, and count only in a word that
 * has a `sign`. Sorted. */
static const struct {
    uint16_t character;
    char latin;
    unsigned char dress;
    bool is_sign;
} DRESSED[] = {
    {0x0111, 'd', NB_DRESS_STRUCK, false},   {0x0127, 'h', NB_DRESS_STRUCK, false},
    {0x0142, 'l', NB_DRESS_STRUCK, false},   {0x0167, 't', NB_DRESS_STRUCK, false},
    {0x0180, 'b', NB_DRESS_STRUCK, true},    {0x019A, 'l', NB_DRESS_STRUCK, true},
    {0x01B6, 'z', NB_DRESS_STRUCK, true},    {0x01E5, 'g', NB_DRESS_STRUCK, true},
    {0x01EB, 'q', NB_DRESS_CAPITALS, false}, {0x023C, 'c', NB_DRESS_STRUCK, true},
    {0x0247, 'e', NB_DRESS_STRUCK, true},    {0x0249, 'j', NB_DRESS_STRUCK, true},
    {0x024D, 'r', NB_DRESS_STRUCK, true},    {0x024F, 'y', NB_DRESS_STRUCK, true},
    {0x0262, 'g', NB_DRESS_CAPITALS, true},  {0x0268, 'i', NB_DRESS_STRUCK, true},
    {0x026A, 'i', NB_DRESS_CAPITALS, true},  {0x0274, 'n', NB_DRESS_CAPITALS, true},
    {0x0280, 'r', NB_DRESS_CAPITALS, true},  {0x0289, 'u', NB_DRESS_STRUCK, true},
    {0x028F, 'y', NB_DRESS_CAPITALS, true},  {0x0299, 'b', NB_DRESS_CAPITALS, true},
    {0x029C, 'h', NB_DRESS_CAPITALS, true},  {0x029F, 'l', NB_DRESS_CAPITALS, true},
    {0x1D00, 'a', NB_DRESS_CAPITALS, true},  {0x1D04, 'c', NB_DRESS_CAPITALS, true},
    {0x1D05, 'd', NB_DRESS_CAPITALS, true},  {0x1D07, 'e', NB_DRESS_CAPITALS, true},
    {0x1D0A, 'j', NB_DRESS_CAPITALS, true},  {0x1D0B, 'k', NB_DRESS_CAPITALS, true},
    {0x1D0D, 'm', NB_DRESS_CAPITALS, true},  {0x1D0F, 'o', NB_DRESS_CAPITALS, true},
    {0x1D18, 'p', NB_DRESS_CAPITALS, true},  {0x1D1B, 't', NB_DRESS_CAPITALS, true},
    {0x1D1C, 'u', NB_DRESS_CAPITALS, true},  {0x1D20, 'v', NB_DRESS_CAPITALS, true},
    {0x1D21, 'w', NB_DRESS_CAPITALS, true},  {0x1D22, 'z', NB_DRESS_CAPITALS, true},
    {0x1D7D, 'p', NB_DRESS_STRUCK, true},    {0x2C65, 'a', NB_DRESS_STRUCK, true},
    {0x2C66, 't', NB_DRESS_STRUCK, true},    {0xA730, 'f', NB_DRESS_CAPITALS, true},
    {0xA731, 's', NB_DRESS_CAPITALS, true},  {0xA741, 'k', NB_DRESS_STRUCK, true},
    {0xA751, 'p', NB_DRESS_STRUCK, true},    {0xA7AF, 'q', NB_DRESS_CAPITALS, true},
};

enum { DRESSED_COUNT = sizeof DRESSED / sizeof *DRESSED };

struct range {
    uint16_t first, last;
    unsigned char dress;
};

/* Sorted. */
static const struct range ADDED[] = {
    {0x0305, 0x0305, NB_DRESS_STRUCK}, /* overline */
    {0x0332, 0x0338, NB_DRESS_STRUCK}, /* lines under and through a letter */
    {0x033F, 0x033F, NB_DRESS_STRUCK}, /* two overlines */
    {0x0591, 0x05BD, NB_DRESS_SIGNS},  /* Hebrew accents and points */
    {0x05BF, 0x05BF, NB_DRESS_SIGNS},
    {0x05C1, 0x05C2, NB_DRESS_SIGNS},
    {0x05C4, 0x05C5, NB_DRESS_SIGNS},
    {0x05C7, 0x05C7, NB_DRESS_SIGNS},
    {0x0610, 0x061A, NB_DRESS_SIGNS}, /* Arabic marks; tatweel; vowel marks */
    {0x0640, 0x0640, NB_DRESS_SIGNS},
    {0x064B, 0x065F, NB_DRESS_SIGNS},
    {0x0670, 0x0670, NB_DRESS_SIGNS},
    {0x06D6, 0x06DC, NB_DRESS_SIGNS},
    {0x06DF, 0x06E4, NB_DRESS_SIGNS},
    {0x06E7, 0x06E8, NB_DRESS_SIGNS},
    {0x06EA, 0x06ED, NB_DRESS_SIGNS},
    {0x08D3, 0x08E1, NB_DRESS_SIGNS},
    {0x08E3, 0x08FF, NB_DRESS_SIGNS},
    {0x20D2, 0x20D3, NB_DRESS_STRUCK}, /* bars; not the key around a digit, U+20E3 */
    {0x20D8, 0x20DA, NB_DRESS_STRUCK},
    {0x20DD, 0x20E0, NB_DRESS_STRUCK},
    {0x20E2, 0x20E2, NB_DRESS_STRUCK},
    {0x20E4, 0x20E6, NB_DRESS_STRUCK},
    {0x20EA, 0x20EB, NB_DRESS_STRUCK},
};

static bool is_between(uint32_t character, uint32_t first, uint32_t last)
{
    return character >= first && character <= last;
}

unsigned nb_scripts_added(uint32_t character, uint32_t base)
{
    size_t low = 0;
    size_t high = sizeof ADDED / sizeof *ADDED;
    if (character > ADDED[high - 1].last)
        return 0;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (character > ADDED[middle].last)
            low = middle + 1;
        else if (character < ADDED[middle].first)
            high = middle;
        else
            return ADDED[middle].dress;
    }
    return base < 0x80 && is_between(character, 0x300, 0x36F) ? NB_DRESS_SIGNS : 0;
}

/* Returns the index of a character in DRESSED; DRESSED_COUNT if it is not there. */
static size_t find_dressed(uint32_t character)
{
    size_t low = 0;
    size_t high = DRESSED_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (DRESSED[middle].character < character)
            low = middle + 1;
        else
            high = middle;
    }
    return low < DRESSED_COUNT && DRESSED[low].character == character ? low : DRESSED_COUNT;
}

/* Whether DRESSED may have the character: a quick test, because most words have no such letters. */
static bool may_be_dressed(uint32_t c)
{
    return is_between(c, 0x180, 0x2AF) || is_between(c, 0x1D00, 0x1D7F) ||
           is_between(c, 0x2C65, 0x2C66) || is_between(c, 0xA730, 0xA7AF);
}

/* Returns the disguises of the letters of a word. */
static unsigned dress_of(const unsigned char *word, size_t length)
{
    const unsigned char *at = word;
    bool latin = false;
    bool other = false;
    unsigned dress = 0;
    while (at < word + length) {
        uint32_t c = nb_utf8_decode(&at, word + length);
        latin = latin || is_between(c, 'a', 'z') || (is_between(c, 0xDF, 0x24F) && c != 0xF7);
        other = other || is_between(c, 0x370, 0x52F);
        if (!may_be_dressed(c))
            continue;
        size_t found = find_dressed(c);
        dress |= found < DRESSED_COUNT && DRESSED[found].is_sign ? DRESSED[found].dress : 0;
    }
    latin = latin || dress != 0;
    return latin && other && !has_foreign(word, length) ? dress | NB_DRESS_MIXED : dress;
}

/* Returns the letter that a character looks like in a word with these disguises. */
static uint32_t plain_of(uint32_t character, unsigned dress)
{
    for (size_t i = 0; (dress & NB_DRESS_MIXED) != 0 && i < sizeof LOOKALIKES / sizeof *LOOKALIKES;
         i++)
        if (LOOKALIKES[i].character == character)
            return (unsigned char)LOOKALIKES[i].latin;
    size_t found = find_dressed(character);
    return found < DRESSED_COUNT && (DRESSED[found].dress & dress) != 0
               ? (unsigned char)DRESSED[found].latin
               : character;
}

unsigned nb_scripts_plain(const unsigned char *word, size_t length, unsigned char *plain,
                          size_t *plain_length)
{
    unsigned dress = dress_of(word, length);
    const unsigned char *at = word;
    *plain_length = 0;
    while (dress != 0 && at < word + length) {
        uint32_t c = nb_utf8_decode(&at, word + length);
        *plain_length += nb_utf8_encode(plain_of(c, dress), plain + *plain_length);
    }
    return dress;
}

/* Returns the kind (enum nb_unseen) of the three-byte character at `at`, whose first byte is E2. */
static unsigned unseen_of(const char *at)
{
    if (at[1] == '\x80')
        return at[2] == '\x8B'                      ? NB_UNSEEN_SPLITS
               : at[2] == '\xAD' || at[2] == '\xAE' ? NB_UNSEEN_OVERRIDES
                                                    : 0;
    return at[1] == '\x81' && at[2] == '\xA0' ? NB_UNSEEN_SPLITS : 0;
}

/* Like memmem for a byte order mark, whose first byte is rare in most texts. */
static bool has_mark(const char *at, const char *end)
{
    while (end - at >= 3 && (at = memchr(at, 0xEF, (size_t)(end - at) - 2)) != NULL) {
        if (at[1] == '\xBB' && at[2] == '\xBF')
            return true;
        at++;
    }
    return false;
}

unsigned nb_scripts_unseen(const char *text, size_t length)
{
    const char *end = text + length;
    const char *at = text;
    bool begins = length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;
    unsigned unseen = has_mark(begins ? text + 3 : text, end) ? NB_UNSEEN_SPLITS : 0;
    while (end - at >= 3 && (at = memchr(at, 0xE2, (size_t)(end - at) - 2)) != NULL) {
        unseen |= unseen_of(at);
        at++;
    }
    return unseen;
}

enum { CHARACTERS_FOR_A_FAULT = 8 };

/* Returns eight bytes, each with its highest bit set if the byte is not ASCII or is an escape.
 * Subtracting 1 from a zero sets that bit, and an escape was turned into zero before. */
static uint64_t faults_of(const char *at)
{
    const uint64_t each = UINT64_C(0x0101010101010101), escape = 0x1b;
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    return (eight | ((eight ^ each * escape) - each)) & each << 7;
}

bool nb_text_is_ascii(struct nb_string text)
{
    enum { EIGHT = 8 };
    uint64_t faults = 0;
    if (text.length < EIGHT) {
        char padded[EIGHT] = {0};
        for (size_t i = 0; i < text.length; i++)
            padded[i] = text.bytes[i];
        return faults_of(padded) == 0;
    }
    for (size_t i = 0; i + EIGHT <= text.length; i += EIGHT) /* compilers vectorize this loop */
        faults |= faults_of(text.bytes + i);
    return (faults | faults_of(text.bytes + text.length - EIGHT)) == 0; /* the last eight bytes */
}

static bool is_fault(const unsigned char *at, size_t length, bool is_replacement_fault)
{
    return length == 0 ||
           (is_replacement_fault && length == 3 && at[0] == 0xEF && at[1] == 0xBF && at[2] == 0xBD);
}

static bool has_few_faults(struct nb_string text, bool is_replacement_fault)
{
    const unsigned char *at = (const unsigned char *)text.bytes;
    const unsigned char *end = at + text.length;
    size_t faults = 0, characters = 0;
    while ((at = nb_utf8_ascii_end(at, end)) < end) {
        size_t length = nb_utf8_sequence(at, end);
        if (is_fault(at, length, is_replacement_fault))
            faults++;
        else
            characters++;
        at += length > 0 ? length : 1;
    }
    return faults <= characters / CHARACTERS_FOR_A_FAULT;
}

bool nb_text_is_utf8(struct nb_string text)
{
    return text.length == 0 || has_few_faults(text, false);
}

bool nb_text_is_readable(struct nb_string text)
{
    return text.length == 0 || has_few_faults(text, true);
}
