/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/challengers.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/array.h"
#include "core/base/system.h"
#include "core/jobs/challenger/challenger.h"
#include "server/base/log.h"

#define SECOND UINT64_C(1000000000)
/* How often a challenger looks for something new. */
static const uint64_t PAUSE = SECOND / 20;

struct item {
    struct nb_challenger *challenger; /* owned; the thread's */
    char *model;                      /* owned */
    struct nb_challenger_state state;
};

struct nb_challengers {
    struct nb_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below; no other lock is taken while it is held */
    pthread_cond_t news;
    bool is_stopping, has_news;
    bool has_later;     /* models that are still computed anew may be challengers */
    struct item *items; /* owned; only the thread changes the list */
    size_t count, room;
};

/* ---- the list -------------------------------------------------------------------------------- */

static size_t find(const struct nb_challengers *c, struct nb_string model)
{
    size_t i = 0;
    while (i < c->count && !nb_string_equals(model, c->items[i].model))
        i++;
    return i;
}

static void free_item(struct item *item)
{
    nb_challenger_free(&item->challenger);
    free(item->model);
}

/* Adds a challenger that is not listed; without memory it is added when the thread looks again. */
static void add(void *user, const char *model)
{
    struct nb_challengers *c = user;
    if (find(c, nb_string_of(model)) < c->count)
        return;
    struct item item = {.challenger = nb_challenger_new(c->engine, model), .model = strdup(model)};
    pthread_mutex_lock(&c->lock);
    bool is_added = item.challenger != NULL && item.model != NULL &&
                    nb_array_reserve(&c->items, &c->room, c->count + 1, sizeof *c->items) == 0;
    if (is_added)
        c->items[c->count++] = item;
    pthread_mutex_unlock(&c->lock);
    if (!is_added)
        free_item(&item);
}

static void remove_item(struct nb_challengers *c, size_t i)
{
    struct item item = c->items[i];
    pthread_mutex_lock(&c->lock);
    c->items[i] = c->items[--c->count];
    pthread_mutex_unlock(&c->lock);
    free_item(&item);
}

void nb_challengers_state(struct nb_challengers *c, struct nb_string model,
                          struct nb_challenger_state *state)
{
    *state = (struct nb_challenger_state){.is_following = false};
    pthread_mutex_lock(&c->lock);
    size_t i = find(c, model);
    if (i < c->count)
        *state = c->items[i].state;
    pthread_mutex_unlock(&c->lock);
}

/* ---- following ------------------------------------------------------------------------------- */

/* Notes how a step ended, and logs a problem once. */
static void note(struct nb_challengers *c, struct item *item, bool is_idle, int rc,
                 const struct nb_error *why)
{
    struct nb_challenger_state state = {.is_following = rc == 0 && is_idle};
    if (rc != 0)
        (void)snprintf(state.problem, sizeof state.problem, "%s", why->text);
    if (rc != 0 && strcmp(state.problem, item->state.problem) != 0)
        nb_log(NB_LOG_WARNING, "the challenger of %s does not go on: %s", item->model, why->text);
    pthread_mutex_lock(&c->lock);
    item->state = state;
    pthread_mutex_unlock(&c->lock);
}

/* A challenger whose model was deleted goes, too. */
static void forget(struct nb_challengers *c, size_t i)
{
    static const struct nb_string source = {"challenger", 10};
    struct nb_model_info info;
    struct nb_string model = nb_string_of(c->items[i].model);
    if (nb_engine_model(c->engine, model, &info, NULL) == 0)
        nb_model_info_deinit(&info);
    else if (nb_challenger_drop(c->engine, model, source, NULL) == 0)
        nb_log(NB_LOG_INFO, "the challenger of %s is deleted, as the model is", c->items[i].model);
    remove_item(c, i);
}

/* Takes a step with each challenger. Returns whether any has more to do. */
static bool step_all(struct nb_challengers *c)
{
    bool goes_on = false;
    for (size_t i = c->count; i-- > 0;) {
        struct nb_error why = {0};
        bool is_idle;
        int rc = nb_challenger_step(c->items[i].challenger, &is_idle, &why);
        if (rc == NB_NOT_FOUND) {
            forget(c, i);
            continue;
        }
        note(c, &c->items[i], is_idle, rc, &why);
        goes_on = goes_on || !is_idle;
    }
    return goes_on;
}

/* Waits until something may have come. With the lock held. */
static void wait_for_news(struct nb_challengers *c)
{
    uint64_t time = nb_clock_monotonic() + PAUSE;
    struct timespec end = {.tv_sec = (time_t)(time / SECOND), .tv_nsec = (long)(time % SECOND)};
    if (c->has_news || c->is_stopping)
        return;
    if (c->count == 0 && !c->has_later)
        (void)pthread_cond_wait(&c->news, &c->lock);
    else
        (void)pthread_cond_timedwait(&c->news, &c->lock, &end);
}

static void *run(void *user)
{
    struct nb_challengers *c = user;
    bool goes_on = false;
    pthread_mutex_lock(&c->lock);
    while (!c->is_stopping) {
        if (!goes_on)
            wait_for_news(c);
        bool has_news = c->has_news || c->has_later;
        c->has_news = false;
        c->has_later =
            nb_engine_is_upgrading(c->engine); /* before the visit, which may miss some */
        pthread_mutex_unlock(&c->lock);
        if (has_news)
            (void)nb_challengers_visit(c->engine, add, c, NULL); /* without memory: next time */
        goes_on = step_all(c);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static void dismantle(struct nb_challengers *c)
{
    for (size_t i = 0; i < c->count; i++)
        free_item(&c->items[i]);
    free(c->items);
    pthread_cond_destroy(&c->news);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

int nb_challengers_start(struct nb_engine *engine, struct nb_challengers **challengers,
                         struct nb_error *error)
{
    pthread_condattr_t attributes; /* none of these fails with the GNU library */
    struct nb_challengers *c = calloc(1, sizeof *c);
    *challengers = NULL;
    if (c == NULL)
        return nb_error_no_memory(error);
    c->engine = engine;
    c->has_news = true;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&c->news, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&c->lock, NULL);
    if (pthread_create(&c->thread, NULL, run, c) != 0) {
        dismantle(c);
        return nb_error_set(error, NB_IO, "the thread of the challengers does not start");
    }
    *challengers = c;
    return 0;
}

void nb_challengers_wake(struct nb_challengers *c)
{
    pthread_mutex_lock(&c->lock);
    c->has_news = true;
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->lock);
}

void nb_challengers_stop(struct nb_challengers **challengers)
{
    struct nb_challengers *c = *challengers;
    if (c == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    c->is_stopping = true;
    pthread_cond_signal(&c->news);
    pthread_mutex_unlock(&c->lock);
    pthread_join(c->thread, NULL);
    dismantle(c);
    *challengers = NULL;
}
