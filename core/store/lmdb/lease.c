/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/lmdb/lease.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/store/lmdb/store_private.h"

enum {
    ALONE_SECONDS = 10, /* the writer waits for snapshots to end */
    OPEN_SECONDS = 2,   /* a lease waits for the writer, as a snapshot does */
};

/* Everything is under the store's `lease_lock`, which nb_lease_enter holds until nb_lease_leave. */
struct nb_lease {
    struct nb_store *store;
    struct nb_view view; /* ended when it was taken back */
    uint64_t deadline;   /* nb_clock_monotonic */
    struct nb_error why; /* it was taken back */
    struct nb_lease *next;
};

/* The writer looks at the earliest deadline without the lock. `lease_lock` is held. */
static void note_deadline(struct nb_store *store)
{
    uint64_t earliest = UINT64_MAX;
    for (const struct nb_lease *l = store->leases; l != NULL; l = l->next)
        if (l->view.transaction != NULL && l->deadline < earliest)
            earliest = l->deadline;
    atomic_store(&store->lease_deadline, earliest);
}

/* Adds the lease, which the writer may take back at once. Unless the writer wants to be alone: then
 * the lease loses its snapshot, which the writer would have to wait for. Returns whether it was
 * added. */
static bool add(struct nb_store *store, struct nb_lease *lease)
{
    pthread_mutex_lock(&store->lease_lock);
    bool may = !store->leases_closed;
    if (may) {
        lease->next = store->leases;
        store->leases = lease;
        note_deadline(store);
    } else {
        nb_store_snapshot_end(&lease->view);
    }
    pthread_mutex_unlock(&store->lease_lock);
    return may;
}

/* Waits until leases are given again; false: in vain. */
static bool wait_until_open(struct nb_store *store, const struct timespec *until)
{
    int rc = 0;
    pthread_mutex_lock(&store->lease_lock);
    while (store->leases_closed && rc != ETIMEDOUT)
        rc = pthread_cond_clockwait(&store->leases_opened, &store->lease_lock, CLOCK_MONOTONIC,
                                    until);
    bool is_open = !store->leases_closed;
    pthread_mutex_unlock(&store->lease_lock);
    return is_open;
}

int nb_lease_take(struct nb_store *store, uint64_t seconds, struct nb_lease **out,
                  struct nb_error *error)
{
    struct nb_lease *lease = calloc(1, sizeof *lease);
    struct timespec until;
    if (lease == NULL)
        return nb_error_no_memory(error);
    lease->store = store;
    lease->deadline = nb_clock_monotonic() + seconds * 1000000000u;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += OPEN_SECONDS;
    /* Before the lock is taken: a snapshot may wait for the writer, too. */
    int rc = nb_store_snapshot(store, &lease->view, error);
    while (rc == 0 && !add(store, lease))
        rc = wait_until_open(store, &until)
                 ? nb_store_snapshot(store, &lease->view, error)
                 : nb_error_set(error, NB_IO, "the store is busy growing: try again");
    if (rc != 0)
        free(lease);
    else
        *out = lease;
    return rc;
}

int nb_lease_enter(struct nb_lease *lease, const struct nb_view **view, struct nb_error *error)
{
    pthread_mutex_lock(&lease->store->lease_lock);
    *view = &lease->view;
    if (lease->view.transaction != NULL)
        return 0;
    int rc = nb_error_set(error, lease->why.code, "%s", lease->why.text);
    pthread_mutex_unlock(&lease->store->lease_lock);
    return rc;
}

void nb_lease_leave(struct nb_lease *lease)
{
    pthread_mutex_unlock(&lease->store->lease_lock);
}

void nb_lease_end(struct nb_lease **out)
{
    struct nb_lease *lease = *out;
    *out = NULL;
    if (lease == NULL)
        return;
    struct nb_store *store = lease->store;
    pthread_mutex_lock(&store->lease_lock);
    nb_store_snapshot_end(&lease->view);
    struct nb_lease **at = &store->leases;
    while (*at != lease)
        at = &(*at)->next;
    *at = lease->next;
    note_deadline(store);
    pthread_mutex_unlock(&store->lease_lock);
    free(lease);
}

/* ---- the writer ------------------------------------------------------------------------------ */

/* Takes back what has its deadline before `now`. `lease_lock` is held. */
static void take_back(struct nb_store *store, uint64_t now, const char *why)
{
    for (struct nb_lease *l = store->leases; l != NULL; l = l->next) {
        if (l->view.transaction == NULL || l->deadline >= now)
            continue;
        nb_store_snapshot_end(&l->view);
        nb_error_set(&l->why, NB_IO, "%s", why);
    }
    note_deadline(store);
}

void nb_leases_expire(struct nb_store *store)
{
    uint64_t now = nb_clock_monotonic();
    if (atomic_load(&store->lease_deadline) >= now)
        return;
    pthread_mutex_lock(&store->lease_lock);
    take_back(store, now, "it took too long: the store may not keep old data for it any more");
    pthread_mutex_unlock(&store->lease_lock);
}

void nb_leases_close(struct nb_store *store)
{
    pthread_mutex_lock(&store->lease_lock);
    assert(!store->leases_closed);
    store->leases_closed = true;
    take_back(store, UINT64_MAX, "the store had to grow, or to be opened again: try again");
    pthread_mutex_unlock(&store->lease_lock);
}

void nb_leases_open(struct nb_store *store)
{
    pthread_mutex_lock(&store->lease_lock);
    store->leases_closed = false;
    pthread_cond_broadcast(&store->leases_opened);
    pthread_mutex_unlock(&store->lease_lock);
}

int nb_store_enter_alone(struct nb_store *store, struct nb_error *error)
{
    nb_leases_close(store);
    bool alone = nb_gate_close(&store->gate, ALONE_SECONDS);
    nb_leases_open(store);
    if (alone)
        return 0;
    return nb_error_set(error, NB_IO,
                        "the store waits for a long export or listing to end: try again");
}
