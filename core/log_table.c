/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log_table.h"

#include <stdlib.h>

#include "core/base/error.h"

enum { FIRST_LOGS = 16 };

static int resize(struct nb_log_table *table, uint32_t size)
{
    double *logs = realloc(table->logs, size * sizeof *logs);
    if (logs == NULL)
        return NB_NO_MEMORY;
    for (uint32_t i = table->size; i < size; i++)
        logs[i] = log((double)i + table->addend);
    table->logs = logs;
    table->size = size;
    return 0;
}

int nb_log_table_init(struct nb_log_table *table, double addend)
{
    *table = (struct nb_log_table){.addend = addend};
    return resize(table, FIRST_LOGS);
}

void nb_log_table_deinit(struct nb_log_table *table)
{
    free(table->logs);
    *table = (struct nb_log_table){.logs = NULL};
}

int nb_log_table_grow(struct nb_log_table *table, uint64_t greatest)
{
    uint32_t size = table->size;
    while (size <= greatest && size < NB_LOG_TABLE_MOST)
        size *= 2;
    return size == table->size ? 0 : resize(table, size);
}
