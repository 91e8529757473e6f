/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/indexing.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "core/base/prefetch.h"
#include "core/counts/model_private.h"

/* ---- many at once ----------------------------------------------------------------------------
 *
 * Of the ids that are appended to 10^7 rows one in twenty shares its tag in the index with another
 * one. To look whether that is the same id is to wait for a row anywhere in memory: so these are
 * noted, their rows asked for, and compared some hundred rows later.
 */
enum { SUSPECTS = 64 };

struct suspects {
    struct {
        uint32_t row, other;
    } pairs[SUSPECTS];
    size_t count;
};

/* Whether all that were noted are different ids. */
static bool are_different(const struct nb_model *model, struct suspects *s)
{
    bool different = true;
    for (size_t i = 0; i < s->count; i++)
        different = different && nb_model_packed(model, s->pairs[i].row)->id !=
                                     nb_model_packed(model, s->pairs[i].other)->id;
    s->count = 0;
    return different;
}

/* Notes the rows of the index that may have the id of `row`. Returns false if one that had to be
 * compared at once does. */
static bool note_suspects(const struct nb_model *model, uint32_t row, struct suspects *s)
{
    const struct nb_index *index = &model->index;
    uint64_t id = nb_model_packed(model, row)->id;
    uint64_t where = nb_index_where(index, id);
    uint32_t tag = nb_index_tag(index, where);
    uint64_t bucket = where >> 32;
    bool different = true;
    for (uint64_t nth = 0; nth <= index->bucket_count; nth++) {
        const struct nb_bucket *b = &index->buckets[bucket];
        unsigned places = nb_bucket_places(b, index->row_bits, tag);
        for (; places != 0; places &= places - 1) {
            if (s->count == SUSPECTS)
                different = are_different(model, s) && different;
            s->pairs[s->count].row = row;
            s->pairs[s->count].other = nb_bucket_row(b, index->row_bits, places);
            __builtin_prefetch(nb_model_packed(model, s->pairs[s->count++].other));
        }
        if (!nb_bucket_is_passed(b, tag))
            break;
        bucket = nb_index_further(index, bucket, tag, nth);
    }
    return different;
}

NB_PREFETCHING void prefetch_bucket(const struct nb_model *model, uint32_t row, uint32_t end)
{
    if (row < end)
        __builtin_prefetch(
            &model->index.buckets[nb_index_home(&model->index, nb_model_packed(model, row)->id)],
            1);
}

/* Puts rows into the index. Returns false if an id is there twice. */
bool nb_index_rows(struct nb_model *model, uint32_t start, uint32_t end)
{
    struct suspects suspects = {.count = 0};
    bool different = true;
    for (uint32_t row = start; row < start + NB_MODEL_AHEAD; row++)
        prefetch_bucket(model, row, end);
    for (uint32_t row = start; row < end; row++) {
        uint64_t id = nb_model_packed(model, row)->id;
        prefetch_bucket(model, row + NB_MODEL_AHEAD, end);
        if (nb_model_is_dropped(id))
            continue;
        different = note_suspects(model, row, &suspects) && different;
        nb_index_insert(&model->index, id, row);
    }
    return are_different(model, &suspects) && different;
}

/* ---- behind the rows ------------------------------------------------------------------------- */

/* The thread is woken once for this many rows: waking it for each range of a store would cost more
 * than it saves. */
enum { AT_ONCE = 1 << 16 };

struct nb_indexing {
    struct nb_model *model; /* borrowed; the thread writes to its index alone */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more;
    uint32_t end;   /* `lock` protects it: the rows below may be put into the index */
    uint32_t told;  /* the appending thread's copy of `end` */
    bool ends;      /* `lock` protects it: no more will come */
    bool different; /* the thread's until it has ended: no id was there twice */
};

/* Waits for rows from `start` on. Returns where they end; `start` if none will come. */
static uint32_t wait_for_rows(struct nb_indexing *x, uint32_t start)
{
    pthread_mutex_lock(&x->lock);
    while (x->end == start && !x->ends)
        pthread_cond_wait(&x->more, &x->lock);
    uint32_t end = x->end;
    pthread_mutex_unlock(&x->lock);
    return end;
}

static void *indexing_main(void *user)
{
    struct nb_indexing *x = user;
    uint32_t start = 0;
    for (uint32_t end; (end = wait_for_rows(x, start)) != start; start = end)
        x->different = nb_index_rows(x->model, start, end) && x->different;
    return NULL;
}

struct nb_indexing *nb_indexing_begin(struct nb_model *model)
{
    struct nb_indexing *x = malloc(sizeof *x);
    if (x == NULL)
        return NULL;
    *x = (struct nb_indexing){.model = model, .different = true};
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->more, NULL);
    if (pthread_create(&x->thread, NULL, indexing_main, x) == 0)
        return x;
    pthread_cond_destroy(&x->more);
    pthread_mutex_destroy(&x->lock);
    free(x);
    return NULL;
}

static void tell(struct nb_indexing *x, uint32_t end, bool ends)
{
    pthread_mutex_lock(&x->lock);
    x->end = x->told = end;
    x->ends = ends;
    pthread_cond_signal(&x->more);
    pthread_mutex_unlock(&x->lock);
}

void nb_indexing_tell(struct nb_indexing *x, uint32_t end)
{
    assert(end >= x->told);
    if (end - x->told >= AT_ONCE)
        tell(x, end, false);
}

bool nb_indexing_end(struct nb_indexing *x, uint32_t end)
{
    tell(x, end, true);
    pthread_join(x->thread, NULL);
    bool different = x->different;
    pthread_cond_destroy(&x->more);
    pthread_mutex_destroy(&x->lock);
    free(x);
    return different;
}
