/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements are a stack. The elements of one name are also a list, from the innermost outwards,
 * so that an end tag finds its element without a search through the stack: each element is pushed
 * and popped once, and a tag costs at most one pass over NB_HTML_OPEN_NAMES hashes.
 */
#include "tokenizer/html/html_open.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#include "core/base/array.h"
#include "core/base/ascii.h"
#include "core/base/error.h"

struct nb_html_open_element {
    struct nb_html_style outer; /* the style behind its end */
    uint16_t place;             /* index of its name in names[] */
    uint32_t nested; /* open elements of the same name inside it that did not change the style */
    uint32_t before; /* the next outer element of the same name */
    uint32_t table, list; /* the innermost ones around this element */
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

static bool is_same(struct nb_string a, struct nb_string b)
{
    return a.length == b.length && strncasecmp(a.bytes, b.bytes, a.length) == 0;
}

/* Returns the place of a name of open elements; SIZE_MAX if none is open. */
static size_t find(const struct nb_html_open *open, struct nb_string name, uint32_t hash)
{
    for (size_t i = 0; i < open->name_count; i++) {
        const struct nb_html_open_name *place = &open->names[i];
        bool is_shared = i == NB_HTML_OPEN_NAMES - 1;
        if (place->last != 0 && (is_shared || (place->hash == hash && is_same(place->name, name))))
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
    assert(i < NB_HTML_OPEN_NAMES); /* else `find` had found the last place */
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
