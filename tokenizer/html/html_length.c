/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_length.h"

#include <string.h>

#include "core/base/ascii.h"
#include "tokenizer/html/html_scan.h"

enum {
    NUMBER_BYTES = 24,  /* bytes of a number that are read */
    EXPONENT_MOST = 12, /* a larger one makes no difference */
    ROOT_FONT = 16,     /* pixels */
    PERCENT_FONT = 10   /* thousandths of the font size in one percent */
};

struct nb_string nb_html_take(struct nb_string *rest, char separator)
{
    const char *found = rest->length > 0 ? memchr(rest->bytes, separator, rest->length) : NULL;
    size_t length = found != NULL ? (size_t)(found - rest->bytes) : rest->length;
    struct nb_string part = {rest->bytes, length};
    *rest = nb_string_from(*rest, length + (found != NULL));
    return nb_string_trim(part);
}

static bool parts_words(char c)
{
    return nb_html_is_space(c) || c == ',';
}

struct nb_string nb_html_take_word(struct nb_string *rest)
{
    size_t length = 0;
    while (length < rest->length && !parts_words(rest->bytes[length]))
        length++;
    struct nb_string word = {rest->bytes, length};
    while (length < rest->length && parts_words(rest->bytes[length]))
        length++;
    *rest = nb_string_from(*rest, length);
    return word;
}

/* Multiplies `value` by ten to the power of `exponent`. */
static int64_t scale(int64_t value, int exponent)
{
    for (; exponent < 0 && value != 0; exponent++)
        value /= 10;
    for (; exponent > 0 && value <= NB_HTML_NUMBER_MOST; exponent--)
        value *= 10;
    return value <= NB_HTML_NUMBER_MOST ? value : NB_HTML_NUMBER_MOST;
}

static size_t skip_sign(struct nb_string s, size_t i, bool *is_negative)
{
    *is_negative = i < s.length && s.bytes[i] == '-';
    return i + (i < s.length && (s.bytes[i] == '-' || s.bytes[i] == '+'));
}

/* Reads an exponent, "e-3", at i. Returns its end; i if there is none ("em" is a unit). */
static size_t read_exponent(struct nb_string s, size_t i, int *exponent)
{
    bool is_negative;
    if (i >= s.length || (s.bytes[i] | 0x20) != 'e')
        return i;
    size_t at = skip_sign(s, i + 1, &is_negative);
    if (at >= s.length || !nb_ascii_is_digit(s.bytes[at]))
        return i;
    for (; at < s.length && nb_ascii_is_digit(s.bytes[at]); at++)
        *exponent =
            *exponent < EXPONENT_MOST ? *exponent * 10 + (s.bytes[at] - '0') : EXPONENT_MOST;
    *exponent = is_negative ? -*exponent : *exponent;
    return at;
}

bool nb_html_number(struct nb_string *s, int32_t *thousandths)
{
    struct nb_string text = {s->bytes, s->length < NUMBER_BYTES ? s->length : NUMBER_BYTES};
    int64_t value = 0;
    int point = 3; /* digits behind the point that are still kept */
    bool has_point = false, has_digit = false, is_negative;
    size_t i = skip_sign(text, 0, &is_negative);
    for (; i < text.length; i++) {
        char c = text.bytes[i];
        if (c == '.' && !has_point) {
            has_point = true;
        } else if (nb_ascii_is_digit(c)) {
            has_digit = true;
            bool is_kept = (!has_point || point > 0) && value <= NB_HTML_NUMBER_MOST;
            value = is_kept ? value * 10 + (c - '0') : value;
            point -= has_point && is_kept;
        } else {
            break;
        }
    }
    int exponent = 0;
    if (!has_digit)
        return false;
    i = read_exponent(text, i, &exponent);
    value = scale(scale(value, point), exponent);
    *thousandths = (int32_t)(is_negative ? -value : value);
    *s = nb_string_from(*s, i);
    return true;
}

/* Thousandths of a pixel, or of the font size, in one of each unit. */
static const struct {
    const char *name;
    int32_t size;
    bool is_relative;
} UNITS[] = {{"px", 1000, false},
             {"em", 1000, true},
             {"%", PERCENT_FONT, true},
             {"pt", 1333, false},
             {"rem", ROOT_FONT * 1000, false},
             {"ex", 500, true},
             {"ch", 500, true},
             {"vw", 10000, false},
             {"vh", 8000, false},
             {"vmin", 8000, false},
             {"vmax", 10000, false},
             {"in", 96000, false},
             {"cm", 37795, false},
             {"mm", 3780, false},
             {"pc", 16000, false},
             {"q", 945, false}};

/* Returns the unit at the beginning of a text. */
static struct nb_string unit_of(struct nb_string s)
{
    size_t length = s.length > 0 && s.bytes[0] == '%';
    while (length < s.length && nb_ascii_is_letter(s.bytes[length]))
        length++;
    return (struct nb_string){s.bytes, length};
}

bool nb_html_length(struct nb_string s, struct nb_html_length *length)
{
    int32_t number;
    if (nb_string_starts_nocase(s, "calc("))
        s = nb_string_trim(nb_string_from(s, strlen("calc(")));
    if (!nb_html_number(&s, &number))
        return false;
    struct nb_string unit = unit_of(s);
    *length = (struct nb_html_length){0, false};
    for (size_t i = 0; i < sizeof UNITS / sizeof *UNITS; i++) {
        if (!nb_string_equals_nocase(unit, UNITS[i].name))
            continue;
        int64_t size = (int64_t)number * UNITS[i].size / 1000;
        int64_t most = NB_HTML_NUMBER_MOST;
        length->number = (int32_t)(size > most ? most : size < -most ? -most : size);
        length->is_relative = UNITS[i].is_relative;
        return true;
    }
    return number == 0;
}

bool nb_html_pixels(struct nb_string s, int32_t *thousandths)
{
    struct nb_html_length length;
    if (!nb_html_length(s, &length))
        return false;
    bool is_percent = memchr(s.bytes, '%', s.length) != NULL;
    int64_t size = length.number;
    if (length.is_relative) /* a percent is 10 thousandths of a font, and 10 pixels of a box */
        size *= is_percent ? 1000 : ROOT_FONT;
    int64_t most = NB_HTML_NUMBER_MOST;
    *thousandths = (int32_t)(size > most ? most : size < -most ? -most : size);
    return true;
}
