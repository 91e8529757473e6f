/* SPDX-License-Identifier: Apache-2.0
 *
 * A progress bar on standard error, redrawn five times a second. One thread.
 */
#ifndef NB_CLIENT_PROGRESS_H
#define NB_CLIENT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

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
