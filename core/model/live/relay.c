/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/relay.h"

#include "core/model/live/names.h"
#include "core/model/live/state.h"

static _Thread_local const struct nb_relayed *applied;
static _Thread_local uint64_t *collected;

/* Scales the upper half of the hash, so that names spread evenly over any number of streams. */
unsigned nb_relay_stream(struct nb_string name, unsigned streams)
{
    return (unsigned)((XXH3_64bits(name.bytes, name.length) >> 32) * streams >> 32);
}

static const struct nb_relay *relay_of(const struct nb_engine *engine, struct nb_string model)
{
    return engine->relays[nb_relay_stream(model, engine->settings.streams)];
}

uint64_t nb_relay_number(const struct nb_engine *engine, unsigned stream, uint64_t position)
{
    return position * engine->settings.streams + stream;
}

uint64_t nb_relay_position(const struct nb_engine *engine, uint64_t number, unsigned *stream)
{
    *stream = (unsigned)(number % engine->settings.streams);
    return number / engine->settings.streams;
}

bool nb_relay_is_wanted(const struct nb_engine *engine)
{
    return engine->settings.shared && applied == NULL;
}

static int refuse(struct nb_error *error)
{
    return nb_error_set(
        error, NB_STOPPING,
        "this node does not follow the others now (GET /readyz says why); send the change "
        "again later, or to another node");
}

int nb_relay_submit(const struct nb_engine *engine, struct nb_string model, struct nb_batch *batch,
                    void (*done)(struct nb_batch *, void *), void *user, struct nb_error *error)
{
    const struct nb_relay *relay = relay_of(engine, model);
    return relay == NULL ? refuse(error) : relay->submit(relay->user, batch, done, user, error);
}

int nb_relay_ask(const struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                 struct nb_relayed_change_done *done, struct nb_error *error)
{
    const struct nb_relay *relay = relay_of(engine, relayed_change->model);
    struct nb_relayed_change_done result;
    int rc =
        relay == NULL ? refuse(error) : relay->ask(relay->user, relayed_change, &result, error);
    if (rc != 0)
        return rc;
    nb_relay_collected(nb_relay_number(
        engine, nb_relay_stream(relayed_change->model, engine->settings.streams), result.position));
    if (done != NULL)
        *done = result;
    return 0;
}

void nb_relay_propose(const struct nb_engine *engine, struct nb_string model,
                      const struct nb_batch *batch, const struct nb_relayed_change *relayed_change)
{
    const struct nb_relay *relay = relay_of(engine, model);
    if (relay != NULL)
        relay->propose(relay->user, batch, relayed_change);
}

int nb_relay_catch_up(const struct nb_engine *engine, struct nb_string model,
                      struct nb_error *error)
{
    if (!nb_relay_is_wanted(engine))
        return 0;
    const struct nb_relay *relay = relay_of(engine, model);
    int rc = nb_check_model_name(model, error);
    if (rc != 0)
        return rc;
    return relay == NULL ? refuse(error) : relay->catch_up(relay->user, error);
}

int nb_relay_check_missing(const struct nb_engine *engine, struct nb_string model,
                           struct nb_error *error)
{
    if (!nb_relay_is_wanted(engine))
        return 0;
    const struct nb_relay *relay = relay_of(engine, model);
    if (relay != NULL && !relay->lacks(relay->user))
        return 0;
    return nb_error_set(error, NB_STOPPING,
                        "this node has no model '%.*s', and does not have all changes of the "
                        "others yet: send the change again later",
                        (int)model.length, model.bytes);
}

void nb_relay_apply(const struct nb_relayed *relayed)
{
    applied = relayed;
}

const struct nb_relayed *nb_relay_applied(void)
{
    return applied;
}

void nb_relay_collect(uint64_t *number)
{
    collected = number;
}

void nb_relay_collected(uint64_t position)
{
    if (collected != NULL && position > *collected)
        *collected = position;
}
