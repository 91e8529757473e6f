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
    uint32_t place;             /* of its name, in names[] */
    size_t nested;              /* open elements of the same name inside it, without a style */
    size_t before;              /* the next one outwards of the same name; SIZE_MAX: none */
};

_Static_assert(sizeof(struct nb_html_open_element) <= 48, "as the header says");

void nb_html_open_init(struct nb_html_open *open)
{
    open->elements = NULL;
    open->depth = open->room = open->name_count = 0;
}

void nb_html_open_deinit(struct nb_html_open *open)
{
    free(open->elements);
    nb_html_open_init(open);
}

/* FNV-1a of the name in lower case: it only spares comparisons, which decide. */
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

/* The place of a name that is open; SIZE_MAX if none is. */
static size_t find(const struct nb_html_open *open, struct nb_string name, uint32_t hash)
{
    for (size_t i = 0; i < open->name_count; i++) {
        const struct nb_html_open_name *place = &open->names[i];
        bool is_shared = i == NB_HTML_OPEN_NAMES - 1;
        if (place->last != SIZE_MAX &&
            (is_shared || (place->hash == hash && is_same(place->name, name))))
            return i;
    }
    return SIZE_MAX;
}

/* A place for a name that is not open. */
static size_t new_place(struct nb_html_open *open, struct nb_string name, uint32_t hash)
{
    size_t i = 0;
    while (i < open->name_count && open->names[i].last != SIZE_MAX)
        i++;
    assert(i < NB_HTML_OPEN_NAMES); /* else `find` had found the last place */
    if (i == open->name_count)
        open->name_count++;
    open->names[i] = (struct nb_html_open_name){.name = name, .hash = hash, .last = SIZE_MAX};
    return i;
}

int nb_html_open_push(struct nb_html_open *open, struct nb_string name,
                      const struct nb_html_style *outer)
{
    uint32_t hash = hash_of(name);
    if (nb_array_reserve(&open->elements, &open->room, open->depth + 1, sizeof *open->elements) !=
        0)
        return NB_NO_MEMORY;
    size_t place = find(open, name, hash);
    if (place == SIZE_MAX)
        place = new_place(open, name, hash);
    open->elements[open->depth] = (struct nb_html_open_element){
        .outer = *outer, .place = (uint32_t)place, .before = open->names[place].last};
    open->names[place].last = open->depth++;
    return 0;
}

void nb_html_open_nest(struct nb_html_open *open, struct nb_string name)
{
    size_t place = open->depth > 0 ? find(open, name, hash_of(name)) : SIZE_MAX;
    if (place != SIZE_MAX)
        open->elements[open->names[place].last].nested++;
}

/* Takes the innermost element off. */
static void pop(struct nb_html_open *open)
{
    const struct nb_html_open_element *element = &open->elements[--open->depth];
    assert(open->names[element->place].last == open->depth);
    open->names[element->place].last = element->before;
    while (open->name_count > 0 && open->names[open->name_count - 1].last == SIZE_MAX)
        open->name_count--;
}

bool nb_html_open_close(struct nb_html_open *open, struct nb_string name,
                        struct nb_html_style *outer)
{
    size_t place = open->depth > 0 ? find(open, name, hash_of(name)) : SIZE_MAX;
    if (place == SIZE_MAX)
        return false;
    size_t at = open->names[place].last;
    assert(at < open->depth);
    if (open->elements[at].nested > 0) {
        open->elements[at].nested--;
        return false;
    }
    *outer = open->elements[at].outer;
    while (open->depth > at)
        pop(open);
    return true;
}
