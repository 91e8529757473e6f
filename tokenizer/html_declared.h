/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the CSS declarations of a `style` attribute or of a rule in a style sheet, to decide
 * whether text is visible. The result is a few bits and numbers, so that applying a rule takes the
 * same time however long the rule is. Pure functions; any thread.
 *
 * Text is hidden by
 *   - display: none; content-visibility: hidden; visibility: hidden or collapse;
 *   - opacity (also that of `filter`) or an alpha of its colour under .1; color: transparent;
 *   - a font size under 3 pixels (of 1/96 inch; relative sizes are computed, from 16 pixels at the
 *     beginning of a page);
 *   - max-height of at most 1 pixel; height or width of at most 1 pixel where overflow is cut off
 *     (overflow: hidden, clip). max-width does not count, because tables use it to narrow cells;
 *   - left, top, right or bottom at least 900 pixels outwards, on a positioned element (absolute,
 *     fixed, relative); text-indent or a translation by as much, on any element; margin-left or
 *     margin-top of -2,000 pixels (a smaller negative margin may centre a wide page);
 *   - clip: rect() of an empty area; clip-path of an empty area, or inset() of half or more;
 *     transform, scale or zoom to nothing.
 */
#ifndef NB_TOKENIZER_HTML_DECLARED_H
#define NB_TOKENIZER_HTML_DECLARED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"
#include "tokenizer/html_length.h"

/* Properties that can hide text. */
enum nb_html_property {
    NB_HTML_DISPLAY,
    NB_HTML_CONTENT,
    NB_HTML_VISIBILITY, /* inherited: an element inside may set it again */
    NB_HTML_OPACITY,
    NB_HTML_CLEAR_COLOR,
    NB_HTML_MAX_HEIGHT,
    NB_HTML_HEIGHT,
    NB_HTML_WIDTH,
    NB_HTML_OVERFLOW, /* counts as hiding if overflow is cut off */
    NB_HTML_POSITION, /* counts as hiding if the element is positioned */
    NB_HTML_LEFT,
    NB_HTML_TOP,
    NB_HTML_RIGHT,
    NB_HTML_BOTTOM,
    NB_HTML_MARGIN_LEFT,
    NB_HTML_MARGIN_TOP,
    NB_HTML_INDENT,
    NB_HTML_CLIP,
    NB_HTML_CLIP_PATH,
    NB_HTML_TRANSFORM,
    NB_HTML_SCALE,
    NB_HTML_ZOOM,
    NB_HTML_FILL,
    NB_HTML_FILTER,
    NB_HTML_DIRECTION, /* counts as hiding if it is right to left */
    NB_HTML_BIDI,      /* counts as hiding if it is an override */
    NB_HTML_COLOR,     /* from here on, the values are in members of struct nb_html_declared */
    NB_HTML_BACKGROUND,
    NB_HTML_FONT_SIZE
};

struct nb_html_declared {
    uint32_t set;               /* a bit for each declared property */
    uint32_t hides;             /* a bit for each declared property that hides */
    int color;                  /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background;             /* 0xrrggbb or NB_COLOR_UNKNOWN, also if there is a picture */
    struct nb_html_length font; /* the font size */
};

static inline uint32_t nb_html_bit(enum nb_html_property property)
{
    return UINT32_C(1) << property;
}

/* Which declarations to read. */
enum nb_html_importance { NB_HTML_ALL, NB_HTML_IMPORTANT /* those with !important alone */ };

/* Reads the declarations `css`, "property: value; ...", into *declared. The last declaration of a
 * property wins; those already in *declared count as earlier ones. Entities are not decoded.
 * Returns whether any declaration has !important. Linear in the length. */
bool nb_html_declare(struct nb_html_declared *declared, struct nb_string css,
                     enum nb_html_importance importance);

/* Adds the declarations of `later` to *declared; they override those in it. */
void nb_html_declared_add(struct nb_html_declared *declared, const struct nb_html_declared *later);

/* Whether the declarations hide an element with all its content. */
bool nb_html_declared_hides(const struct nb_html_declared *declared);

#endif
