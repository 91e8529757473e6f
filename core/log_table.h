/* SPDX-License-Identifier: Apache-2.0
 *
 * ln(i + addend) for small i: most counts are small, and looking up is ten times as fast as log().
 * The table grows with the counts that there are, so that a model of a hundred words has a table of
 * a hundred logarithms: a daemon may hold ten thousand such models. Looking up may be done by any
 * number of threads, growing by one alone.
 */
#ifndef NB_CORE_LOG_TABLE_H
#define NB_CORE_LOG_TABLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { NB_LOG_TABLE_MOST = 4096 }; /* 32 KiB, which stays in the cache */

struct nb_log_table {
    double *logs;  /* owned; never empty after nb_log_table_init */
    uint32_t size; /* of `logs` */
    double addend;
};

/* Returns 0 or NB_NO_MEMORY; deinit either way. */
int nb_log_table_init(struct nb_log_table *table, double addend);
void nb_log_table_deinit(struct nb_log_table *table);

/* Makes it hold the counts up to `greatest`, or NB_LOG_TABLE_MOST of them. Returns 0 or
 * NB_NO_MEMORY, with which it stays as it is. */
int nb_log_table_grow(struct nb_log_table *table, uint64_t greatest);

/* The same bits, whether they are in the table or not. */
static inline double nb_log_table_at(const struct nb_log_table *table, uint64_t count)
{
    return count < table->size ? table->logs[count] : log((double)count + table->addend);
}

#endif
