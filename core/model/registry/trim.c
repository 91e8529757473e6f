/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/registry/trim.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/bayes/book/estimate.h"
#include "core/ledger/entries/current_entries.h"
#include "core/ledger/entries/near_duplicate_list.h"
#include "core/model/live/model_transaction.h"
#include "core/model/registry/registry.h"

/* With any setting `memory`: only the KEPT_MODELS models used last stay in memory if they are
 * unused for longer than IDLE_NANOSECONDS. */
enum { KEPT_MODELS = 64 };
static const uint64_t IDLE_NANOSECONDS = UINT64_C(60000000000);

struct coldness {
    struct nb_live *live; /* referenced */
    uint64_t used;
    size_t memory;
};

static int by_use(const void *a, const void *b)
{
    uint64_t x = ((const struct coldness *)a)->used;
    uint64_t y = ((const struct coldness *)b)->used;
    return (x > y) - (x < y);
}

/* Lists the loaded models, least recently used first, with a reference to each, and sums their
 * memory. The caller frees the list. NULL, with *count 0: out of memory. */
static struct coldness *list_loaded(struct nb_engine *engine, size_t *count, uint64_t *memory)
{
    *count = 0;
    *memory = 0;
    pthread_rwlock_rdlock(&engine->registry);
    size_t loaded = 0;
    for (size_t i = 0; i < engine->model_count; i++)
        loaded += atomic_load(&engine->models[i]->loaded);
    struct coldness *list = malloc((loaded + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && i < engine->model_count && *count < loaded; i++) {
        struct nb_live *live = engine->models[i];
        if (!atomic_load(&live->loaded))
            continue;
        atomic_fetch_add(&live->references, 1);
        list[(*count)++] = (struct coldness){.live = live, .used = atomic_load(&live->used)};
    }
    pthread_rwlock_unlock(&engine->registry);
    for (size_t i = 0; i < *count; i++) {
        list[i].memory = nb_live_memory(list[i].live);
        *memory += list[i].memory;
    }
    if (list != NULL)
        qsort(list, *count, sizeof *list, by_use);
    return list;
}

/* Whether a refit of the model is under way or due: the model would have to be loaded again for it.
 */
static bool will_be_fitted(struct nb_engine *engine, const struct nb_live *live)
{
    return atomic_load(&live->wants_refit) && !atomic_load(&live->is_damaged) &&
           nb_transaction_health(engine, NULL) == 0;
}

/* Nobody else uses the model if there are two references, the registry's and the caller's. */
bool nb_trim_model(struct nb_engine *engine, struct nb_live *live)
{
    assert(atomic_load(&live->references) > 0); /* the caller has one */
    struct nb_model *counts = NULL;
    struct nb_published *published = NULL;
    struct nb_near_duplicate_list *near_duplicate_list = NULL;
    struct nb_current_entries *current = NULL;
    struct nb_stack_fit *fit = NULL;
    struct nb_pass *pass = NULL;
    pthread_rwlock_wrlock(&engine->registry);
    bool idle = atomic_load(&live->references) == 2 && atomic_load(&live->persisted) &&
                !will_be_fitted(engine, live);
    if (idle) {
        atomic_store(&live->loaded, false);
        counts = live->counts;
        published = live->published;
        live->counts = NULL;
        live->published = NULL;
        free(live->checkpoint.dirty);
        live->checkpoint.dirty = NULL;
        live->checkpoint.room = 0;
        /* Remove these before another thread may load the model again: loading checks them. */
        near_duplicate_list = live->near_duplicate_list;
        current = live->current;
        fit = live->fit;
        pass = live->pass;
        live->near_duplicate_list = NULL;
        live->current = NULL;
        live->fit = NULL;
        live->pass = NULL;
        nb_live_note_memory(live);
    }
    pthread_rwlock_unlock(&engine->registry);
    if (idle)
        atomic_fetch_sub(&engine->memory, atomic_exchange(&live->bytes, 0));
    nb_near_duplicate_list_free(&near_duplicate_list);
    nb_current_entries_free(&current);
    nb_stack_fit_free(&fit);
    free(pass);
    nb_model_free(&counts);
    nb_published_release(&published);
    return idle;
}

void nb_trim_memory(struct nb_engine *engine,
                    int (*save)(struct nb_engine *engine, struct nb_live *live))
{
    size_t count;
    uint64_t memory;
    uint64_t now = nb_clock_monotonic();
    struct coldness *list = list_loaded(engine, &count, &memory);
    memory += nb_log_tables_memory();
    /* An eighth below the setting, so that the next loads do not each cause a trim. */
    uint64_t most = engine->settings.memory - engine->settings.memory / 8;
    bool over_all = engine->settings.memory != 0 && memory > engine->settings.memory;
    for (size_t i = 0; i < count; i++) {
        struct nb_live *live = list[i].live;
        bool over = over_all && memory > most;
        bool idle = count - i > KEPT_MODELS && now - list[i].used > IDLE_NANOSECONDS;
        if ((over || idle) && atomic_load(&live->references) == 2 && save(engine, live) == 0 &&
            nb_trim_model(engine, live))
            memory -= list[i].memory;
        nb_registry_release(engine, &list[i].live);
    }
    free(list);
    nb_store_unmap_pages(engine->store);
}
