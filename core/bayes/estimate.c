/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/estimate.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

/* Sizes are FIRST_LOGS times powers of GROWTH, so that few sizes exist and tables are shared. */
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

/* Tables are shared if their addends have equal bits. */
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

/* Returns the logarithms for this addend and size, with a new reference; NULL: out of memory. */
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

/* From here on Stirling's series has an error below 2e-14 (its next term: 1 / (1188 z^9)). */
#define LARGE 16.0

/* The series of ln Gamma(z) after its closed part (Abramowitz and Stegun 1964, 6.1.41). */
static double series(double z)
{
    double r = 1 / (z * z);
    return (1. / 12 - r * (1. / 360 - r * (1. / 1260 - r / 1680))) / z;
}

double nb_log_rising(double x, uint64_t n)
{
    double sum = 0;
    assert(x > 0);
    for (; n > 0 && (x < LARGE || n <= 2); n--, x++)
        sum += log(x);
    if (n == 0)
        return sum;
    /* ln Gamma(x + n) - ln Gamma(x), written so that large terms cancel before rounding. */
    double count = (double)n;
    return sum + count * log(x + count) + (x - 0.5) * log1p(count / x) - count + series(x + count) -
           series(x);
}

double nb_estimate_addend(enum nb_estimate estimate, double smoothing)
{
    switch (estimate) {
    case NB_ESTIMATE_MAP:
        return smoothing - 1;
    case NB_ESTIMATE_MLE:
        return 0;
    case NB_ESTIMATE_MEAN:
        break;
    }
    return smoothing;
}

bool nb_estimate_is_plain(const struct nb_settings *s)
{
    int kind = s->smoothing_by.kind;
    bool is_mean = s->estimate == NB_ESTIMATE_MEAN; /* then no estimate of a value is 0 */
    bool is_one = kind == NB_SMOOTHING_ONE || (kind == NB_SMOOTHING_VALUES && is_mean);
    return is_one && s->predict == NB_PREDICT_ESTIMATE &&
           nb_estimate_addend((enum nb_estimate)s->estimate, s->smoothing) > 0;
}

bool nb_estimate_is_by_word(const struct nb_settings *s)
{
    return s->smoothing_by.kind == NB_SMOOTHING_M && s->smoothing_by.p == NB_SMOOTHING_VOCABULARY;
}

struct nb_addends nb_estimate_addends_of_share(double m, double share)
{
    assert(share >= 0 && share <= 1);
    return (struct nb_addends){m * share, m * (1 - share)};
}

struct nb_addends nb_estimate_addends(const struct nb_settings *s, const char *label,
                                      uint64_t vocabulary)
{
    const struct nb_smoothing *by = &s->smoothing_by;
    enum nb_estimate estimate = (enum nb_estimate)s->estimate;
    double present = s->smoothing;
    if (by->kind == NB_SMOOTHING_M) {
        uint64_t kinds = s->event_model == NB_EVENT_BERNOULLI ? 2 : vocabulary;
        return nb_estimate_addends_of_share(s->smoothing, kinds > 0 ? 1 / (double)kinds : 0);
    }
    if (by->kind == NB_SMOOTHING_LABELS)
        present = nb_label_weights_find(by->labels, by->label_count, label);
    double absent = by->kind == NB_SMOOTHING_BETA ? by->beta : present;
    return (struct nb_addends){nb_estimate_addend(estimate, present),
                               nb_estimate_addend(estimate, absent)};
}

double nb_estimate_added(const struct nb_settings *s, struct nb_addends addends,
                         uint64_t vocabulary)
{
    if (s->smoothing_by.kind == NB_SMOOTHING_M)
        return s->smoothing;
    if (s->event_model == NB_EVENT_BERNOULLI)
        return addends.present + addends.absent;
    return addends.present * (double)vocabulary;
}

/* Returns ln of a numerator or denominator. For 0, sets *is_zero and returns 0. */
static double log_part(double part, bool *is_zero)
{
    *is_zero = !(part > 0);
    return *is_zero ? 0 : log(part);
}

double nb_estimate_absent(double documents, double having)
{
    static const double rounding = 1e-9;
    double absent = documents - having;
    return absent > rounding * documents ? absent : 0;
}

static struct nb_factor presence(struct nb_addends addends, const struct nb_word_counts *counts)
{
    struct nb_factor f;
    double absent = nb_estimate_absent(counts->of, counts->documents);
    f.log = log_part(counts->documents + addends.present, &f.is_zero);
    f.log -= log_part(absent + addends.absent, &f.is_pole);
    if (f.is_pole)
        f.log -= log(counts->of + addends.present + addends.absent);
    return f;
}

struct nb_factor nb_estimate_word(enum nb_event_model event_model, struct nb_addends addends,
                                  uint64_t documents, uint64_t all, struct nb_cell cell,
                                  uint32_t count)
{
    assert(all >= cell.occurrences);
    const struct nb_word_counts counts = {.occurrences = cell.occurrences,
                                          .documents = cell.documents,
                                          .all = (double)all,
                                          .of = (double)documents};
    return nb_estimate_counted(event_model, addends, &counts, count);
}

struct nb_factor nb_estimate_counted(enum nb_event_model event_model, struct nb_addends addends,
                                     const struct nb_word_counts *counts, uint32_t count)
{
    struct nb_factor f = {.is_pole = false};
    assert(addends.present >= 0 && addends.absent >= 0);
    switch (event_model) {
    case NB_EVENT_BERNOULLI:
        return presence(addends, counts);
    case NB_EVENT_BINARY:
        f.log = log_part(counts->documents + addends.present, &f.is_zero);
        return f;
    case NB_EVENT_COMPLEMENT:
        f.log = -(double)count * log(fmax(counts->all - counts->occurrences, 0) + addends.present);
        return f;
    case NB_EVENT_MULTINOMIAL:
        break;
    }
    f.log = count * log_part(counts->occurrences + addends.present, &f.is_zero);
    return f;
}

double nb_log_product_value(struct nb_log_product p)
{
    return p.zeros > 0 ? -(double)INFINITY : p.log;
}

double nb_log_evidence(double first, double second)
{
    bool is_neither = isinf(first) && isinf(second);
    return is_neither ? 0 : first - second;
}

double nb_factor_evidence(struct nb_factor first, struct nb_factor second)
{
    if (first.is_zero && second.is_zero)
        return 0;
    if (first.is_zero == second.is_zero)
        return first.log - second.log;
    return first.is_zero ? -(double)INFINITY : (double)INFINITY;
}
