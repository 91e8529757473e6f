/* SPDX-License-Identifier: Apache-2.0
 *
 * What people see: tables, colours, numbers, and a bar that shows how far a long command is. One
 * thread.
 */
#ifndef NB_CLIENT_TERMINAL_H
#define NB_CLIENT_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/base/buffer.h"

enum nb_colour { NB_PLAIN, NB_BOLD, NB_FAINT, NB_RED, NB_GREEN, NB_YELLOW };

/* The sequence that begins a colour, or "" when `out` is no terminal, NO_COLOR is set
 * (no-color.org) or TERM is dumb. NB_PLAIN ends colours. */
const char *nb_colour(FILE *out, enum nb_colour colour);

/* Columns that a text takes: bytes that begin a UTF-8 sequence. */
size_t nb_text_width(const char *text);

/* Copies at most `most` columns of a text into `out` (emptied first, NUL-terminated), control
 * characters as spaces: a document's words must not steer the terminal. */
void nb_text_safe(const char *text, size_t most, struct nb_buffer *out);

/* A table is gathered row by row and printed with columns as wide as they need to be. */
struct nb_table {
    struct nb_buffer cells; /* NUL-terminated, row after row */
    size_t columns;
    size_t count;      /* cells */
    bool is_right[16]; /* columns of numbers */
    bool is_broken;    /* memory ran out */
};

/* The first row; a name that begins with '>' is that of a column of numbers. */
void nb_table_head(struct nb_table *table, const char *const *names, size_t count);
void nb_table_cell(struct nb_table *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void nb_table_print(struct nb_table *table, FILE *out);
void nb_table_deinit(struct nb_table *table);

/* 1234567 as "1,234,567". */
struct nb_figure {
    char text[32];
};
struct nb_figure nb_figure_of(uint64_t number);
/* Seconds as "3 s", "2 min 5 s", "1 h 4 min". */
struct nb_figure nb_figure_of_seconds(double seconds);

/* Progress on standard error, redrawn five times a second; nothing at all where that is no
 * terminal. `total` in bytes, 0: not known. */
struct nb_progress {
    bool is_shown;
    const char *verb;
    uint64_t total, bytes, documents;
    uint64_t start, drawn; /* ns */
};
void nb_progress_start(struct nb_progress *progress, const char *verb, uint64_t total);
void nb_progress_add(struct nb_progress *progress, uint64_t bytes);
/* Removes the bar. */
void nb_progress_end(struct nb_progress *progress);
double nb_progress_seconds(const struct nb_progress *progress);

#endif
