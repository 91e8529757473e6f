/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the text of an HTML element is visible, by the attributes of the elements around it. Pure
 * functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_STYLE_H
#define NB_TOKENIZER_HTML_HTML_STYLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tokenizer/html/html.h"
#include "tokenizer/html/html_color.h"
#include "tokenizer/html/html_rules.h"

enum { NB_HTML_FONT_UNITS = 32 };

/* The style of the text of an element; the elements inside inherit it. */
struct nb_html_style {
    bool hidden : 1;    /* no element inside can undo it */
    bool invisible : 1; /* visibility: an element inside may set it again */
    bool reversed : 1;  /* shown from right to left, whatever the letters are */
    uint16_t font;      /* size, in NB_HTML_FONT_UNITS of a pixel */
    int color;          /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background;     /* 0xrrggbb or NB_COLOR_UNKNOWN, as for a picture */
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

#endif
