/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_declared.h"

#include <string.h>

#include "core/base/string.h"
#include "tokenizer/html_length.h"

/* Limits in thousandths; for lengths in thousandths of a pixel. */
enum {
    CLEAR_OPACITY = 100,
    FLAT = 1000,           /* an element of at most this height or width shows no text */
    OUTSIDE = -900 * 1000, /* outside of any page, like -9999px and -999em */
    OUTSIDE_MARGIN = -2000 * 1000,
    HALF = 500 * 1000, /* 50 % of a box, as nb_html_pixels reads it */
    SIDES = 4
};

static bool is_word(struct nb_string value, const char *word)
{
    return nb_string_starts_nocase(value, word);
}

static void set(struct nb_html_declared *d, enum nb_html_property property, bool hides)
{
    uint32_t bit = nb_html_bit(property);
    d->set |= bit;
    d->hides = hides ? d->hides | bit : d->hides & ~bit;
}

/* Whether a number or percentage, such as an opacity, is almost zero. */
static bool is_nothing(struct nb_string value)
{
    int32_t number;
    if (!nb_html_number(&value, &number))
        return false;
    number = number < 0 ? -number : number;
    return value.length > 0 && value.bytes[0] == '%' ? number < 100 * CLEAR_OPACITY
                                                     : number < CLEAR_OPACITY;
}

static bool is_opacity_low(struct nb_string value)
{
    return is_nothing(value) || (value.length > 0 && value.bytes[0] == '-');
}

static bool is_flat(struct nb_string value)
{
    int32_t size;
    return nb_html_pixels(value, &size) && size >= 0 && size <= FLAT;
}

static bool is_at_most(struct nb_string value, int32_t bound)
{
    int32_t size;
    return nb_html_pixels(value, &size) && size <= bound;
}

static bool is_outside(struct nb_string value)
{
    return is_at_most(value, OUTSIDE);
}

static bool is_margin_outside(struct nb_string value)
{
    return is_at_most(value, OUTSIDE_MARGIN);
}

/* Whether rect(top, right, bottom, left) has no height or no width. */
static bool is_clipped(struct nb_string value)
{
    int32_t sides[SIDES];
    bool is_known[SIDES];
    if (!is_word(value, "rect("))
        return false;
    nb_html_take(&value, '(');
    value = nb_string_trim_start(value, " \t\r\n");
    for (int i = 0; i < SIDES; i++)
        is_known[i] = nb_html_pixels(nb_html_take_word(&value), &sides[i]);
    return (is_known[0] && is_known[2] && sides[2] - (int64_t)sides[0] <= FLAT) ||
           (is_known[1] && is_known[3] && sides[1] - (int64_t)sides[3] <= FLAT);
}

static bool has_digit_but_0(struct nb_string value)
{
    for (size_t i = 0; i < value.length; i++) {
        if (value.bytes[i] >= '1' && value.bytes[i] <= '9')
            return true;
    }
    return false;
}

/* Whether a shape is empty: inset(50%), circle(0), polygon(0 0, 0 0). */
static bool is_shape_empty(struct nb_string value)
{
    int32_t size;
    if (is_word(value, "inset(")) {
        nb_html_take(&value, '(');
        return nb_html_pixels(nb_html_take_word(&value), &size) && size >= HALF;
    }
    bool is_shape =
        is_word(value, "circle(") || is_word(value, "ellipse(") || is_word(value, "polygon(");
    nb_html_take(&value, '(');
    return is_shape && memchr(value.bytes, '0', value.length) != NULL && !has_digit_but_0(value);
}

/* Whether an argument of a function hides: a length far outside, or a scale of almost zero. */
static bool has_argument(struct nb_string arguments, bool is_length)
{
    while (arguments.length > 0) {
        struct nb_string word = nb_html_take_word(&arguments);
        if (is_length ? is_outside(word) : is_nothing(word))
            return true;
    }
    return false;
}

/* Whether `transform` makes the text vanish: scale(0), translate(-9999px). */
static bool is_transformed_away(struct nb_string value)
{
    while (value.length > 0) {
        struct nb_string arguments = nb_html_take(&value, ')');
        struct nb_string name = nb_html_take(&arguments, '(');
        name = nb_string_trim_start(name, ", \t\r\n");
        if (is_word(name, "scale") && has_argument(arguments, false))
            return true;
        if (is_word(name, "translate") && has_argument(arguments, true))
            return true;
    }
    return false;
}

