/* SPDX-License-Identifier: Apache-2.0
 *
 * A daemon's log: each line is key=value text or JSON, written to standard error in one piece.
 * Under systemd, events go to the journal with their fields. Any thread. Tokens and texts of
 * documents are never logged.
 */
#ifndef NB_SERVER_BASE_LOG_H
#define NB_SERVER_BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

/* Bytes of a value that are logged; the rest is cut off. */
enum { NB_LOG_VALUE_MOST = 256 };

enum nb_log_kind { NB_LOG_TEXT, NB_LOG_NUMBER, NB_LOG_COUNT };

struct nb_log_field {
    const char *name; /* [a-z_]+ */
    enum nb_log_kind kind;
    struct nb_string text; /* any bytes; borrowed */
    double number;
    uint64_t count;
};

struct nb_log_field nb_log_text(const char *name, struct nb_string text);
struct nb_log_field nb_log_number(const char *name, double number);
struct nb_log_field nb_log_count(const char *name, uint64_t count);

/* Appends "what name=value name=\"value\"". A value is quoted if it has bytes other than visible
 * ASCII, or one of = " \; in quotes, a \ precedes " and \, and bytes other than visible ASCII and
 * the blank are written as \xNN. Returns 0 or NB_NO_MEMORY. */
int nb_log_write_text(struct nb_buffer *out, const char *what, const struct nb_log_field *fields,
                      size_t count);

/* In the order of the values of the option [log] level. */
enum nb_log_level { NB_LOG_ERROR, NB_LOG_WARNING, NB_LOG_INFO, NB_LOG_DEBUG };

/* Sets the level; lines above it are dropped. Under systemd (standard error is the journal's) each
 * line begins with the "<3>" that sd-daemon(3) describes. Call it once, before other threads
 * start. */
void nb_log_setup(enum nb_log_level level);

/* Changes the level, at any time. */
void nb_log_set_level(enum nb_log_level level);

/* Appends a line, without its line feed: `level` by name, what happened, and its fields. 0 or
 * NB_NO_MEMORY. */
typedef int nb_log_form(struct nb_buffer *out, const char *level, const char *what,
                        const struct nb_log_field *fields, size_t count);

/* Sets another form of lines than key=value, at any time; NULL restores key=value. */
void nb_log_set_form(nb_log_form *form);

/* Sets the program name in lines outside of the journal: "bayesd" unless set; `name` is borrowed.
 * Call it once, before other threads start. */
void nb_log_set_name(const char *name);

/* Whether a line of this level would be written. */
bool nb_log_wants(enum nb_log_level level);

/* Writes a line: `format` gives "what happened key=value ...". Control characters and bytes that
 * are not UTF-8 become '?'. */
void nb_log(enum nb_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes an event. Its fields may come from any source: hostile bytes are escaped. */
void nb_log_event(enum nb_log_level level, const char *what, const struct nb_log_field *fields,
                  size_t count);

/* Bounds the lines of one kind: NB_LOG_BOUND in each ten seconds, which begin where the clock says.
 * Zero-initialized. */
enum { NB_LOG_BOUND = 100, NB_LOG_BOUND_SECONDS = 10 };
struct nb_log_bound {
    atomic_uint_fast64_t window; /* the present ten seconds, counted from 1 */
    atomic_uint_fast64_t lines;  /* that were asked for in them */
};

/* Returns whether one more line may be written at `now` (nb_clock_monotonic). Sets *dropped to the
 * lines that were refused in the last ten seconds with lines, if this is the first line after them,
 * else to 0. Any thread; where threads meet between two windows some lines more or fewer pass. */
bool nb_log_bound_take(struct nb_log_bound *bound, uint64_t now, uint64_t *dropped);

/* Formats one line into `line`, NUL-terminated, line feed included; returns its length. For nb_log
 * and its test. */
size_t nb_log_format(char *line, size_t room, enum nb_log_level level, bool journal,
                     const char *text);

#endif
