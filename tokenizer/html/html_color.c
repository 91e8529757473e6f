/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_color.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/hex.h"
#include "tokenizer/html/html_length.h"

/* Up to this difference in every channel a colour cannot be told from its background. */
enum { COLOR_TOLERANCE = 12, CLEAR_ALPHA = 100 /* thousandths: a smaller one is not seen */ };

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

/* Whether a number is followed by a percent sign; takes the sign off. */
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
