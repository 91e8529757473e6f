/* SPDX-License-Identifier: Apache-2.0
 *
 * The open elements that changed the style of text, however many there are: the style behind the
 * end of each, found by name in bounded time. Any thread; a stack belongs to one.
 *
 * Tables and lists inside them are in the stack, too, because tags inside do not end what is
 * outside: a cell of an inner table is no end of the cell around that (HTML standard, 13.2.4.2:
 * elements in scope).
 *
 * Memory is bounded by the HTML: an element takes 32 bytes here, and at least 10 there
 * (`<b hidden>`); a table and a list in it 64 bytes, and 11 there. Elements that only rules of
 * style sheets style take 3 bytes there: html_text.c pushes no more than 65,536 of them.
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

/* Elements are numbered from 1, the outermost first; 0 is none. */
struct nb_html_open {
    struct nb_html_open_element *elements; /* owned */
    size_t depth;
    size_t room;
    uint32_t table, list; /* the innermost ones */
    /* The names of the open elements. A place whose `last` is 0 is free. */
    struct nb_html_open_name {
        struct nb_string name; /* borrowed from the HTML */
        uint32_t hash;
        uint32_t last; /* the innermost open element of the name */
    } names[NB_HTML_OPEN_NAMES];
    size_t name_count;
};

/* How far a tag reaches: beyond the innermost table it ends nothing. */
enum nb_html_scope {
    NB_HTML_ANY,
    NB_HTML_ITEM, /* of a list: it ends nothing beyond the innermost list either */
    NB_HTML_LIST, /* of any kind: all have one name here */
    NB_HTML_TABLE,
};

/* The name of a tag. */
struct nb_html_name {
    struct nb_string name; /* borrowed until deinit; its case does not matter */
    enum nb_html_scope scope;
};

/* Makes an empty stack. Allocates nothing. */
void nb_html_open_init(struct nb_html_open *open);

/* Frees what the stack holds. */
void nb_html_open_deinit(struct nb_html_open *open);

/* Opens an element that changed the style; `outer` is the style around it. Returns 0 or
 * NB_NO_MEMORY. */
int nb_html_open_push(struct nb_html_open *open, const struct nb_html_name *name,
                      const struct nb_html_style *outer);

/* Opens an element that did not change the style: if one of the same name is in the stack, the next
 * end tag of that name is not its own. A table or a list goes to the stack. Without elements in the
 * stack nothing is done. Returns 0 or NB_NO_MEMORY. */
int nb_html_open_nest(struct nb_html_open *open, const struct nb_html_name *name,
                      const struct nb_html_style *outer);

/* Takes an end tag. Closes the innermost element of the name and all elements inside it, sets
 * *outer to the style behind it, and returns true. Returns false if no such element is open that
 * the tag can end, or the end tag belongs to one inside it that did not change the style. */
bool nb_html_open_close(struct nb_html_open *open, const struct nb_html_name *name,
                        struct nb_html_style *outer);

#endif
