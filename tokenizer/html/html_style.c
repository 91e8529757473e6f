/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_style.h"

#include <string.h>

#include "tokenizer/html/html_declared.h"

enum {
    FONT_DEFAULT = 16,
    FONT_LEAST = 3,     /* smallest readable size, in pixels */
    INLINE_BYTES = 1024 /* of an attribute with entities that are decoded */
};

struct nb_html_style nb_html_style_default(void)
{
    return (struct nb_html_style){
        .font = FONT_DEFAULT * NB_HTML_FONT_UNITS, .color = 0x000000, .background = 0xffffff};
}

static void set_font(struct nb_html_style *style, struct nb_html_length size)
{
    int64_t units = size.is_relative ? (int64_t)style->font * size.number / 1000
                                     : (int64_t)size.number * NB_HTML_FONT_UNITS / 1000;
    style->font = (uint16_t)(units < UINT16_MAX ? units : UINT16_MAX);
}

static bool is_set(const struct nb_html_declared *d, enum nb_html_property property)
{
    return (d->set & nb_html_bit(property)) != 0;
}

static bool is_hiding(const struct nb_html_declared *d, enum nb_html_property property)
{
    return (d->hides & nb_html_bit(property)) != 0;
}

static void declare(struct nb_html_style *style, const struct nb_html_declared *d)
{
    style->hidden = style->hidden || nb_html_declared_hides(d);
    if (is_set(d, NB_HTML_VISIBILITY))
        style->invisible = is_hiding(d, NB_HTML_VISIBILITY);
    if (is_set(d, NB_HTML_FONT_SIZE))
        set_font(style, d->font);
    if (is_set(d, NB_HTML_COLOR))
        style->color = d->color;
    if (is_set(d, NB_HTML_BACKGROUND))
        style->background = d->background;
    if (is_hiding(d, NB_HTML_BIDI))
        style->reversed = is_hiding(d, NB_HTML_DIRECTION);
}

/* Reads the value of an attribute `style`, after decoding its entities if it has some. A long value
 * is not decoded: nobody has a reason to write entities there. */
static void read_inline(struct nb_html_declared *declared, struct nb_string css)
{
    char bytes[2 * INLINE_BYTES]; /* an entity of 5 bytes may stand for 6: it never grows */
    struct nb_buffer decoded = {.bytes = bytes, .capacity = sizeof bytes};
    if (css.length == 0)
        return;
    if (css.length <= INLINE_BYTES && memchr(css.bytes, '&', css.length) != NULL &&
        nb_html_decode(&decoded, css.bytes, css.length) == 0)
        css = nb_buffer_string(&decoded);
    (void)nb_html_declare(declared, css, NB_HTML_ALL); /* !important matters in sheets only */
}

/* Applies colours that an element may have: they become unknown, unless they are the same. */
static void declare_maybe(struct nb_html_style *style, const struct nb_html_declared *d)
{
    if (is_set(d, NB_HTML_COLOR) && d->color != style->color)
        style->color = NB_COLOR_UNKNOWN;
    if (is_set(d, NB_HTML_BACKGROUND) && !nb_html_color_is_lost(d->background, style->background))
        style->background = NB_COLOR_UNKNOWN;
}

static bool is_same(const struct nb_html_style *a, const struct nb_html_style *b)
{
    return a->hidden == b->hidden && a->invisible == b->invisible && a->reversed == b->reversed &&
           a->font == b->font && a->color == b->color && a->background == b->background;
}

/* The attributes of a tag, except those that are applied at once. */
struct attributes {
    struct nb_string css, id, classes; /* the first of a repeated one counts */
    bool any;                          /* any attribute concerns the style */
};

static void keep_first(struct nb_string *place, struct nb_string value)
{
    *place = place->bytes == NULL ? value : *place;
}

/* Reads the attributes, and applies the older ones, which any CSS overrides. */
static void read_attributes(struct nb_html_style *style, const struct nb_html_token *start_tag,
                            struct attributes *read)
{
    struct nb_html_attributes attributes = nb_html_attributes_of(start_tag);
    struct nb_html_attribute attribute;
    bool is_bdo = nb_string_equals_nocase(start_tag->name, "bdo");
    while (nb_html_attribute(&attributes, &attribute)) {
        struct nb_string name = attribute.name, value = attribute.value;
        bool concerns = true;
        if (nb_string_equals_nocase(name, "style"))
            keep_first(&read->css, value);
        else if (nb_string_equals_nocase(name, "bgcolor"))
            style->background = nb_html_color(value);
        else if (nb_string_equals_nocase(name, "background"))
            style->background = NB_COLOR_UNKNOWN;
        else if (nb_string_equals_nocase(name, "color") || nb_string_equals_nocase(name, "text"))
            style->color = nb_html_color(value);
        else if (nb_string_equals_nocase(name, "hidden"))
            style->hidden = true;
        else if (nb_string_equals_nocase(name, "dir") && is_bdo)
            style->reversed = nb_string_equals_nocase(value, "rtl");
        else
            concerns = false;
        if (nb_string_equals_nocase(name, "class"))
            keep_first(&read->classes, value);
        else if (nb_string_equals_nocase(name, "id"))
            keep_first(&read->id, value);
        read->any |= concerns;
    }
}

bool nb_html_style_apply(struct nb_html_style *style, const struct nb_html_token *start_tag,
                         const struct nb_html_rules *rules)
{
    struct nb_html_style outer = *style;
    struct nb_html_declared declared = {0};
    struct nb_html_matched matched;
    struct attributes read = {.any = false};
    read_attributes(style, start_tag, &read);
    bool has_rules = rules != NULL && rules->entry_count > 0 &&
                     nb_html_rules_match(rules, start_tag->name, read.id, read.classes, &matched);
    if (read.css.length == 0 && !has_rules) /* nothing is declared */
        return read.any;
    read_inline(&declared, read.css);
    if (has_rules) {
        nb_html_declared_add(&declared, &matched.important);
        matched.maybe.set &= ~declared.set;
        nb_html_declared_add(&matched.normal, &declared);
        declared = matched.normal;
    }
    declare(style, &declared);
    if (has_rules)
        declare_maybe(style, &matched.maybe);
    return read.any || (has_rules && !is_same(style, &outer));
}

bool nb_html_style_visible(const struct nb_html_style *style)
{
    return !style->hidden && !style->invisible && style->font >= FONT_LEAST * NB_HTML_FONT_UNITS &&
           !nb_html_color_is_lost(style->color, style->background);
}
