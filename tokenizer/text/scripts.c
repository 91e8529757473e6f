/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/scripts.h"

#include <string.h>

#include "tokenizer/text/utf8_decode.h"

/* Small letters of Cyrillic and Greek that a reader takes for Latin ones at a glance: a choice from
 * confusables.txt of UTS #39. */
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

/* Small letters of Cyrillic and Greek that nobody takes for Latin ones, and the micro sign, which
 * is folded to a Greek letter. They stand beside Latin letters in honest words ("SMSку", "5 µg"),
 * and where Latin text is read in a Cyrillic charset. */
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

static uint32_t plain_of(uint32_t character)
{
    for (size_t i = 0; i < sizeof LOOKALIKES / sizeof *LOOKALIKES; i++)
        if (LOOKALIKES[i].character == character)
            return (unsigned char)LOOKALIKES[i].latin;
    return character;
}

bool nb_scripts_mixed(const unsigned char *word, size_t length, unsigned char *plain,
                      size_t *plain_length)
{
    const unsigned char *at = word;
    bool latin = false;
    bool other = false;
    *plain_length = 0;
    while (at < word + length) {
        uint32_t c = nb_utf8_decode(&at, word + length);
        latin = latin || (c >= 'a' && c <= 'z') || (c >= 0xDF && c <= 0x24F && c != 0xF7);
        other = other || (c >= 0x370 && c <= 0x3FF) || (c >= 0x400 && c <= 0x52F);
        *plain_length += nb_utf8_encode(plain_of(c), plain + *plain_length);
    }
    return latin && other && !has_foreign(word, length);
}

/* As memmem, for a character of three bytes of which the first is rare in most texts. */
static const char *find_character(const char *text, size_t length, const char *character)
{
    const char *end = text + length;
    const char *at = text;
    while (end - at >= 3 && (at = memchr(at, character[0], (size_t)(end - at) - 2)) != NULL) {
        if (at[1] == character[1] && at[2] == character[2])
            return at;
        at++;
    }
    return NULL;
}

bool nb_scripts_zero_width(const char *text, size_t length)
{
    static const char *const characters[] = {"\xE2\x80\x8B", "\xE2\x81\xA0", "\xEF\xBB\xBF"};
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        const char *found = find_character(text, length, characters[i]);
        if (found == text && i == 2)
            found = find_character(text + 3, length - 3, characters[i]);
        if (found != NULL)
            return true;
    }
    return false;
}
