/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/wishes.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { AWAITED = 20 /* a choice is old when this part of the documents has changed */ };

static int falling(const void *a, const void *b)
{
    double x = ((const struct nb_wish_verdict *)a)->probability;
    double y = ((const struct nb_wish_verdict *)b)->probability;
    return (x < y) - (x > y);
}

struct nb_wish nb_wish_choose(struct nb_wish_verdict *verdicts, size_t count, double precision)
{
    struct nb_wish best = {.threshold = (double)INFINITY};
    uint64_t right = 0;
    if (count > 0)
        qsort(verdicts, count, sizeof *verdicts, falling);
    for (size_t i = 0; i < count; i++) {
        double p = verdicts[i].probability;
        bool is_last = i + 1 == count || verdicts[i + 1].probability < p;
        right += verdicts[i].is_right;
        if (is_last && (double)right >= precision * (double)(i + 2))
            best = (struct nb_wish){p, i + 1, right};
    }
    return best;
}

int nb_wishes_new(const struct nb_settings *settings, struct nb_wishes **wishes)
{
    *wishes = NULL;
    if (!nb_label_thresholds_have(settings->thresholds, settings->threshold_count,
                                  NB_THRESHOLD_PRECISION))
        return 0;
    struct nb_wishes *w = calloc(1, sizeof *w);
    if (w == NULL)
        return NB_NO_MEMORY;
    w->count = settings->threshold_count;
    w->found = calloc(w->count, sizeof *w->found);
    if (w->found == NULL) {
        free(w);
        return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < w->count; i++)
        w->found[i].threshold = (double)INFINITY;
    pthread_mutex_init(&w->making, NULL);
    pthread_mutex_init(&w->lock, NULL);
    *wishes = w;
    return 0;
}

void nb_wishes_free(struct nb_wishes **wishes)
{
    struct nb_wishes *w = *wishes;
    *wishes = NULL;
    if (w == NULL)
        return;
    pthread_mutex_destroy(&w->making);
    pthread_mutex_destroy(&w->lock);
    free(w->found);
    free(w);
}

struct nb_wish nb_wishes_found(struct nb_wishes *wishes, size_t place)
{
    assert(place < wishes->count);
    pthread_mutex_lock(&wishes->lock);
    struct nb_wish found = wishes->found[place];
    pthread_mutex_unlock(&wishes->lock);
    return found;
}

bool nb_wishes_are_left_out(struct nb_wishes *wishes)
{
    pthread_mutex_lock(&wishes->lock);
    bool are = wishes->state.is_left_out;
    pthread_mutex_unlock(&wishes->lock);
    return are;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

bool nb_wishes_are_due(struct nb_wishes *wishes, const struct nb_wishes_state *now, bool *is_made)
{
    pthread_mutex_lock(&wishes->lock);
    const struct nb_wishes_state *then = &wishes->state;
    uint64_t changed =
        distance(now->documents, then->documents) + distance(now->replaced, then->replaced);
    bool is_of_old_weights = then->is_left_out && then->awaits_refit && !now->awaits_refit;
    bool are_due = !wishes->is_made || changed * AWAITED > now->documents ||
                   then->is_left_out != now->is_left_out || is_of_old_weights;
    *is_made = wishes->is_made;
    pthread_mutex_unlock(&wishes->lock);
    return are_due;
}

void nb_wishes_set(struct nb_wishes *wishes, const struct nb_wishes_state *state,
                   const struct nb_wish *found)
{
    pthread_mutex_lock(&wishes->lock);
    wishes->is_made = true;
    wishes->state = *state;
    memcpy(wishes->found, found, wishes->count * sizeof *found);
    pthread_mutex_unlock(&wishes->lock);
}
