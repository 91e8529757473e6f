/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/traffic.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/system.h"
#include "core/model/live/model_transaction.h"
#include "core/store/store.h"

static const struct nb_string KEY = {"traffic", 7};

/* A slot in one word, so that no lock is needed: the number of its ten minutes since 1970 in the
 * upper half, its verdicts in the lower one. */
static uint64_t slot_of(uint64_t period, uint64_t count)
{
    assert(period <= UINT32_MAX);
    return period << 32 | (count < UINT32_MAX ? count : UINT32_MAX);
}

static uint64_t period_now(void)
{
    int64_t now = nb_clock_now();
    return now < 0 ? 0 : (uint64_t)now / (UINT64_C(1000) * NB_TRAFFIC_SECONDS);
}

void nb_traffic_count(struct nb_engine *engine)
{
    uint64_t period = period_now();
    atomic_uint_fast64_t *slot = &engine->traffic.slots[period % NB_TRAFFIC_SLOTS];
    uint64_t old = atomic_load_explicit(slot, memory_order_relaxed), new;
    do
        new = slot_of(period, old >> 32 == period ? (uint32_t)old + UINT64_C(1) : 1);
    while (!atomic_compare_exchange_weak_explicit(slot, &old, new, memory_order_relaxed,
                                                  memory_order_relaxed));
}

int64_t nb_traffic_list(struct nb_engine *engine, uint32_t counts[NB_TRAFFIC_SLOTS])
{
    uint64_t first = period_now() + 1 - NB_TRAFFIC_SLOTS;
    for (uint64_t i = 0; i < NB_TRAFFIC_SLOTS; i++) {
        uint64_t slot = atomic_load(&engine->traffic.slots[(first + i) % NB_TRAFFIC_SLOTS]);
        counts[i] = slot >> 32 == first + i ? (uint32_t)slot : 0;
    }
    return (int64_t)first * 1000 * NB_TRAFFIC_SECONDS;
}

void nb_traffic_read(struct nb_engine *engine, const struct nb_view *view)
{
    struct nb_string value;
    if (nb_store_get(view, NB_TABLE_META, KEY, &value, NULL) != 0)
        return;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS && u.at < u.end && !u.failed; i++) {
        uint64_t slot = nb_unpack_u64(&u);
        atomic_store(&engine->traffic.slots[i], slot);
        engine->traffic.saved += slot;
    }
}

static int write_slots(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_buffer out = {0};
    struct nb_packer p = {.out = &out};
    (void)argument;
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS; i++)
        nb_pack_u64(&p, atomic_load(&engine->traffic.slots[i]));
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_META, KEY,
                                        (struct nb_string){out.bytes, out.length}, error);
    nb_buffer_deinit(&out);
    return rc;
}

void nb_traffic_save(struct nb_engine *engine, bool now)
{
    struct nb_traffic *t = &engine->traffic;
    uint64_t period = period_now(), sum = 0;
    if (!now && t->looked == period)
        return;
    t->looked = period;
    for (size_t i = 0; i < NB_TRAFFIC_SLOTS; i++)
        sum += atomic_load(&t->slots[i]); /* differs after any verdict: slots only grow */
    if (sum != t->saved &&
        nb_transaction(engine, NB_TRAFFIC_SLOTS * UINT64_C(10), write_slots, NULL, NULL) == 0)
        t->saved = sum;
}
