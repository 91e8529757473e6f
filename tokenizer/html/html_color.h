/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours of CSS and of HTML's older attributes. Pure functions; any thread.
 */
#ifndef NB_TOKENIZER_HTML_HTML_COLOR_H
#define NB_TOKENIZER_HTML_HTML_COLOR_H

#include <stdbool.h>

#include "core/base/string.h"

/* Otherwise a colour is 0xrrggbb. */
enum {
    NB_COLOR_UNKNOWN = -1,
    NB_COLOR_CLEAR = -2 /* invisible: its alpha is under .1 */
};

/* Reads a colour: a name, hexadecimal digits with or without '#', rgb(), rgba(). A partly
 * transparent colour and every other form are unknown. */
int nb_html_color(struct nb_string s);

/* Reads the colour of the shorthand `background`: its first word that is a colour. With a picture
 * the colour is unknown. */
int nb_html_background(struct nb_string s);

/* Whether a reader cannot tell `color` from `background`. False if one of them is unknown. */
bool nb_html_color_is_lost(int color, int background);

#endif