static void declare_color(struct nb_html_declared *d, struct nb_string value)
{
    if (is_word(value, "inherit") || is_word(value, "currentcolor") || is_word(value, "unset"))
        return;
    int color = nb_html_color(value);
    set(d, NB_HTML_CLEAR_COLOR, color == NB_COLOR_CLEAR);
    if (color == NB_COLOR_CLEAR)
        return;
    d->set |= nb_html_bit(NB_HTML_COLOR);
    d->color = color;
}

/* Sets the background, unless it is transparent and shows that of the element around it. */
static void declare_background(struct nb_html_declared *d, struct nb_string value)
{
    int color = nb_html_background(value);
    if (is_word(value, "none") || is_word(value, "inherit") || color == NB_COLOR_CLEAR)
        return;
    d->set |= nb_html_bit(NB_HTML_BACKGROUND);
    d->background = color;
}

/* Sizes of fonts by name (CSS Fonts 3, section 3.5), in thousandths. */
static const struct {
    const char *name;
    struct nb_html_length size;
} FONT_SIZES[] = {{"xx-small", {9000, false}},  {"x-small", {10000, false}},
                  {"small", {13000, false}},    {"medium", {16000, false}},
                  {"large", {18000, false}},    {"x-large", {24000, false}},
                  {"xx-large", {32000, false}}, {"smaller", {833, true}},
                  {"larger", {1200, true}},     {"initial", {16000, false}}};

/* Sets the font size. Returns false if the value is no size. */
static bool take_font_size(struct nb_html_declared *d, struct nb_string value)
{
    struct nb_html_length size;
    bool is_size = nb_html_length(value, &size);
    for (size_t i = 0; !is_size && i < sizeof FONT_SIZES / sizeof *FONT_SIZES; i++) {
        is_size = nb_string_equals_nocase(value, FONT_SIZES[i].name);
        size = FONT_SIZES[i].size;
    }
    if (!is_size || size.number < 0)
        return false;
    d->set |= nb_html_bit(NB_HTML_FONT_SIZE);
    d->font = size;
    return true;
}

static void declare_font_size(struct nb_html_declared *d, struct nb_string value)
{
    (void)take_font_size(d, value); /* a value that is no size declares nothing */
}

/* Reads the shorthand `font`, "bold 1px/1 Arial": the size is the first word that is a size. A
 * weight like 700 is none, because it has no unit. */
static void declare_font(struct nb_html_declared *d, struct nb_string value)
{
    while (value.length > 0) {
        struct nb_string word = nb_html_take_word(&value);
        if (take_font_size(d, nb_html_take(&word, '/')))
            return;
    }
}

/* Splits the value of `margin` or `inset` into its sides, clockwise from the top. */
static void read_sides(struct nb_string value, struct nb_string sides[SIDES])
{
    int count = 0;
    for (; count < SIDES && value.length > 0; count++)
        sides[count] = nb_html_take_word(&value);
    for (; count < SIDES; count++) /* a missing side equals its opposite, or the first one */
        sides[count] = count == 0 ? value : sides[count < 2 ? 0 : count - 2];
}

static void declare_margin(struct nb_html_declared *d, struct nb_string value)
{
    struct nb_string sides[SIDES];
    read_sides(value, sides);
    set(d, NB_HTML_MARGIN_TOP, is_margin_outside(sides[0]));
    set(d, NB_HTML_MARGIN_LEFT, is_margin_outside(sides[3]));
}

static void declare_inset(struct nb_html_declared *d, struct nb_string value)
{
    static const enum nb_html_property properties[SIDES] = {NB_HTML_TOP, NB_HTML_RIGHT,
                                                            NB_HTML_BOTTOM, NB_HTML_LEFT};
    struct nb_string sides[SIDES];
    read_sides(value, sides);
    for (int i = 0; i < SIDES; i++)
        set(d, properties[i], is_outside(sides[i]));
}

static void declare_picture(struct nb_html_declared *d, struct nb_string value)
{
    if (is_word(value, "none"))
        return;
    d->set |= nb_html_bit(NB_HTML_BACKGROUND);
    d->background = NB_COLOR_UNKNOWN;
}

static void declare_visibility(struct nb_html_declared *d, struct nb_string value)
{
    bool hides = is_word(value, "hidden") || is_word(value, "collapse");
    if (hides || is_word(value, "visible") || is_word(value, "initial"))
        set(d, NB_HTML_VISIBILITY, hides);
}

static bool is_none(struct nb_string value)
{
    return is_word(value, "none");
}

