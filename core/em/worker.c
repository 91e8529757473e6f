/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/worker.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/em/unlabelled.h"
#include "core/model/registry/registry.h"

struct nb_refining_worker {
    pthread_t thread;
};

static bool is_stopping(void *user)
{
    struct nb_engine *engine = user;
    pthread_mutex_lock(&engine->refining_lock);
    bool stops = engine->refining_stops;
    pthread_mutex_unlock(&engine->refining_lock);
    return stops;
}

static bool is_asked(const struct nb_live *live)
{
    return atomic_load(&live->wants_refining);
}

/* A model is not ready while another thread fits it. If the last document without a label is gone
 * or has got a label, the fit is dropped at once, because that takes no time. */
static bool is_ready(const struct nb_live *live)
{
    return is_asked(live) && !atomic_load(&live->is_refining) &&
           (atomic_load(&live->unlabelled) == 0 ||
            atomic_load(&live->refine_at) <= nb_clock_monotonic());
}

/* Fits one model, if a fit is due, or drops its last fit if the state is off. */
static void look(struct nb_engine *engine, struct nb_live *live)
{
    bool again = false;
    atomic_store(&live->wants_refining, false);
    if (nb_refining_of(live, &again) != NB_REFINING_DONE &&
        nb_refine(engine, live, again, is_stopping, engine, NULL) == NB_BUSY)
        atomic_store(&live->wants_refining, true); /* the fit may read data older than the change */
}

/* Sleeps until a model asks for a fit; at most a second if a model is in its pause between two
 * fits, or is being fitted (`rests`). Returns false when the thread must end. */
static bool wait(struct nb_engine *engine, bool rests)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec++;
    pthread_mutex_lock(&engine->refining_lock);
    while (!engine->refining_asked && !engine->refining_stops) {
        if (!rests)
            pthread_cond_wait(&engine->refining_filled, &engine->refining_lock);
        else if (pthread_cond_clockwait(&engine->refining_filled, &engine->refining_lock,
                                        CLOCK_MONOTONIC, &until) != 0)
            break;
    }
    engine->refining_asked = false;
    bool goes_on = !engine->refining_stops;
    pthread_mutex_unlock(&engine->refining_lock);
    return goes_on;
}

static bool has_resting(struct nb_engine *engine)
{
    struct nb_live *live = nb_registry_first(engine, is_asked);
    if (live == NULL)
        return false;
    nb_registry_release(engine, &live);
    return true;
}

static void *worker_main(void *argument)
{
    struct nb_engine *engine = argument;
    do {
        struct nb_live *live;
        while (!is_stopping(engine) && (live = nb_registry_first(engine, is_ready)) != NULL) {
            look(engine, live);
            nb_registry_release(engine, &live);
        }
    } while (wait(engine, has_resting(engine)));
    return NULL;
}

int nb_refining_start(struct nb_engine *engine, struct nb_error *error)
{
    struct nb_refining_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return nb_error_no_memory(error);
    int rc = pthread_create(&worker->thread, NULL, worker_main, engine);
    if (rc != 0) {
        free(worker);
        return nb_error_errno(error, rc, "starting the thread of documents without a label");
    }
    (void)pthread_setname_np(worker->thread, "unlabelled");
    engine->refining_worker = worker;
    return 0;
}

void nb_refining_stop(struct nb_engine *engine)
{
    if (engine->refining_worker == NULL)
        return;
    pthread_mutex_lock(&engine->refining_lock);
    engine->refining_stops = true;
    pthread_cond_signal(&engine->refining_filled);
    pthread_cond_broadcast(&engine->refining_turn);
    pthread_mutex_unlock(&engine->refining_lock);
    pthread_join(engine->refining_worker->thread, NULL);
    free(engine->refining_worker);
    engine->refining_worker = NULL;
}
