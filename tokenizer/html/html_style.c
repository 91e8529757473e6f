/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_style.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/hex.h"

/* Up to this difference in every channel a colour cannot be told from its background. */
enum { COLOR_TOLERANCE = 12 };

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

struct nb_html_style nb_html_style_default(void)
{
    return (struct nb_html_style){.color = 0x000000, .background = 0xffffff};
}

/* Takes the part before the first `separator`, and the separator, off `rest`; returns the part,
 * trimmed. */
static struct nb_string take(struct nb_string *rest, char separator)
{
    const char *found = rest->length > 0 ? memchr(rest->bytes, separator, rest->length) : NULL;
    size_t length = found != NULL ? (size_t)(found - rest->bytes) : rest->length;
    struct nb_string part = {rest->bytes, length};
    size_t skip = length + (found != NULL);
    rest->bytes = rest->length > 0 ? rest->bytes + skip : rest->bytes;
    rest->length -= skip;
    return nb_string_trim(part);
}

/* Three or six hexadecimal digits. */
static int read_hexadecimal(struct nb_string s)
{
    int color = 0;
    if (s.length != 3 && s.length != 6)
        return NB_COLOR_UNKNOWN;
    for (size_t i = 0; i < s.length; i++) {
        int digit = nb_hex_digit(s.bytes[i]);
        if (digit < 0)
            return NB_COLOR_UNKNOWN;
        color = s.length == 3 ? color << 8 | digit << 4 | digit : color << 4 | digit;
    }
    return color;
}

/* The number at the beginning of `s`, in thousandths; -1 if there is none. Own code: it is bounded
 * and depends on no locale. */
static long read_thousandths(struct nb_string s)
{
    long value = 0;
    long scale = 1000;
    bool point = false;
    bool any = false;
    for (size_t i = 0; i < s.length && i < 12; i++) {
        char c = s.bytes[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        any = true;
        scale = point ? scale / 10 : scale;
        value = point ? value + (c - '0') * scale : value * 10 + (c - '0') * 1000L;
        if (value > 1000000000)
            break;
    }
    return any ? value : -1;
}

/* The inside of rgb(...): three numbers. */
static int read_rgb(struct nb_string s)
{
    int color = 0;
    for (int i = 0; i < 3; i++) {
        long channel = read_thousandths(take(&s, ',')) / 1000;
        if (channel < 0)
            return NB_COLOR_UNKNOWN;
        color = color << 8 | (int)(channel < 255 ? channel : 255);
    }
    return color;
}

static int read_color(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length > 0 && s.bytes[0] == '#')
        return read_hexadecimal((struct nb_string){s.bytes + 1, s.length - 1});
    if (nb_string_starts_nocase(s, "rgb(")) { /* not rgba(), which lets the background through */
        take(&s, '(');
        return read_rgb(s);
    }
    for (size_t i = 0; i < sizeof color_names / sizeof *color_names; i++) {
        if (nb_string_equals_nocase(s, color_names[i].name))
            return color_names[i].color;
    }
    return read_hexadecimal(s); /* bgcolor=ffffff */
}

/* The colour in the shorthand `background`: the first word that is one. Unknown with a picture. */
static int read_background(struct nb_string s)
{
    s = nb_string_trim(s);
    int color = read_color(s);
    while (color == NB_COLOR_UNKNOWN && s.length > 0) {
        struct nb_string word = take(&s, ' ');
        if (nb_string_starts_nocase(word, "url("))
            return NB_COLOR_UNKNOWN;
        color = read_color(word);
    }
    return color;
}

/* Whether text of this size cannot be read: at most 1 pixel or point, or 0 of any unit. A size
 * relative to the element around it can be read if that one can; `tiny` tells that it cannot. */
static bool is_tiny(struct nb_string size, bool tiny)
{
    long number = read_thousandths(size);
    if (number <= 0 || size.length == 0)
        return number == 0;
    char unit = (char)(size.bytes[size.length - 1] | 0x20);
    if (unit == 'm' || size.bytes[size.length - 1] == '%') /* em, rem; mm and cm are not in use */
        return tiny;
    return number <= 1000 && (unit == 'x' || unit == 't'); /* px, pt */
}

/* What hides an element itself, whatever is around it: of each property the last declaration is in
 * force. */
struct hiding {
    bool is_none, is_clear, is_transparent;
};

static void apply_declaration(struct nb_html_style *style, struct hiding *own,
                              struct nb_string property, struct nb_string value)
{
    if (nb_string_equals_nocase(property, "display"))
        own->is_none = nb_string_starts_nocase(value, "none");
    else if (nb_string_equals_nocase(property, "visibility"))
        style->invisible = !nb_string_starts_nocase(value, "visible");
    else if (nb_string_equals_nocase(property, "opacity"))
        own->is_clear = read_thousandths(value) == 0;
    else if (nb_string_equals_nocase(property, "font-size"))
        style->tiny = is_tiny(value, style->tiny);
    else if (nb_string_equals_nocase(property, "color")) {
        own->is_transparent = nb_string_starts_nocase(value, "transparent");
        style->color = own->is_transparent ? style->color : read_color(value);
    } else if (nb_string_equals_nocase(property, "background-color") ||
               nb_string_equals_nocase(property, "background"))
        style->background =
            nb_string_starts_nocase(value, "transparent") || nb_string_starts_nocase(value, "none")
                ? style->background
                : read_background(value);
    else if (nb_string_equals_nocase(property, "background-image"))
        style->background = NB_COLOR_UNKNOWN;
}

static void apply_declarations(struct nb_html_style *style, struct nb_string css)
{
    struct hiding own = {false, false, false};
    while (css.length > 0) {
        struct nb_string value = take(&css, ';');
        struct nb_string property = take(&value, ':');
        apply_declaration(style, &own, property, take(&value, '!')); /* without !important */
    }
    style->hidden |= own.is_none || own.is_clear || own.is_transparent;
}

bool nb_html_style_apply(struct nb_html_style *style, const struct nb_html_token *start_tag)
{
    struct nb_html_attributes attributes = nb_html_attributes_of(start_tag);
    struct nb_html_attribute attribute;
    struct nb_string css = {NULL, 0};
    bool any = false;
    while (nb_html_attribute(&attributes, &attribute)) {
        struct nb_string name = attribute.name, value = attribute.value;
        bool concerns = true;
        if (nb_string_equals_nocase(name, "style"))
            css = css.bytes == NULL ? value : css; /* of two attributes the first counts */
        else if (nb_string_equals_nocase(name, "bgcolor"))
            style->background = read_color(value);
        else if (nb_string_equals_nocase(name, "background"))
            style->background = NB_COLOR_UNKNOWN;
        else if (nb_string_equals_nocase(name, "color") || nb_string_equals_nocase(name, "text"))
            style->color = read_color(value);
        else if (nb_string_equals_nocase(name, "hidden"))
            style->hidden = true;
        else
            concerns = false;
        any |= concerns;
    }
    apply_declarations(style, css); /* last: the attribute style overrides the older ones */
    return any;
}

static int channel_difference(int a, int b, int shift)
{
    return abs((a >> shift & 0xff) - (b >> shift & 0xff));
}

bool nb_html_style_visible(const struct nb_html_style *style)
{
    if (style->hidden || style->invisible || style->tiny)
        return false;
    if (style->color == NB_COLOR_UNKNOWN || style->background == NB_COLOR_UNKNOWN)
        return true;
    for (int shift = 0; shift <= 16; shift += 8) {
        if (channel_difference(style->color, style->background, shift) > COLOR_TOLERANCE)
            return true;
    }
    return false;
}
