/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/budget.h"

#include <assert.h>
#include <stdbool.h>

#include "config/config.h"

enum {
    FRESH_BYTES = 1024 * 1024,  /* a larger buffer lies in pages of its own (see server/main.c) */
    AROUND_BODY_BYTES = 1 << 20 /* memory for a body of the full size besides the body: its head, a
                                   piece that is read ahead, and its decoder */
};

/* Returns the limit for bodies. A single body of the full size always fits. */
static uint64_t most_of_bodies(const struct nb_config *config)
{
    uint64_t one = config->body_bytes + AROUND_BODY_BYTES;
    return config->body_memory > one ? config->body_memory : one;
}

void nb_budgets_limit(struct nb_budget *budgets, const struct nb_config *config)
{
    const uint64_t most[NB_BUDGETS] = {
        [NB_BUDGET_BODIES] = most_of_bodies(config),
        [NB_BUDGET_REPLIES] = config->reply_memory,
        [NB_BUDGET_SPOOLS] = config->spool_bytes,
        [NB_BUDGET_CLUSTERS] = config->cluster_memory,
    };
    for (unsigned kind = 0; kind < NB_BUDGETS; kind++) {
        /* Set before there are threads, and not again: a refusal reads it at any time. */
        if (budgets[kind].kind != (enum nb_budget_kind)kind)
            budgets[kind].kind = (enum nb_budget_kind)kind;
        atomic_store(&budgets[kind].most, most[kind]);
    }
}

static int refuse(const struct nb_budget *budget, struct nb_error *error)
{
    unsigned long long most = (unsigned long long)atomic_load(&budget->most);
    switch (budget->kind) {
    case NB_BUDGET_REPLIES:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the replies that clients have not read yet fill the %llu bytes set "
                            "aside for them (reply_memory); try again later",
                            most);
    case NB_BUDGET_SPOOLS:
        return nb_error_set(error, NB_DISK_FULL,
                            "no space left for a long reply: the temporary files of all replies "
                            "fill the %llu bytes set aside for them (spool_bytes)",
                            most);
    case NB_BUDGET_CLUSTERS:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the clusters that are being looked for fill the %llu bytes of memory "
                            "set aside for them (cluster_memory); try again later",
                            most);
    case NB_BUDGET_BODIES:
    case NB_BUDGETS:
    default:
        return nb_error_set(error, NB_NO_MEMORY,
                            "the bodies being received fill the %llu bytes of memory set aside "
                            "for them (body_memory); try again later",
                            most);
    }
}

/* Adds unless the sum would exceed the limit. */
static bool add(struct nb_budget *budget, uint64_t extra)
{
    uint64_t most = atomic_load(&budget->most), used = atomic_load(&budget->used);
    do {
        if (used > most || extra > most - used)
            return false;
    } while (!atomic_compare_exchange_weak(&budget->used, &used, used + extra));
    return true;
}

int nb_hold_set(struct nb_hold *hold, uint64_t size, struct nb_error *error)
{
    struct nb_budget *budget = hold->budget;
    if (budget != NULL && size > hold->size && !add(budget, size - hold->size))
        return refuse(budget, error);
    if (budget != NULL && size < hold->size) {
        uint64_t before = atomic_fetch_sub(&budget->used, hold->size - size);
        assert(before >= hold->size - size);
        (void)before;
    }
    hold->size = size;
    return 0;
}

uint64_t nb_held_by(const struct nb_buffer *buffer)
{
    return buffer->capacity < FRESH_BYTES ? buffer->capacity : buffer->length;
}
