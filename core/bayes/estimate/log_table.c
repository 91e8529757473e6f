/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/estimate/log_table.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* Sizes are FIRST_LOGS times powers of GROWTH, so that few different ones are shared. */
enum { FIRST_LOGS = 16, GROWTH = 2, BUCKETS = 256 };

struct nb_shared_logs {
    struct nb_shared_logs *next;
    size_t references;
    double addend;
    uint32_t size;
    double logs[];
};

/* The logarithms in use, by hash; under the mutex. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct nb_shared_logs *buckets[BUCKETS];
static atomic_size_t bytes;

static size_t bytes_of(uint32_t size)
{
    return sizeof(struct nb_shared_logs) + size * sizeof(double);
}

/* Equal bits have equal logarithms. */
static uint64_t bits_of(double addend)
{
    uint64_t bits;
    memcpy(&bits, &addend, sizeof bits);
    return bits;
}

static struct nb_shared_logs **bucket_of(double addend, uint32_t size)
{
    uint64_t mixed = (bits_of(addend) + size) * UINT64_C(0x9E3779B97F4A7C15);
    return &buckets[mixed >> 56];
}

static struct nb_shared_logs *make(double addend, uint32_t size)
{
    struct nb_shared_logs *made = malloc(bytes_of(size));
    if (made == NULL)
        return NULL;
    *made = (struct nb_shared_logs){.addend = addend, .size = size};
    for (uint32_t i = 0; i < size; i++)
        made->logs[i] = log((double)i + addend);
    atomic_fetch_add(&bytes, bytes_of(size));
    return made;
}

/* The logarithms of these, with a reference more; NULL: out of memory. */
static struct nb_shared_logs *acquire(double addend, uint32_t size)
{
    struct nb_shared_logs **bucket = bucket_of(addend, size);
    pthread_mutex_lock(&mutex);
    struct nb_shared_logs *shared = *bucket;
    while (shared != NULL && (bits_of(shared->addend) != bits_of(addend) || shared->size != size))
        shared = shared->next;
    if (shared == NULL) {
        shared = make(addend, size);
        if (shared != NULL) {
            shared->next = *bucket;
            *bucket = shared;
        }
    }
    if (shared != NULL)
        shared->references++;
    pthread_mutex_unlock(&mutex);
    return shared;
}

static void release(struct nb_shared_logs *shared)
{
    pthread_mutex_lock(&mutex);
    assert(shared->references > 0);
    if (--shared->references == 0) {
        struct nb_shared_logs **at = bucket_of(shared->addend, shared->size);
        while (*at != shared)
            at = &(*at)->next;
        *at = shared->next;
        atomic_fetch_sub(&bytes, bytes_of(shared->size));
        free(shared);
    }
    pthread_mutex_unlock(&mutex);
}

static int resize(struct nb_log_table *table, uint32_t size)
{
    struct nb_shared_logs *shared = acquire(table->addend, size);
    if (shared == NULL)
        return NB_NO_MEMORY;
    if (table->shared != NULL)
        release(table->shared);
    table->shared = shared;
    table->logs = shared->logs;
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
    if (table->shared != NULL)
        release(table->shared);
    *table = (struct nb_log_table){.logs = NULL};
}

int nb_log_table_grow(struct nb_log_table *table, uint64_t greatest)
{
    uint32_t size = table->size;
    assert(table->shared != NULL);
    while (size <= greatest && size < NB_LOG_TABLE_MOST)
        size *= GROWTH;
    return size == table->size ? 0 : resize(table, size);
}

size_t nb_log_tables_memory(void)
{
    return atomic_load(&bytes);
}
