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
    NB_COLOR_CLEAR = -2 /* nothing is seen of it: its alpha is under .1 */
};

/* Reads a colour: a name, hexadecimal digits with or without '#', rgb(), rgba(). One that lets
 * something of what is behind it through, and all others, are unknown. */
int nb_html_color(struct nb_string s);

/* The colour in the shorthand `background`: the first word that is one. Unknown with a picture. */
int nb_html_background(struct nb_string s);

/* Whether a reader cannot tell a colour from that of its background. False if one is unknown. */
bool nb_html_color_is_lost(int color, int background);

#endif
