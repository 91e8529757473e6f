/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the text of an HTML element can be seen, by the attributes of the elements around it.
 * Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_STYLE_H
#define NB_TOKENIZER_HTML_HTML_STYLE_H

#include <stdbool.h>

#include "tokenizer/html/html.h"

enum { NB_COLOR_UNKNOWN = -1 };

/* The style of the text of an element; the elements inside inherit it. */
struct nb_html_style {
    bool hidden;    /* display, opacity: no element inside can undo it */
    bool invisible; /* visibility: an element inside may set it again */
    bool tiny;      /* font-size: an element inside may set it again */
    int color;      /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background; /* 0xrrggbb or NB_COLOR_UNKNOWN, as for a picture */
};

/* Black on white, visible. */
struct nb_html_style nb_html_style_default(void);

/* Applies the attributes of a start tag to `style`, which is the style of the element around it.
 * Returns whether any attribute concerns the style. */
bool nb_html_style_apply(struct nb_html_style *style, const struct nb_html_token *start_tag);

/* Whether a reader can see such text. */
bool nb_html_style_visible(const struct nb_html_style *style);

#endif
