/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_style.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/string.h"
#include "tokenizer/html_declared.h"

enum {
    FONT_DEFAULT = 16,
    FONT_LEAST = 3,     /* smallest readable size, in pixels */
    INLINE_BYTES = 1024 /* longest value of `style` whose entities are decoded */
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
    char bytes[2 * INLINE_BYTES]; /* enough: an entity of 5 bytes may stand for 6 */
    struct nb_buffer decoded = {.bytes = bytes, .capacity = sizeof bytes};
    if (css.length == 0)
        return;
    if (css.length <= INLINE_BYTES && memchr(css.bytes, '&', css.length) != NULL &&
        nb_html_decode(&decoded, css.bytes, css.length) == 0)
        css = nb_buffer_string(&decoded);
    (void)nb_html_declare(declared, css, NB_HTML_ALL); /* !important matters in sheets only */
}

/* Applies colours that an element may or may not have: a colour that would change becomes unknown.
 */
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
    struct nb_string css, id, classes; /* if an attribute is repeated, the first one */
    bool any;                          /* the tag has an attribute that concerns the style */
};

static void keep_first(struct nb_string *place, struct nb_string value)
{
    *place = place->bytes == NULL ? value : *place;
}

/* Reads the attributes, and applies HTML's older ones (color, bgcolor), which any CSS overrides. */
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

/* The open elements are a stack. The elements of one name are also a list, from the innermost
 * outwards, so that an end tag finds its element without a search through the stack: each element
 * is pushed and popped once, and a tag takes at most one pass over NB_HTML_OPEN_NAMES hashes. */
struct nb_html_open_element {
    struct nb_html_style outer; /* the style that applies again after its end */
    uint16_t place;             /* index of its name in names[] */
    uint32_t nested; /* open elements of the same name inside it that did not change the style */
    uint32_t before; /* the next outer element of the same name; 0: none */
    uint32_t table, list; /* the innermost table and list around this element */
};

_Static_assert(sizeof(struct nb_html_open_element) <= 32, "as the header says");

void nb_html_open_init(struct nb_html_open *open)
{
    open->elements = NULL;
    open->depth = open->room = open->name_count = 0;
    open->table = open->list = 0;
}

void nb_html_open_deinit(struct nb_html_open *open)
{
    free(open->elements);
    nb_html_open_init(open);
}

/* FNV-1a of the name in lower case. It only saves comparisons; the comparison decides. */
static uint32_t hash_of(struct nb_string name)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < name.length; i++)
        hash = (hash ^ (unsigned char)nb_ascii_lower(name.bytes[i])) * 16777619u;
    return hash;
}

static bool is_same_name(struct nb_string a, struct nb_string b)
{
    return a.length == b.length && strncasecmp(a.bytes, b.bytes, a.length) == 0;
}

/* Returns the place of a name of open elements; SIZE_MAX if none is open. */
static size_t find(const struct nb_html_open *open, struct nb_string name, uint32_t hash)
{
    for (size_t i = 0; i < open->name_count; i++) {
        const struct nb_html_open_name *place = &open->names[i];
        bool is_shared = i == NB_HTML_OPEN_NAMES - 1;
        if (place->last != 0 &&
            (is_shared || (place->hash == hash && is_same_name(place->name, name))))
            return i;
    }
    return SIZE_MAX;
}

/* Returns a place for a name without open elements. */
static size_t new_place(struct nb_html_open *open, struct nb_string name, uint32_t hash)
{
    size_t i = 0;
    while (i < open->name_count && open->names[i].last != 0)
        i++;
    assert(i < NB_HTML_OPEN_NAMES); /* else `find` would have returned the last place */
    if (i == open->name_count)
        open->name_count++;
    open->names[i] = (struct nb_html_open_name){.name = name, .hash = hash};
    return i;
}

/* All lists share one name: it hardly matters which of them an end tag closes, and nested lists
 * then take no memory. */
static struct nb_string name_of(const struct nb_html_name *name)
{
    return name->scope == NB_HTML_LIST ? (struct nb_string){"ul", 2} : name->name;
}

int nb_html_open_push(struct nb_html_open *open, const struct nb_html_name *name,
                      const struct nb_html_style *outer)
{
    struct nb_string text = name_of(name);
    uint32_t hash = hash_of(text);
    if (nb_array_reserve(&open->elements, &open->room, open->depth + 1, sizeof *open->elements) !=
        0)
        return NB_NO_MEMORY;
    assert(open->depth < UINT32_MAX); /* documents are smaller */
    size_t place = find(open, text, hash);
    if (place == SIZE_MAX)
        place = new_place(open, text, hash);
    open->elements[open->depth++] = (struct nb_html_open_element){.outer = *outer,
                                                                  .place = (uint16_t)place,
                                                                  .before = open->names[place].last,
                                                                  .table = open->table,
                                                                  .list = open->list};
    uint32_t own = open->names[place].last = (uint32_t)open->depth;
    open->table = name->scope == NB_HTML_TABLE ? own : open->table;
    open->list = name->scope == NB_HTML_LIST ? own : open->list;
    return 0;
}

/* Returns the innermost open element that a tag of this name can end; 0: there is none. */
static uint32_t reach(const struct nb_html_open *open, const struct nb_html_name *name)
{
    struct nb_string text = name_of(name);
    size_t place = open->depth > 0 ? find(open, text, hash_of(text)) : SIZE_MAX;
    uint32_t last = place == SIZE_MAX ? 0 : open->names[place].last;
    bool is_outside = last < open->table || (name->scope == NB_HTML_ITEM && last < open->list);
    return is_outside ? 0 : last;
}

int nb_html_open_nest(struct nb_html_open *open, const struct nb_html_name *name,
                      const struct nb_html_style *outer)
{
    uint32_t own = reach(open, name);
    bool has_inside = name->scope == NB_HTML_TABLE || name->scope == NB_HTML_LIST;
    if (open->depth > 0 && has_inside && own != open->depth)
        return nb_html_open_push(open, name, outer);
    if (own != 0)
        open->elements[own - 1].nested++;
    return 0;
}

/* Removes the innermost element. */
static void pop(struct nb_html_open *open)
{
    const struct nb_html_open_element *element = &open->elements[open->depth - 1];
    assert(open->names[element->place].last == open->depth);
    open->names[element->place].last = element->before;
    open->table = element->table;
    open->list = element->list;
    open->depth--;
    while (open->name_count > 0 && open->names[open->name_count - 1].last == 0)
        open->name_count--;
}

bool nb_html_open_close(struct nb_html_open *open, const struct nb_html_name *name,
                        struct nb_html_style *outer)
{
    uint32_t own = reach(open, name);
    if (own == 0)
        return false;
    struct nb_html_open_element *element = &open->elements[own - 1];
    bool is_nested = element->nested > 0;
    element->nested -= is_nested;
    /* If a nested table or list ends, everything in the stack after the outer one began inside
     * it. */
    bool ends_inside = is_nested && (own == open->table || own == open->list) && own < open->depth;
    if (is_nested && !ends_inside)
        return false;
    uint32_t first = own + ends_inside; /* the first element that ends */
    *outer = open->elements[first - 1].outer;
    while (open->depth >= first)
        pop(open);
    return true;
}
