/* SPDX-License-Identifier: Apache-2.0
 *
 * Verification, rebuilding and restoring of a store. One thread; no daemon may be running on the
 * store.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_REPAIR_H
#define NB_CORE_ARCHIVE_REPAIR_REPAIR_H

#include "core/model/live/engine_settings.h"

struct nb_error;

/* Receives a line without its line feed; it is borrowed for the call. */
typedef void nb_report_line(void *user, const char *line);

/* Reads every table of the store, computes everything afresh from the ledger, and calls `report`
 * with a line for each difference. Returns 0 when nothing differs, 1 when something does, or a
 * code (NB_NOT_FOUND: there is no store). */
int nb_engine_verify(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                     struct nb_error *error);

/* Computes everything but the ledger anew from the ledger, and calls `report` with a line for each
 * difference. Damaged entries are lost; a line names each. A node of several keeps its place in the
 * stream if nothing is lost. The old file stays in the directory as data.mdb.old. Returns 0 when
 * nothing differed, 1 when something did, or a code, with the store as it was. */
int nb_engine_rebuild(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                      struct nb_error *error);

/* Restores the backup in the file `name` ("-": standard input) into the data directory, which must
 * be empty or missing; verifies it; and calls `report` with a line for each difference, which the
 * saved store had already. The directory ends up with the whole store or none. Returns 0 when
 * nothing differs, 1 when something does, or a code, and the directory is empty: NB_CONFLICT (it
 * was not), NB_LOCKED (another process restores into it), NB_INVALID, NB_VERSION, NB_CORRUPT (the
 * file is no backup, a newer one, damaged), NB_DISK_FULL ... */
int nb_engine_restore(const struct nb_engine_settings *settings, const char *name,
                      nb_report_line *report, void *user, struct nb_error *error);

/* Requirements for another node's store. */
struct nb_node_wanted {
    uint64_t streams;   /* streams in which it must have a place: a bit for each */
    uint64_t *position; /* set: the sum of its places */
};

/* Restores a backup of another node as nb_engine_restore does. Reads it from the descriptor `file`,
 * which stays the caller's; `name` is for errors. Further codes: NB_CONFLICT (the backup has no
 * place in the streams, or its key differs from the settings), NB_CORRUPT (verification found a
 * difference). */
int nb_engine_restore_node(const struct nb_engine_settings *settings, int file, const char *name,
                           const struct nb_node_wanted *wanted, nb_report_line *report, void *user,
                           struct nb_error *error);

/* If the directory `fresh` in the data directory has a store, puts it in place of the present
 * store, which stays as data.mdb.old and journal.old, and sets *replaced. NB_LOCKED: a daemon runs
 * on the store. */
int nb_engine_replace(const char *directory, const char *fresh, bool *replaced,
                      struct nb_error *error);

#endif
