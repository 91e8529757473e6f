/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/drift.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    BINS = 32,
    BLOCK = 250, /* verdicts that are counted together; their number fits a byte */
    RECENT_BLOCKS = NB_DRIFT_RECENT / BLOCK,
    BLOCKS = (NB_DRIFT_RECENT + NB_DRIFT_BEFORE) / BLOCK + 1 /* one is being filled */
};
static const double LOG_ODDS_MOST = 16; /* beyond it there is one bin on either side */

struct nb_drift {
    pthread_mutex_t lock; /* innermost lock: no other is taken while it is held */
    uint32_t kind;
    unsigned filling;    /* index of the block that is being filled */
    unsigned in_filling; /* verdicts in that block */
    unsigned full;       /* full blocks before it */
    uint8_t blocks[BLOCKS][BINS];
};

struct nb_drift *nb_drift_new(void)
{
    struct nb_drift *drift = calloc(1, sizeof *drift);
    if (drift != NULL)
        pthread_mutex_init(&drift->lock, NULL);
    return drift;
}

void nb_drift_free(struct nb_drift **drift)
{
    if (*drift != NULL)
        pthread_mutex_destroy(&(*drift)->lock);
    free(*drift);
    *drift = NULL;
}

static void clear(struct nb_drift *d)
{
    d->filling = d->in_filling = d->full = 0;
    memset(d->blocks[0], 0, sizeof d->blocks[0]);
}

void nb_drift_reset(struct nb_drift *drift)
{
    pthread_mutex_lock(&drift->lock);
    clear(drift);
    pthread_mutex_unlock(&drift->lock);
}

static unsigned bin_of(double probability)
{
    double log_odds = log(probability) - log1p(-probability);
    double place = (fmax(-LOG_ODDS_MOST, fmin(LOG_ODDS_MOST, log_odds)) + LOG_ODDS_MOST) * BINS /
                   (2 * LOG_ODDS_MOST);
    unsigned bin = (unsigned)place;
    return bin < BINS ? bin : BINS - 1;
}

static void next_block(struct nb_drift *d)
{
    d->filling = (d->filling + 1) % BLOCKS;
    d->in_filling = 0;
    d->full += d->full < BLOCKS - 1;
    memset(d->blocks[d->filling], 0, sizeof d->blocks[0]);
}

void nb_drift_add(struct nb_drift *drift, uint32_t kind, double probability)
{
    unsigned bin = bin_of(probability);
    pthread_mutex_lock(&drift->lock);
    if (drift->kind != kind)
        clear(drift);
    drift->kind = kind;
    drift->blocks[drift->filling][bin]++;
    if (++drift->in_filling == BLOCK)
        next_block(drift);
    pthread_mutex_unlock(&drift->lock);
}

/* Adds up the blocks from the `from`th full one, counted from the newest, up to the one before
 * `to`. */
static void sum(const struct nb_drift *d, unsigned from, unsigned to, double counts[BINS])
{
    memset(counts, 0, BINS * sizeof *counts);
    for (unsigned i = from; i < to; i++) {
        const uint8_t *block = d->blocks[(d->filling + BLOCKS - 1 - i) % BLOCKS];
        for (unsigned bin = 0; bin < BINS; bin++)
            counts[bin] += block[bin];
    }
}

static double distance_of(const double a[BINS], double a_size, const double b[BINS], double b_size)
{
    double most = 0, below_a = 0, below_b = 0;
    for (unsigned bin = 0; bin < BINS; bin++) {
        below_a += a[bin] / a_size;
        below_b += b[bin] / b_size;
        most = fmax(most, fabs(below_a - below_b));
    }
    return fmin(most, 1);
}

/* The upper tail of Kolmogorov's distribution, an alternating series that ends quickly; below 0.2
 * it is 1 to twelve digits. */
static double kolmogorov(double x)
{
    double tail = 0;
    if (x < 0.2)
        return 1;
    for (int k = 1; k <= 100; k++)
        tail += (k % 2 == 1 ? 2 : -2) * exp(-2 * (double)k * k * x * x);
    return fmax(0, fmin(1, tail));
}

bool nb_drift_compare(struct nb_drift *drift, struct nb_drift_figures *figures)
{
    double recent[BINS], before[BINS];
    pthread_mutex_lock(&drift->lock);
    unsigned full = drift->full;
    bool is_enough = full >= 2 * RECENT_BLOCKS;
    if (is_enough) {
        sum(drift, 0, RECENT_BLOCKS, recent);
        sum(drift, RECENT_BLOCKS, full, before);
    }
    pthread_mutex_unlock(&drift->lock);
    if (!is_enough)
        return false;
    double n = NB_DRIFT_RECENT, m = (double)(full - RECENT_BLOCKS) * BLOCK;
    double size = sqrt(n * m / (n + m));
    double distance = distance_of(recent, n, before, m);
    *figures = (struct nb_drift_figures){.recent = NB_DRIFT_RECENT,
                                         .before = (uint64_t)(full - RECENT_BLOCKS) * BLOCK,
                                         .distance = distance,
                                         .p = kolmogorov((size + 0.12 + 0.11 / size) * distance)};
    return true;
}
