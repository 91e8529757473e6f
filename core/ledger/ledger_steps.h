/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks over the current entries of a model in steps, each in a snapshot of its own, so that the
 * store keeps no old page for longer than a step takes. A step also ends when the store needs its
 * snapshot back (nb_store_wanted). Entries that are appended while a walk runs are visited, too.
 * Any thread; a walk belongs to one.
 */
#ifndef NB_CORE_LEDGER_LEDGER_STEPS_H
#define NB_CORE_LEDGER_LEDGER_STEPS_H

#include "core/ledger/ledger.h"

struct nb_ledger_steps {
    struct nb_store *store; /* borrowed */
    uint32_t model;
    enum nb_ledger_only only;
    size_t most; /* most entries of one step */
    /* Returns 0 to go on, or NB_STEP_ENDS: the next step begins with this entry. Any other value
     * ends the walk, which returns it. */
    nb_ledger_visit *visit;
    void *user;
    uint64_t from; /* number of the entry that comes next */
    bool is_done;  /* no entry is left */
    /* In the present step: */
    struct nb_view view;
    size_t seen; /* number of entries visited */
};
enum { NB_STEP_ENDS = 1 };

/* Takes a step. Returns 0, a code, or what `visit` returns. */
int nb_ledger_step(struct nb_ledger_steps *steps, struct nb_error *error);

/* Returns 0, or NB_STOPPING with its text if `stop` (NULL: never) returns true. For each step of a
 * long task. */
int nb_step_check(bool (*stop)(void *user), void *user, struct nb_error *error);

/* Takes all steps that are left, with nb_step_check before each. Returns as both do. */
int nb_ledger_steps_all(struct nb_ledger_steps *steps, bool (*stop)(void *user), void *user,
                        struct nb_error *error);

#endif
