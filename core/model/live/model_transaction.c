/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/model_transaction.h"

#include <assert.h>

#include "core/base/system.h"
#include "core/model/live/relayed.h"

enum {
    MAP_TRIES = 16,         /* the map doubles each time */
    FIRST_PAUSE = 50000000, /* nanoseconds before a failed store is tried again; doubles */
};
static const uint64_t LONGEST_PAUSE = 5000000000u;

static void note_health(struct nb_engine *engine, int rc, const struct nb_error *error)
{
    pthread_mutex_lock(&engine->health_lock);
    if (rc == 0)
        engine->health.code = 0;
    else
        engine->health = *error;
    pthread_mutex_unlock(&engine->health_lock);
    if (rc == 0)
        engine->pause = 0;
}

int nb_transaction_health(struct nb_engine *engine, struct nb_error *error)
{
    pthread_mutex_lock(&engine->health_lock);
    struct nb_error health = engine->health;
    pthread_mutex_unlock(&engine->health_lock);
    return health.code == 0 ? 0 : nb_error_set(error, health.code, "%s", health.text);
}

/* Each failure doubles the time until the next try. */
static void pause_longer(struct nb_engine *engine)
{
    engine->pause = engine->pause == 0 ? FIRST_PAUSE : engine->pause * 2;
    if (engine->pause > LONGEST_PAUSE)
        engine->pause = LONGEST_PAUSE;
    engine->not_before = nb_clock_monotonic() + engine->pause;
}

/* Opens a failed store again, unless the pause since the last try is not over. */
static int reopen(struct nb_engine *engine, struct nb_error *error)
{
    if (!nb_store_failed(engine->store, NULL))
        return 0;
    if (nb_clock_monotonic() < engine->not_before && nb_transaction_health(engine, error) != 0)
        return error->code;
    int rc = nb_store_reopen(engine->store, error);
    if (rc != 0)
        pause_longer(engine);
    return rc;
}

static int try_once(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                    void *argument, struct nb_error *error)
{
    struct nb_view view;
    struct nb_serials before = engine->serials;
    int rc = nb_store_begin(engine->store, expected, &view, error);
    if (rc != 0)
        return rc;
    if (work != NULL)
        rc = work(engine, &view, argument, error);
    assert(engine->serials.model >= before.model);
    if (rc == 0)
        rc = nb_stream_states_write(engine, &view, error);
    uint64_t worked = nb_clock_monotonic();
    if (rc == 0)
        rc = nb_store_commit(&view, error);
    else
        nb_store_abort(&view);
    engine->sync_time = nb_clock_monotonic() - worked;
    if (rc == 0)
        nb_stream_states_note(engine);
    else
        engine->serials = before;
    return rc;
}

int nb_transaction(struct nb_engine *engine, uint64_t expected, nb_transaction_work *work,
                   void *argument, struct nb_error *error)
{
    struct nb_error local = {0};
    uint64_t started = nb_clock_monotonic();
    int rc = reopen(engine, &local);
    if (rc == 0)
        rc = NB_STORE_MAP_FULL;
    uint64_t before = nb_store_committed(engine->store);
    for (int i = 0; rc == NB_STORE_MAP_FULL && i < MAP_TRIES; i++)
        rc = try_once(engine, expected, work, argument, &local);
    bool wrote = nb_store_committed(engine->store) != before;
    atomic_fetch_add(rc == 0 ? &engine->counters.commits : &engine->counters.commit_failures, 1);
    atomic_fetch_add(&engine->counters.commit_nanoseconds, nb_clock_monotonic() - started);
    if (rc == NB_STORE_MAP_FULL)
        rc = local.code = NB_IO;
    /* Errors of a caller, damage of one model and an empty commit do not show whether the store
     * works. */
    if ((rc == 0 && wrote) || rc == NB_DISK_FULL || rc == NB_IO)
        note_health(engine, rc, &local);
    if (rc == NB_DISK_FULL || rc == NB_IO)
        engine->refused_bytes = expected;
    if (rc != 0 && error != NULL)
        *error = local;
    return rc;
}

static int write_probe(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    static const struct nb_string key = {"probe", 5};
    (void)engine;
    (void)argument;
    return nb_store_put(view, NB_TABLE_META, key, (struct nb_string){"", 0}, error);
}

void nb_transaction_probe(struct nb_engine *engine)
{
    if (nb_transaction_health(engine, NULL) == 0 || nb_clock_monotonic() < engine->not_before)
        return;
    if (nb_transaction(engine, engine->refused_bytes, write_probe, NULL, NULL) != 0)
        pause_longer(engine);
}

int nb_put_state(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_state_record *state, struct nb_error *error)
{
    assert(live->number != 0);
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_buffer *out = &engine->scratch;
    out->length = 0;
    if (nb_state_write(state, out) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_STATE, nb_store_key_string(&key),
                        (struct nb_string){out->bytes, out->length}, error);
}
