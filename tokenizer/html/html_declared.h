/* SPDX-License-Identifier: Apache-2.0
 *
 * What declarations of CSS say of whether text can be seen: those of an attribute `style`, or of a
 * rule of a style sheet. They become a few bits and numbers, so that to apply a rule takes the same
 * time however long it is. Pure functions; any thread.
 *
 * Text is hidden by
 *   - display: none; content-visibility: hidden; visibility: hidden or collapse;
 *   - opacity (also that of `filter`) or an alpha of its colour under .1; color: transparent;
 *   - a font size under 3 pixels (of 1/96 inch; what is relative to the size around it is computed;
 *     a page begins with 16);
 *   - max-height of at most 1 pixel; height or width of at most 1 pixel, where what does not fit is
 *     cut off (overflow: hidden, clip). Not max-width, by which cells of tables are made small;
 *   - left, top, right or bottom at least 900 pixels outwards, of an element that is positioned
 *     (absolute, fixed, relative); text-indent or a translation likewise, of any; margin-left or
 *     margin-top of -2,000 pixels (half of a wide page is moved so to its middle);
 *   - clip: rect() of nothing; clip-path of nothing, or inset() of half or more; transform, scale
 * or zoom to nothing.
 */
#ifndef NB_TOKENIZER_HTML_HTML_DECLARED_H
#define NB_TOKENIZER_HTML_HTML_DECLARED_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"
#include "tokenizer/html/html_length.h"

/* Properties that hide or do not. */
enum nb_html_property {
    NB_HTML_DISPLAY,
    NB_HTML_CONTENT,
    NB_HTML_VISIBILITY, /* inherited: an element inside may set it again */
    NB_HTML_OPACITY,
    NB_HTML_CLEAR_COLOR,
    NB_HTML_MAX_HEIGHT,
    NB_HTML_HEIGHT,
    NB_HTML_WIDTH,
    NB_HTML_OVERFLOW, /* "hides": what does not fit is cut off */
    NB_HTML_POSITION, /* "hides": the element is positioned */
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
    NB_HTML_DIRECTION, /* "hides": it is right to left */
    NB_HTML_BIDI,      /* "hides": it is an override */
    NB_HTML_COLOR,     /* these have values of their own */
    NB_HTML_BACKGROUND,
    NB_HTML_FONT_SIZE
};

struct nb_html_declared {
    uint32_t set;               /* the properties that are declared, a bit for each */
    uint32_t hides;             /* those of them that hide */
    int color;                  /* 0xrrggbb or NB_COLOR_UNKNOWN */
    int background;             /* likewise; unknown also with a picture */
    struct nb_html_length font; /* the font size */
};

static inline uint32_t nb_html_bit(enum nb_html_property property)
{
    return UINT32_C(1) << property;
}

/* Which declarations are read. */
enum nb_html_importance { NB_HTML_ALL, NB_HTML_IMPORTANT /* those with !important alone */ };

/* Reads the declarations `css`, "property: value; ...", into *declared: of each property the last
 * one counts, and what is there already counts as declared before. Entities are not decoded.
 * Returns whether there is one with !important. Linear in the length. */
bool nb_html_declare(struct nb_html_declared *declared, struct nb_string css,
                     enum nb_html_importance importance);

/* Adds what `later` declares to *declared; it replaces what is there. */
void nb_html_declared_add(struct nb_html_declared *declared, const struct nb_html_declared *later);

/* Whether an element is hidden, with all that is inside, by what it declares. */
bool nb_html_declared_hides(const struct nb_html_declared *declared);

#endif