static bool is_hidden(struct nb_string value)
{
    return is_word(value, "hidden");
}

static bool is_cut_off(struct nb_string value)
{
    return is_word(value, "hidden") || is_word(value, "clip");
}

static bool is_positioned(struct nb_string value)
{
    return is_word(value, "absolute") || is_word(value, "fixed") || is_word(value, "relative");
}

static bool is_clear(struct nb_string value)
{
    return nb_html_color(value) == NB_COLOR_CLEAR;
}

/* Whether a filter has opacity(0), alone or after other functions. */
static bool is_filtered_away(struct nb_string value)
{
    while (value.length > 0) {
        struct nb_string arguments = nb_html_take(&value, ')');
        struct nb_string name = nb_html_take(&arguments, '(');
        if (is_word(name, "opacity") && is_nothing(arguments))
            return true;
    }
    return false;
}

static bool is_scaled_away(struct nb_string value)
{
    return has_argument(value, false);
}

static bool is_moved_away(struct nb_string value)
{
    return has_argument(value, true);
}

static bool is_right_to_left(struct nb_string value)
{
    return is_word(value, "rtl");
}

static bool is_override(struct nb_string value)
{
    return is_word(value, "bidi-override") || is_word(value, "isolate-override");
}

enum { NAME_BYTES = 24 /* bytes of a property's name, padded with zeros */ };

/* The properties by name. For each, `hides` decides whether a value hides, or `declare` stores the
 * value. Sorted by the first letter. */
static const struct property {
    char name[NAME_BYTES];
    enum nb_html_property property;
    bool (*hides)(struct nb_string value);
    void (*declare)(struct nb_html_declared *declared, struct nb_string value);
} PROPERTIES[] = {
    {"-webkit-text-fill-color", NB_HTML_FILL, is_clear, NULL},
    {"-webkit-transform", NB_HTML_TRANSFORM, is_transformed_away, NULL},
    {"background", NB_HTML_BACKGROUND, NULL, declare_background},
    {"background-color", NB_HTML_BACKGROUND, NULL, declare_background},
    {"background-image", NB_HTML_BACKGROUND, NULL, declare_picture},
    {"bottom", NB_HTML_BOTTOM, is_outside, NULL},
    {"color", NB_HTML_COLOR, NULL, declare_color},
    {"clip", NB_HTML_CLIP, is_clipped, NULL},
    {"clip-path", NB_HTML_CLIP_PATH, is_shape_empty, NULL},
    {"content-visibility", NB_HTML_CONTENT, is_hidden, NULL},
    {"display", NB_HTML_DISPLAY, is_none, NULL},
    {"direction", NB_HTML_DIRECTION, is_right_to_left, NULL},
    {"filter", NB_HTML_FILTER, is_filtered_away, NULL},
    {"font-size", NB_HTML_FONT_SIZE, NULL, declare_font_size},
    {"font", NB_HTML_FONT_SIZE, NULL, declare_font},
    {"height", NB_HTML_HEIGHT, is_flat, NULL},
    {"inset", NB_HTML_TOP, NULL, declare_inset},
    {"left", NB_HTML_LEFT, is_outside, NULL},
    {"margin", NB_HTML_MARGIN_TOP, NULL, declare_margin},
    {"margin-left", NB_HTML_MARGIN_LEFT, is_margin_outside, NULL},
    {"margin-top", NB_HTML_MARGIN_TOP, is_margin_outside, NULL},
    {"max-height", NB_HTML_MAX_HEIGHT, is_flat, NULL},
    {"opacity", NB_HTML_OPACITY, is_opacity_low, NULL},
    {"overflow", NB_HTML_OVERFLOW, is_cut_off, NULL},
    {"position", NB_HTML_POSITION, is_positioned, NULL},
    {"right", NB_HTML_RIGHT, is_outside, NULL},
    {"scale", NB_HTML_SCALE, is_scaled_away, NULL},
    {"text-indent", NB_HTML_INDENT, is_outside, NULL},
    {"top", NB_HTML_TOP, is_outside, NULL},
    {"transform", NB_HTML_TRANSFORM, is_transformed_away, NULL},
    {"translate", NB_HTML_TRANSFORM, is_moved_away, NULL},
    {"unicode-bidi", NB_HTML_BIDI, is_override, NULL},
    {"visibility", NB_HTML_VISIBILITY, NULL, declare_visibility},
    {"width", NB_HTML_WIDTH, is_flat, NULL},
    {"zoom", NB_HTML_ZOOM, is_nothing, NULL},
};

