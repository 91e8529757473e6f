/* SPDX-License-Identifier: Apache-2.0
 *
 * What attributes of HTML elements say about whether their text can be seen. Any thread; pure
 * functions.
 */
#ifndef NB_TOKENIZER_HTML_HTML_STYLE_H
#define NB_TOKENIZER_HTML_HTML_STYLE_H

#include <stdbool.h>

#include "tokenizer/html/html.h"

enum { NB_COLOR_UNKNOWN = -1 };

/* How the text of an element looks; handed down to the elements in it. */
struct nb_html_style {
    bool hidden;    /* whatever the elements in it say */
    bool invisible; /* visibility, which an element in it may set again */
    bool tiny;      /* font-size, likewise */
    int color;      /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background; /* likewise; unknown under a picture */
};

/* Black on white, visible. */
struct nb_html_style nb_html_style_default(void);

/* Applies the attributes of a start tag to `style`, that of the element around it. Returns whether
 * there was any that speaks of looks. */
bool nb_html_style_apply(struct nb_html_style *style, const struct nb_html_token *start_tag);

/* Whether a reader can see such text. */
bool nb_html_style_visible(const struct nb_html_style *style);

#endif
