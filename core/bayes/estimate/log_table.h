/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of ln(i + addend) for small i: most counts are small, and a look-up is ten times as fast
 * as log().
 *
 * The logarithms are shared: all tables of a process that have the same addend and size read the
 * same memory, because most models have the same settings, and a daemon may hold 100,000 models. A
 * table is as large as the present counts need. Any number of threads may look up; one thread at a
 * time may init, grow or deinit a table.
 */
#ifndef NB_CORE_BAYES_ESTIMATE_LOG_TABLE_H
#define NB_CORE_BAYES_ESTIMATE_LOG_TABLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* 512 KiB, where counts are as large. Of these a feature that labels share reads small counts, and
 * some beside the number of its documents. */
enum { NB_LOG_TABLE_MOST = 65536 };

struct nb_shared_logs;
struct nb_log_table {
    const double *logs; /* of `shared`; never empty after nb_log_table_init */
    uint32_t size;      /* of `logs` */
    double addend;
    struct nb_shared_logs *shared; /* counted reference; NULL before init and after deinit */
};

/* Returns 0 or NB_NO_MEMORY; deinit either way. */
int nb_log_table_init(struct nb_log_table *table, double addend);
void nb_log_table_deinit(struct nb_log_table *table);

/* Grows the table to hold the counts up to `greatest`, at most NB_LOG_TABLE_MOST of them. No thread
 * may look up meanwhile. Returns 0, or NB_NO_MEMORY with the table unchanged. */
int nb_log_table_grow(struct nb_log_table *table, uint64_t greatest);

/* Returns ln(count + addend): the same bits, whether from the table or from log(). */
static inline double nb_log_table_at(const struct nb_log_table *table, uint64_t count)
{
    return count < table->size ? table->logs[count] : log((double)count + table->addend);
}

/* Bytes of all logarithms in the process; shared ones count once. Any thread. */
size_t nb_log_tables_memory(void);

#endif
