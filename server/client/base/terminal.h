/* SPDX-License-Identifier: Apache-2.0
 *
 * Output for people: colours, text that is safe to print on a terminal and numbers as people read
 * them, from any thread; messages, a progress bar and questions to the person on standard error,
 * from the main thread.
 */
#ifndef NB_SERVER_CLIENT_BASE_TERMINAL_H
#define NB_SERVER_CLIENT_BASE_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"

enum nb_colour { NB_COLOUR_PLAIN, NB_COLOUR_BOLD };

/* Returns the escape sequence that begins a colour; NB_COLOUR_PLAIN ends colours. Returns "" when
 * `out` is not a terminal, NO_COLOR is set (no-color.org) or TERM is dumb. Static. */
const char *nb_colour(FILE *out, enum nb_colour colour);

/* Returns the number of columns that a text takes: one for each UTF-8 sequence. */
size_t nb_terminal_width(const char *text);

/* Copies at most `most` columns of a text into `out`, which is emptied first and ends in a NUL that
 * `length` does not count. Control characters become spaces: the words of a document must not
 * control the terminal. Without memory `out` is empty, and its bytes may be NULL. */
void nb_terminal_safe(const char *text, size_t most, struct nb_buffer *out);

enum { NB_SHOWN_BYTES = 512 };

/* A text that is safe to print; a struct so that it can be used within one expression. */
struct nb_shown {
    char text[NB_SHOWN_BYTES];
};

/* Returns the text with its control characters replaced by spaces, and cut after a whole character
 * if it is too long. Every text from a daemon, a mail or a file must be printed with this function,
 * nb_terminal_safe, nb_message or nb_table_cell; only JSON and exports are printed as they are.
 * NULL counts as "". */
struct nb_shown nb_shown(const char *text);

/* A number as text; a struct so that it can be used within one expression. */
struct nb_figure {
    char text[32];
};

/* Formats 1234567 as "1,234,567". */
struct nb_figure nb_figure_of(uint64_t number);

/* Formats seconds as "3.2 s", "45 s", "2 min 5 s" or "1 h 4 min". */
struct nb_figure nb_figure_of_seconds(double seconds);

/* Prints "bayesc: ", the printf-formatted text and a line feed. Control characters in the text, for
 * example in the name of a file, become spaces. On a terminal the line of a progress bar is erased
 * first. */
void nb_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether a person can be asked: standard input and standard error are terminals. */
bool nb_ask_is_possible(void);

/* Prints a printf-formatted question and " [y/N] " on standard error, with spaces for control
 * characters, and reads a line. Returns whether the line begins with y or Y. */
bool nb_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A progress bar on standard error, redrawn five times a second. One thread. */
struct nb_progress {
    bool is_shown; /* the caller may set it to false */
    const char *verb;
    uint64_t total, bytes, documents;
    uint64_t start, drawn; /* ns of the monotonic clock */
};

/* Starts the clock and, when standard error is a terminal, the bar. `verb`, borrowed, says what is
 * done to the documents ("trained"); `total` is in bytes, 0 if unknown. */
void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total);

/* Counts one more finished document of this many bytes. */
void nb_progress_add(struct nb_progress *progress, uint64_t bytes);

/* Erases the bar. */
void nb_progress_end(struct nb_progress *progress);

/* Seconds since the start. */
double nb_progress_seconds(const struct nb_progress *progress);

#endif
