/* SPDX-License-Identifier: Apache-2.0
 *
 * Colours, and text that is safe to print on a terminal. Any thread.
 */
#ifndef NB_CLIENT_TERMINAL_H
#define NB_CLIENT_TERMINAL_H

#include <stdio.h>

#include "core/base/buffer.h"

enum nb_colour {
    NB_COLOUR_PLAIN,
    NB_COLOUR_BOLD,
    NB_COLOUR_FAINT,
    NB_COLOUR_RED,
    NB_COLOUR_GREEN,
    NB_COLOUR_YELLOW
};

/* Returns the escape sequence that begins a colour; NB_COLOUR_PLAIN ends colours. Returns "" when
 * `out` is not a terminal, NO_COLOR is set (no-color.org) or TERM is dumb. Static. */
const char *nb_colour(FILE *out, enum nb_colour colour);

/* The columns that a text takes: one for each UTF-8 sequence. */
size_t nb_terminal_width(const char *text);

/* Copies at most `most` columns of a text into `out`, which is emptied first and ends in a NUL that
 * `length` does not count. Control characters become spaces: the words of a document must not
 * control the terminal. Without memory `out` is empty, and its bytes may be NULL. */
void nb_terminal_safe(const char *text, size_t most, struct nb_buffer *out);

enum { NB_SHOWN_BYTES = 512 };

/* A text as it may be printed; a struct so that it can be used within one expression. */
struct nb_shown {
    char text[NB_SHOWN_BYTES];
};

/* The text with spaces for its control characters, cut behind a whole character when it is too
 * long. Each text that a daemon, a mail or a file brought is printed by this, by nb_terminal_safe,
 * nb_message or nb_table_cell; only JSON and exports go out as they are. NULL is "". */
struct nb_shown nb_shown(const char *text);

#endif
