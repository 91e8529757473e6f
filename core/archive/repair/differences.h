/* SPDX-License-Identifier: Apache-2.0
 *
 * Differences between a store and its ledger, counted and told in words. One thread.
 */
#ifndef NB_CORE_ARCHIVE_REPAIR_DIFFERENCES_H
#define NB_CORE_ARCHIVE_REPAIR_DIFFERENCES_H

#include <stdint.h>

#include "core/archive/repair/repair.h"

/* Where differences are told. */
struct nb_differences {
    nb_report_line *report;
    void *user;
    uint64_t count;
    uint64_t lost; /* of these, what the ledger had and has no more, or nobody else knows */
};
/* Counts a difference, and tells it unless many were told already. */
void nb_differ(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same of something that is lost. */
void nb_lose(struct nb_differences *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
