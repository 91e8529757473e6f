/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides whether the text of an HTML element is visible, by the attributes of the elements around
 * it. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_STYLE_H
#define NB_TOKENIZER_HTML_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "tokenizer/html.h"
#include "tokenizer/html_length.h"
#include "tokenizer/html_rules.h"

enum { NB_HTML_FONT_UNITS = 32 };

/* The style of the text of an element; the elements inside inherit it. */
struct nb_html_style {
    bool hidden : 1;    /* hidden, also all elements inside */
    bool invisible : 1; /* hidden by `visibility`, which an element inside may set again */
    bool reversed : 1;  /* shown from right to left, whatever the letters are */
    uint16_t font;      /* size, in NB_HTML_FONT_UNITS of a pixel */
    int color;          /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background;     /* 0xrrggbb or NB_COLOR_UNKNOWN, for example a picture */
};

/* Black on white, visible. */
struct nb_html_style nb_html_style_default(void);

/* Applies the attributes of a start tag, and the rules that match it, to `style`, which is the
 * style of the element around it. `rules` may be NULL. Returns whether any attribute concerns the
 * style, or a rule has changed it. */
bool nb_html_style_apply(struct nb_html_style *style, const struct nb_html_token *start_tag,
                         const struct nb_html_rules *rules);

/* Whether a reader can see text of this style. */
bool nb_html_style_visible(const struct nb_html_style *style);

/* A stack of the open elements that changed the style of text. It restores the style after each end
 * tag, found by name in bounded time however many are open. Any thread; a stack belongs to one.
 *
 * Tables and lists inside these elements are in the stack, too, because a tag inside a table cannot
 * end an element outside it: a cell of an inner table does not end the cell around that table (HTML
 * standard, 13.2.4.2: elements in scope).
 *
 * The HTML bounds the memory: an element takes 32 bytes here and at least 10 in the HTML (`<b
 * hidden>`); a table with a list in it takes 64 bytes, and 11 in the HTML. Elements that only style
 * sheets style take 3 bytes there: html_text.c pushes at most 65,536 of them. */

/* Different names of styled elements that may be open at once. HTML has 140; any further names
 * share the last place, as if they were one name. */
enum { NB_HTML_OPEN_NAMES = 512 };

struct nb_html_open_element; /* an open element */

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

/* How far the effect of a tag reaches: never beyond the innermost table. */
enum nb_html_scope {
    NB_HTML_ANY,
    NB_HTML_ITEM, /* an item of a list: never beyond the innermost list either */
    NB_HTML_LIST, /* a list of any kind: all lists share one name here */
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

/* Opens an element that did not change the style: if the stack has one of the same name, the next
 * end tag of that name belongs to the new element. Pushes a table or a list. Does nothing while the
 * stack is empty. Returns 0 or NB_NO_MEMORY. */
int nb_html_open_nest(struct nb_html_open *open, const struct nb_html_name *name,
                      const struct nb_html_style *outer);

/* Takes an end tag. Closes the innermost element of the name and all elements inside it, sets
 * *outer to the style behind it, and returns true. Returns false if the tag cannot end any such
 * open element, or if it belongs to an inner element that did not change the style. */
bool nb_html_open_close(struct nb_html_open *open, const struct nb_html_name *name,
                        struct nb_html_style *outer);

#endif