enum { PROPERTY_COUNT = sizeof PROPERTIES / sizeof *PROPERTIES };

/* Returns the property of a name; NULL for other names. Compares the first byte first, because most
 * names differ there. */
static const struct property *find_property(struct nb_string name)
{
    size_t low = 0, high = PROPERTY_COUNT;
    char first = name.length > 0 ? nb_ascii_lower(name.bytes[0]) : '\0';
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (PROPERTIES[middle].name[0] < first)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < PROPERTY_COUNT && PROPERTIES[low].name[0] == first; low++) {
        if (nb_string_equals_nocase(name, PROPERTIES[low].name))
            return &PROPERTIES[low];
    }
    return NULL;
}

/* Skips white space and comments at the beginning of a text. */
static struct nb_string skip_comments(struct nb_string s)
{
    s = nb_string_trim(s);
    while (nb_string_starts(s, "/*")) {
        s = nb_string_from(s, 2);
        while (s.length > 0 && !nb_string_starts(s, "*/"))
            s = nb_string_from(s, 1);
        s = nb_string_trim(nb_string_from(s, s.length > 0 ? 2 : 0));
    }
    return s;
}

bool nb_html_declare(struct nb_html_declared *declared, struct nb_string css,
                     enum nb_html_importance importance)
{
    bool any_important = false;
    while (css.length > 0) {
        struct nb_string rest = nb_html_take(&css, ';');
        struct nb_string name = skip_comments(nb_html_take(&rest, ':'));
        size_t letters = 0;
        while (letters < name.length && !nb_string_is_one_of(name.bytes[letters], " \t\r\n/"))
            letters++;
        const struct property *property = find_property((struct nb_string){name.bytes, letters});
        if (property == NULL)
            continue;
        struct nb_string value = skip_comments(nb_html_take(&rest, '!'));
        bool is_important = nb_string_starts_nocase(skip_comments(rest), "important");
        any_important |= is_important;
        if (importance == NB_HTML_IMPORTANT && !is_important)
            continue;
        if (property->hides != NULL)
            set(declared, property->property, property->hides(value));
        else
            property->declare(declared, value);
    }
    return any_important;
}

void nb_html_declared_add(struct nb_html_declared *declared, const struct nb_html_declared *later)
{
    declared->set |= later->set;
    declared->hides = (declared->hides & ~later->set) | later->hides;
    if ((later->set & nb_html_bit(NB_HTML_COLOR)) != 0)
        declared->color = later->color;
    if ((later->set & nb_html_bit(NB_HTML_BACKGROUND)) != 0)
        declared->background = later->background;
    if ((later->set & nb_html_bit(NB_HTML_FONT_SIZE)) != 0)
        declared->font = later->font;
}

bool nb_html_declared_hides(const struct nb_html_declared *declared)
{
    static const uint32_t alone =
        UINT32_C(1) << NB_HTML_DISPLAY | UINT32_C(1) << NB_HTML_CONTENT |
        UINT32_C(1) << NB_HTML_OPACITY | UINT32_C(1) << NB_HTML_CLEAR_COLOR |
        UINT32_C(1) << NB_HTML_MAX_HEIGHT | UINT32_C(1) << NB_HTML_MARGIN_LEFT |
        UINT32_C(1) << NB_HTML_MARGIN_TOP | UINT32_C(1) << NB_HTML_INDENT |
        UINT32_C(1) << NB_HTML_CLIP | UINT32_C(1) << NB_HTML_CLIP_PATH |
        UINT32_C(1) << NB_HTML_TRANSFORM | UINT32_C(1) << NB_HTML_SCALE |
        UINT32_C(1) << NB_HTML_ZOOM | UINT32_C(1) << NB_HTML_FILL | UINT32_C(1) << NB_HTML_FILTER;
    static const uint32_t moved = UINT32_C(1) << NB_HTML_LEFT | UINT32_C(1) << NB_HTML_TOP |
                                  UINT32_C(1) << NB_HTML_RIGHT | UINT32_C(1) << NB_HTML_BOTTOM;
    static const uint32_t flat = UINT32_C(1) << NB_HTML_HEIGHT | UINT32_C(1) << NB_HTML_WIDTH;
    uint32_t bits = declared->hides;
    return (bits & alone) != 0 ||
           ((bits & nb_html_bit(NB_HTML_POSITION)) != 0 && (bits & moved) != 0) ||
           ((bits & nb_html_bit(NB_HTML_OVERFLOW)) != 0 && (bits & flat) != 0);
}
