/* SPDX-License-Identifier: Apache-2.0
 *
 * A comparison of a store with its ledger, under way. For core/archive/repair alone; one thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_COMPARING_H
#define NB_CORE_ARCHIVE_REPAIR_COMPARING_H

#include "core/archive/repair/differences.h"
#include "core/ledger/entries/survey.h"

struct nb_engine;

struct nb_comparing {
    struct nb_engine *engine;
    const struct nb_view *view;
    struct nb_survey *survey;
    struct nb_differences *d;
    struct nb_entry entry;
    /* Of the table that is being read. */
    uint64_t *rows; /* owned; per surveyed model */
    uint64_t strangers;
};

/* Reads every table but the ledger: checksums, rows of models that do not exist, numbers of rows.
 * Reports differences. Returns 0, NB_NO_MEMORY or NB_IO. */
int nb_compare_tables(struct nb_comparing *comparing, struct nb_error *error);

/* Looks for the index rows of every entry. Returns as nb_compare_tables. */
int nb_compare_entries(struct nb_comparing *comparing, struct nb_error *error);

#endif
