/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_length.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/number.h"
#include "core/base/string.h"
#include "tokenizer/html.h"

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

/* The size of each unit in thousandths of a pixel, or of the font size. */
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
    if (length.is_relative) /* 1 % is 10 thousandths of the font size, but 10 pixels of the box */
        size *= is_percent ? 1000 : ROOT_FONT;
    int64_t most = NB_HTML_NUMBER_MOST;
    *thousandths = (int32_t)(size > most ? most : size < -most ? -most : size);
    return true;
}

/* A colour cannot be told from its background if every channel differs by at most COLOR_TOLERANCE.
 */
enum { COLOR_TOLERANCE = 12, CLEAR_ALPHA = 100 /* thousandths; a smaller alpha is invisible */ };

/* The 16 names of HTML 4 (section 6.5), and names of colours near white, which hide text. */
static const struct {
    const char *name;
    int color;
} color_names[] = {{"white", 0xffffff},      {"black", 0x000000},      {"red", 0xff0000},
                   {"green", 0x008000},      {"blue", 0x0000ff},       {"yellow", 0xffff00},
                   {"gray", 0x808080},       {"grey", 0x808080},       {"silver", 0xc0c0c0},
                   {"maroon", 0x800000},     {"olive", 0x808000},      {"lime", 0x00ff00},
                   {"aqua", 0x00ffff},       {"cyan", 0x00ffff},       {"teal", 0x008080},
                   {"navy", 0x000080},       {"fuchsia", 0xff00ff},    {"magenta", 0xff00ff},
                   {"purple", 0x800080},     {"orange", 0xffa500},     {"snow", 0xfffafa},
                   {"ivory", 0xfffff0},      {"whitesmoke", 0xf5f5f5}, {"ghostwhite", 0xf8f8ff},
                   {"floralwhite", 0xfffaf0}};

/* Combines a colour with an alpha, in thousandths. */
static int with_alpha(int color, int32_t alpha)
{
    return alpha < CLEAR_ALPHA ? NB_COLOR_CLEAR : alpha < 1000 ? NB_COLOR_UNKNOWN : color;
}

/* Reads three or six hexadecimal digits; four or eight with an alpha. */
static int read_hexadecimal(struct nb_string s)
{
    bool is_short = s.length == 3 || s.length == 4;
    size_t digits = is_short ? 3 : 6;
    int color = 0;
    int alpha = 0;
    if (!is_short && s.length != 6 && s.length != 8)
        return NB_COLOR_UNKNOWN;
    for (size_t i = 0; i < s.length; i++) {
        int digit = nb_hex_digit(s.bytes[i]);
        if (digit < 0)
            return NB_COLOR_UNKNOWN;
        int *number = i < digits ? &color : &alpha;
        *number = is_short ? *number << 8 | digit << 4 | digit : *number << 4 | digit;
    }
    return s.length == digits ? color : with_alpha(color, alpha * 1000 / 0xff);
}

/* Whether a percent sign follows; removes it. */
static bool take_percent(struct nb_string *s)
{
    bool is_there = s->length > 0 && s->bytes[0] == '%';
    *s = nb_string_from(*s, is_there);
    return is_there;
}

/* Reads the inside of rgb(...): three numbers, and an alpha behind a comma or slash. */
static int read_rgb(struct nb_string s)
{
    int color = 0;
    int32_t number;
    for (int i = 0; i < 3; i++) {
        s = nb_string_trim_start(s, " \t\r\n,");
        if (!nb_html_number(&s, &number))
            return NB_COLOR_UNKNOWN;
        int channel = number / 1000;
        channel = take_percent(&s) ? channel * 255 / 100 : channel;
        color = color << 8 | (channel < 0 ? 0 : channel < 255 ? channel : 255);
    }
    s = nb_string_trim_start(s, " \t\r\n,/");
    if (!nb_html_number(&s, &number))
        return color;
    return with_alpha(color, take_percent(&s) ? number / 100 : number);
}

/* Reads the inside of hsla(...): only its fourth number, the alpha, matters. */
static int read_hsl(struct nb_string s)
{
    int32_t number = 0;
    for (int i = 0; i < 4; i++) {
        s = nb_string_trim_start(s, " \t\r\n,/");
        if (!nb_html_number(&s, &number))
            return NB_COLOR_UNKNOWN;
        while (s.length > 0 && !nb_string_is_one_of(s.bytes[0], " \t\r\n,/"))
            s = nb_string_from(s, 1);
    }
    return number < CLEAR_ALPHA ? NB_COLOR_CLEAR : NB_COLOR_UNKNOWN;
}

int nb_html_color(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length > 0 && s.bytes[0] == '#')
        return read_hexadecimal(nb_string_from(s, 1));
    bool is_rgb = nb_string_starts_nocase(s, "rgb"), is_hsl = nb_string_starts_nocase(s, "hsl");
    if (is_rgb || is_hsl) {
        nb_html_take(&s, '(');
        return is_rgb ? read_rgb(s) : read_hsl(s);
    }
    if (nb_string_equals_nocase(s, "transparent"))
        return NB_COLOR_CLEAR;
    for (size_t i = 0; i < sizeof color_names / sizeof *color_names; i++) {
        if (nb_string_equals_nocase(s, color_names[i].name))
            return color_names[i].color;
    }
    return s.length == 3 || s.length == 6 ? read_hexadecimal(s) : NB_COLOR_UNKNOWN; /* bgcolor */
}

int nb_html_background(struct nb_string s)
{
    s = nb_string_trim(s);
    int color = nb_html_color(s);
    while (color == NB_COLOR_UNKNOWN && s.length > 0) {
        struct nb_string word = nb_html_take(&s, ' ');
        if (nb_string_starts_nocase(word, "url("))
            return NB_COLOR_UNKNOWN;
        color = nb_html_color(word);
    }
    return color;
}

static int channel_difference(int a, int b, int shift)
{
    return abs((a >> shift & 0xff) - (b >> shift & 0xff));
}

bool nb_html_color_is_lost(int color, int background)
{
    if (color < 0 || background < 0)
        return false;
    for (int shift = 0; shift <= 16; shift += 8) {
        if (channel_difference(color, background, shift) > COLOR_TOLERANCE)
            return false;
    }
    return true;
}
