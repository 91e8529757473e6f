/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts and reports differences between a store and its ledger. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_DIFFERENCES_H
#define NB_CORE_ARCHIVE_REPAIR_DIFFERENCES_H

#include <stdint.h>

#include "core/archive/repair/repair.h"

/* Receives the differences. */
struct nb_differences {
    nb_report_line *report;
    void *user;
    uint64_t count;
    uint64_t lost; /* of these, losses: data gone from the ledger, or data that had no other copy */
};
/* Counts a difference, and reports it unless many were reported already. */
void nb_differ(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Counts and reports a loss. */
void nb_lose(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
