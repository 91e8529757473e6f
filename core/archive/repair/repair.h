/* SPDX-License-Identifier: Apache-2.0
 *
 * Verifies, rebuilds and restores a store. One thread; no daemon may be running on the store.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_REPAIR_H
#define NB_CORE_ARCHIVE_REPAIR_REPAIR_H

#include "core/model/engine_settings.h"

struct nb_error;

/* Receives a line of a report without its line feed, borrowed for the call. */
typedef void nb_report_line(void *user, const char *line);

/* Reads every table of the store, computes everything afresh from the ledger, and calls `report`
 * with a line for each difference. Returns 0 when nothing differs, 1 when something does, or a
 * code (NB_NOT_FOUND: there is no store). */
int nb_engine_verify(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                     struct nb_error *error);

/* Computes everything anew from the ledger, and calls `report` with a line for each difference.
 * Damaged entries are lost; a line names each. The store of a node keeps its place in the stream if
 * nothing is lost. The old file stays in the directory as data.mdb.old. Returns 0 when nothing
 * differed, 1 when something did, or a code; then the store is unchanged. */
int nb_engine_rebuild(const struct nb_engine_settings *settings, nb_report_line *report, void *user,
                      struct nb_error *error);

/* Restores the backup in the file `name` ("-": standard input) into the data directory, which must
 * be empty or missing; verifies the new store; and calls `report` with a line for each difference,
 * which the saved store had already. Afterwards the directory has the whole store or none. Returns
 * 0 when nothing differs, 1 when something does, or a code; then the directory has no store:
 * NB_CONFLICT (it was not empty), NB_LOCKED (another process restores into it), NB_INVALID (the
 * file is no backup), NB_VERSION (a newer one), NB_CORRUPT (damaged), NB_DISK_FULL ... */
int nb_engine_restore(const struct nb_engine_settings *settings, const char *name,
                      nb_report_line *report, void *user, struct nb_error *error);

/* Requirements for another node's store. */
struct nb_node_wanted {
    uint64_t streams; /* bit for each stream in which the store must have a place */
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
