/* SPDX-License-Identifier: Apache-2.0
 *
 * A lease: a snapshot for a reader that may be slow, such as a backup that is sent to a client. The
 * writer may take the snapshot back at any time between two reads. So a slow reader neither holds
 * up a growing store nor keeps the pages of deleted data in use for ever.
 *
 * Threads: a lease belongs to one thread at a time, which may be another one from call to call.
 */
#ifndef NB_CORE_STORE_LEASE_H
#define NB_CORE_STORE_LEASE_H

#include "core/store/store.h"

struct nb_lease;

/* Takes a snapshot of the last commit for at most `seconds`. After that time the next transaction
 * takes the snapshot back; while nothing is written, an old snapshot does no harm. Waits while the
 * writer wants no readers. On success the caller owns *lease. NB_IO: as nb_store_snapshot;
 * NB_NO_MEMORY. */
int nb_lease_take(struct nb_store *store, uint64_t seconds, struct nb_lease **lease,
                  struct nb_error *error);
/* Begins a read, which should take at most some milliseconds, because the writer may have to wait
 * for nb_lease_leave. `view` is borrowed until then. NB_IO: the snapshot was taken back; the text
 * says why. */
int nb_lease_enter(struct nb_lease *lease, const struct nb_view **view, struct nb_error *error);
void nb_lease_leave(struct nb_lease *lease);
/* Ends the snapshot, frees the lease and sets *lease to NULL. *lease may be NULL. */
void nb_lease_end(struct nb_lease **lease);

/* ---- for the files of this folder; the writer ------------------------------------------------ */

/* Takes back the snapshots whose time has run out. */
void nb_leases_expire(struct nb_store *store);
/* Takes all snapshots back, and gives none until nb_leases_open. */
void nb_leases_close(struct nb_store *store);
void nb_leases_open(struct nb_store *store);

#endif
