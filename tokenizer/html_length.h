/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads numbers, lengths and colours of CSS; numbers and lengths in thousandths. The time is
 * bounded, and the result does not depend on the locale. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_LENGTH_H
#define NB_TOKENIZER_HTML_LENGTH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/string.h"

/* A number is cut to this many thousandths, of either sign. */
enum { NB_HTML_NUMBER_MOST = 1000000000 };

/* Reads a number (with sign, point and exponent) at the beginning of *s into *thousandths, and
 * removes it from *s. Returns false, and leaves *s unchanged, if there is none. */
bool nb_html_number(struct nb_string *s, int32_t *thousandths);

struct nb_html_length {
    int32_t number; /* thousandths of a pixel; or of the font size around it, if is_relative */
    bool is_relative;
};

/* Reads a length (CSS Values and Units 3, sections 5 and 6) or a percentage at the beginning of s,
 * also inside `calc(`. Viewport units assume 1,000 x 800 pixels. Returns false if there is none:
 * only 0 may stand without a unit. */
bool nb_html_length(struct nb_string s, struct nb_html_length *length);

/* Reads a length into thousandths of a pixel, for a font of 16 pixels in a box of 1,000. */
bool nb_html_pixels(struct nb_string s, int32_t *thousandths);

/* Takes the part before the first `separator`, and the separator, off `rest`; returns the part,
 * trimmed. */
struct nb_string nb_html_take(struct nb_string *rest, char separator);

/* Takes the part before the first white space or comma off `rest`, with the run of these behind it.
 * Parentheses have no meaning here. */
struct nb_string nb_html_take_word(struct nb_string *rest);

/* Colours of CSS and of HTML's older attributes. Pure functions; any thread. */

/* Special values of a colour, which otherwise is 0xrrggbb. */
enum {
    NB_COLOR_UNKNOWN = -1,
    NB_COLOR_CLEAR = -2 /* invisible: its alpha is under .1 */
};

/* Reads a colour: a name, hexadecimal digits with or without '#', rgb(), rgba(). A partly
 * transparent colour and every other form are unknown. */
int nb_html_color(struct nb_string s);

/* Reads the colour of the shorthand `background`: its first word that is a colour. If there is a
 * picture, the colour is unknown. */
int nb_html_background(struct nb_string s);

/* Whether a reader cannot tell `color` from `background`. False if one of them is unknown. */
bool nb_html_color_is_lost(int color, int background);

#endif
