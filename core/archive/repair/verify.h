/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares a store with its ledger, for verification and for the report of a rebuild. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_VERIFY_H
#define NB_CORE_ARCHIVE_REPAIR_VERIFY_H

#include <stdint.h>

#include "core/archive/repair/repair.h"
#include "core/ledger/survey.h"

struct nb_engine;

/* Counts and reports differences between a store and its ledger. */
struct nb_differences {
    nb_report_line *report;
    void *user;
    uint64_t count;
    uint64_t lost; /* differences that are losses: data missing in the ledger, or without a copy */
};
/* Counts a difference, and reports it unless many were reported already. */
void nb_differ(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Counts and reports a loss. */
void nb_lose(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* As nb_lose, as a callback of nb_survey_read; `user` is a struct nb_differences. */
void nb_lose_entry(void *user, const char *line);

/* Compares everything in the store with the results of the ledger. `survey` is filled in; the
 * caller deinits it. Returns 0 (also when something differs) or a code. */
int nb_compare(struct nb_engine *engine, struct nb_survey *survey, struct nb_differences *d,
               struct nb_error *error);

#endif
