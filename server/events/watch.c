/* SPDX-License-Identifier: Apache-2.0 */
#include "server/events/watch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/jobs/quarantine/quarantine.h"

/* Names of models in their order; owned. */
struct names {
    char **list;
    size_t count, room;
};

struct nb_event_watch {
    struct nb_engine *engine;
    struct nb_event_bounds bounds;
    struct names told[NB_EVENT_TYPES]; /* models in which something has begun and not ended */
};

/* A look at all models. */
struct look {
    struct nb_event_watch *watch;
    struct names now[NB_EVENT_TYPES];
    nb_event_begun *begun;
    void *user;
};

static void forget(struct names *names)
{
    nb_strings_free(names->list, names->count);
    *names = (struct names){.list = NULL};
}

static int compare(const void *name, const void *place)
{
    return strcmp(name, *(char *const *)place);
}

static bool have(const struct names *names, const char *name)
{
    return names->count > 0 &&
           bsearch(name, names->list, names->count, sizeof *names->list, compare) != NULL;
}

/* Adds a name, which sorts after those before it. */
static bool add(struct names *names, const char *name)
{
    char *copy = strdup(name);
    if (copy == NULL ||
        nb_array_reserve(&names->list, &names->room, names->count + 1, sizeof *names->list) != 0) {
        free(copy);
        return false;
    }
    names->list[names->count++] = copy;
    return true;
}

struct nb_event_watch *nb_event_watch_new(struct nb_engine *engine,
                                          const struct nb_event_bounds *bounds)
{
    struct nb_event_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->engine = engine;
    watch->bounds = *bounds;
    return watch;
}

void nb_event_watch_free(struct nb_event_watch **watch)
{
    if (*watch == NULL)
        return;
    for (int type = 0; type < NB_EVENT_TYPES; type++)
        forget(&(*watch)->told[type]);
    free(*watch);
    *watch = NULL;
}

/* Notes that something is so now, and tells it if it was not so at the last look. */
static void note(struct look *look, const struct nb_event_begins *begins)
{
    assert(begins->type < NB_EVENT_TYPES && begins->type != NB_EVENT_UNSURE);
    if (add(&look->now[begins->type], begins->model) &&
        !have(&look->watch->told[begins->type], begins->model))
        look->begun(look->user, begins);
}

static void look_at_loaded(struct look *look, const char *model)
{
    const struct nb_event_watch *watch = look->watch;
    struct nb_string name = nb_string_of(model);
    struct nb_event_begins begins = {.type = NB_EVENT_DRIFT, .model = model};
    if (watch->bounds.wanted[NB_EVENT_DRIFT] &&
        nb_engine_drift(watch->engine, name, &begins.drift) &&
        begins.drift.distance > watch->bounds.drift)
        note(look, &begins);
    begins.type = NB_EVENT_SUSPECTS;
    if (watch->bounds.wanted[NB_EVENT_SUSPECTS] &&
        nb_engine_suspected(watch->engine, name, &begins.documents) &&
        begins.documents > watch->bounds.suspects)
        note(look, &begins);
}

static bool look_at_all_loaded(struct look *look)
{
    char **names;
    size_t count;
    if (nb_engine_loaded_models(look->watch->engine, SIZE_MAX, &names, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        look_at_loaded(look, names[i]);
        free(names[i]);
    }
    free(names);
    return true;
}

static void note_waiting(void *user, const char *model, uint64_t documents)
{
    note(user, &(struct nb_event_begins){
                   .type = NB_EVENT_QUARANTINE, .model = model, .documents = documents});
}

/* What is so now is compared with at the next look. */
static void keep(struct look *look, enum nb_event_type type)
{
    forget(&look->watch->told[type]);
    look->watch->told[type] = look->now[type];
    look->now[type] = (struct names){.list = NULL};
}

void nb_event_watch_look(struct nb_event_watch *watch, nb_event_begun *begun, void *user)
{
    struct look look = {.watch = watch, .begun = begun, .user = user};
    const bool *wanted = watch->bounds.wanted;
    if ((wanted[NB_EVENT_DRIFT] || wanted[NB_EVENT_SUSPECTS]) && look_at_all_loaded(&look)) {
        keep(&look, NB_EVENT_DRIFT);
        keep(&look, NB_EVENT_SUSPECTS);
    }
    if (wanted[NB_EVENT_QUARANTINE] &&
        nb_engine_quarantines(watch->engine, note_waiting, &look, NULL) == 0)
        keep(&look, NB_EVENT_QUARANTINE);
    for (int type = 0; type < NB_EVENT_TYPES; type++)
        forget(&look.now[type]);
}
