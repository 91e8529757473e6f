/* SPDX-License-Identifier: Apache-2.0
 *
 * The open elements that changed the style of text, however many there are: the style behind the
 * end of each, found by name in bounded time. Any thread; a stack belongs to one.
 *
 * Memory is bounded by the HTML: an element takes 48 bytes here, and at least 10 there
 * (`<b hidden>`).
 */
#ifndef NB_TOKENIZER_HTML_HTML_OPEN_H
#define NB_TOKENIZER_HTML_HTML_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "tokenizer/html/html_style.h"

/* Different names of styled elements that are open at once. HTML has 140; further names share the
 * last place, as if they were one name. */
enum { NB_HTML_OPEN_NAMES = 512 };

struct nb_html_open_element; /* one of them */

struct nb_html_open {
    struct nb_html_open_element *elements; /* outermost first, owned */
    size_t depth;
    size_t room;
    /* The names of the open elements. A place whose `last` is SIZE_MAX is free. */
    struct nb_html_open_name {
        struct nb_string name; /* borrowed from the HTML */
        uint32_t hash;
        size_t last; /* index of the innermost open element of the name */
    } names[NB_HTML_OPEN_NAMES];
    size_t name_count;
};

/* Makes an empty stack. Allocates nothing. */
void nb_html_open_init(struct nb_html_open *open);

/* Frees what the stack holds. */
void nb_html_open_deinit(struct nb_html_open *open);

/* Opens an element that changed the style; `outer` is the style around it. `name` is borrowed until
 * deinit; its case does not matter. Returns 0 or NB_NO_MEMORY. */
int nb_html_open_push(struct nb_html_open *open, struct nb_string name,
                      const struct nb_html_style *outer);

/* Opens an element that did not change the style: if one of the same name is in the stack, the next
 * end tag of that name is not its own. */
void nb_html_open_nest(struct nb_html_open *open, struct nb_string name);

/* Takes an end tag. Closes the innermost element of the name and all elements inside it, sets
 * *outer to the style behind it, and returns true. Returns false if no such element is open, or the
 * end tag belongs to one inside it that did not change the style. */
bool nb_html_open_close(struct nb_html_open *open, struct nb_string name,
                        struct nb_html_style *outer);

#endif
