/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources that a model has learned from: those of its documents' current entries, counted from
 * the ledger. Any thread; a call takes long (0.6 us a short text, 2 us a mail), and belongs to one
 * thread.
 */
#ifndef NB_CORE_JOBS_UNDO_SOURCES_H
#define NB_CORE_JOBS_UNDO_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_engine;

/* A source, and the documents whose current entries it has made: an undo of the source takes these
 * back. */
struct nb_source {
    char *name;          /* owned; may be empty */
    uint64_t documents;  /* with a label or without one */
    uint64_t unlabelled; /* of these, without one */
    int64_t first, last; /* milliseconds since 1970: of their changes */
};

struct nb_sources {
    struct nb_source *rows; /* owned; most documents first, of equals by name */
    size_t count, room;
    uint64_t documents; /* of all rows */
    uint64_t next;      /* entry to go on with, when there are more; else 0 */
};
void nb_sources_deinit(struct nb_sources *sources);

enum { NB_SOURCES_MOST = 1000 /* rows of one call */ };

/* Counts the documents whose entries have numbers from `from` on, until `most` are counted or a
 * further source would exceed NB_SOURCES_MOST rows; then sets `next`. A source may be in the rows
 * of several calls. The caller deinits `sources` in any case. `stop` (NULL: never) is asked now and
 * then. Returns 0, NB_NOT_FOUND, NB_DAMAGED, NB_STOPPING, NB_IO or NB_NO_MEMORY. */
int nb_engine_sources(struct nb_engine *engine, struct nb_string model, uint64_t from,
                      uint64_t most, bool (*stop)(void *user), void *user,
                      struct nb_sources *sources, struct nb_error *error);

#endif
