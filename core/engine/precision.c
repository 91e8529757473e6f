/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/precision.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "core/engine/engine_evaluation.h"
#include "core/model/learner.h"
#include "core/model/registry.h"
#include "core/model/verdict_parts.h"

/* What a document was given while the model had not learned it. */
struct judged {
    uint32_t winner; /* number of the label */
    struct nb_wish_verdict verdict;
};

struct collecting {
    struct judged *list; /* owned; oldest first */
    size_t count, room;
    struct nb_stored_score_lists lists;
};

/* A model that knew one label, or none, said nothing: such a verdict is never decided. */
static int collect(void *user, struct nb_string key, struct nb_string stored,
                   struct nb_error *error)
{
    (void)key;
    struct collecting *c = user;
    struct nb_stored_score scored;
    uint32_t best = 0;
    int rc = nb_stored_score_read(stored, &c->lists, &scored, error);
    if (rc != 0 || scored.size < 2)
        return rc;
    if (nb_array_reserve(&c->list, &c->room, c->count + 1, sizeof *c->list) != 0)
        return nb_error_no_memory(error);
    for (uint32_t i = 1; i < scored.size; i++)
        if (scored.probabilities[i] > scored.probabilities[best])
            best = i;
    c->list[c->count++] = (struct judged){
        scored.labels[best], {scored.probabilities[best], scored.labels[best] == scored.label}};
    return 0;
}

/* Only the last documents of the scores before learning count, as in evaluations. */
static void keep_last(struct collecting *c, uint64_t most)
{
    if (c->count <= most)
        return;
    memmove(c->list, c->list + (c->count - (size_t)most), (size_t)most * sizeof *c->list);
    c->count = (size_t)most;
}

static int collect_all(struct nb_engine *engine, struct nb_live *live,
                       const struct nb_published *published, bool is_left_out, struct collecting *c,
                       struct nb_error *error)
{
    int rc;
    if (is_left_out) {
        rc = nb_scores_left_out(engine, live, collect, c, error);
    } else {
        rc = nb_scores_before_learning(engine, live, collect, c, error);
        keep_last(c, published->settings.evaluation_long);
    }
    return rc == NB_CONFLICT ? 0 : rc; /* too few documents: no threshold is found */
}

/* Chooses the threshold of one label. `verdicts` has room for all. */
static struct nb_wish choose(const struct nb_live *live, const struct nb_label_threshold *set,
                             const struct collecting *c, struct nb_wish_verdict *verdicts)
{
    size_t count = 0;
    nb_model_read_lock(live->counts);
    uint32_t label = nb_model_find_label(live->counts, nb_string_of(set->label));
    nb_model_unlock(live->counts);
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].winner == label)
            verdicts[count++] = c->list[i].verdict;
    return nb_wish_choose(verdicts, count, set->number);
}

static int make(struct nb_engine *engine, struct nb_live *live,
                const struct nb_published *published, const struct nb_wishes_state *state,
                struct nb_error *error)
{
    const struct nb_settings *settings = &published->settings;
    struct collecting c = {.list = NULL};
    struct nb_error why = {0};
    int rc = collect_all(engine, live, published, state->is_left_out, &c, &why);
    struct nb_wish *found = calloc(settings->threshold_count, sizeof *found);
    struct nb_wish_verdict *verdicts = calloc(c.count + 1, sizeof *verdicts);
    if (rc == 0 && (found == NULL || verdicts == NULL))
        rc = nb_error_no_memory(&why);
    for (size_t i = 0; rc == 0 && i < settings->threshold_count; i++)
        if (settings->thresholds[i].kind == NB_THRESHOLD_PRECISION)
            found[i] = choose(live, &settings->thresholds[i], &c, verdicts);
    if (rc == 0)
        nb_wishes_set(published->wishes, state, found);
    free(verdicts);
    free(found);
    free(c.list);
    nb_stored_score_lists_deinit(&c.lists);
    return nb_live_note(live, rc, &why, error);
}

/* The state of the documents now. */
static struct nb_wishes_state state_of(struct nb_live *live, const struct nb_published *published)
{
    bool is_stacked = nb_published_is_stacked(published);
    struct nb_wishes_state now = {.replaced = atomic_load(&live->replaced),
                                  .is_left_out = is_stacked ? atomic_load(&live->is_skewed)
                                                            : published->settings.parent == NULL,
                                  .awaits_refit = is_stacked && atomic_load(&live->wants_refit)};
    nb_model_read_lock(live->counts);
    now.documents = nb_model_documents_all(live->counts);
    nb_model_unlock(live->counts);
    return now;
}

int nb_wishes_catch_up(struct nb_engine *engine, struct nb_live *live,
                       const struct nb_published *published, struct nb_error *error)
{
    struct nb_wishes *wishes = published->wishes;
    bool is_made;
    if (wishes == NULL)
        return 0;
    struct nb_wishes_state now = state_of(live, published);
    if (!nb_wishes_are_due(wishes, &now, &is_made))
        return 0;
    if (pthread_mutex_trylock(&wishes->making) != 0) {
        if (is_made)
            return 0; /* the old one serves meanwhile */
        pthread_mutex_lock(&wishes->making);
    }
    now = state_of(live, published);
    int rc =
        nb_wishes_are_due(wishes, &now, &is_made) ? make(engine, live, published, &now, error) : 0;
    pthread_mutex_unlock(&wishes->making);
    return rc;
}

/* ---- reports --------------------------------------------------------------------------------- */

static int tell(const struct nb_published *published, struct nb_evaluation_report *report)
{
    const struct nb_settings *settings = &published->settings;
    report->thresholds = calloc(settings->threshold_count + 1, sizeof *report->thresholds);
    if (report->thresholds == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < settings->threshold_count; i++) {
        const struct nb_label_threshold *set = &settings->thresholds[i];
        struct nb_told_threshold *told = &report->thresholds[i];
        struct nb_wish found = {.given = 0};
        told->label = strdup(set->label);
        if (told->label == NULL)
            return NB_NO_MEMORY;
        report->threshold_count++;
        told->threshold = nb_published_threshold(published, i, &found);
        told->wished = set->kind == NB_THRESHOLD_PRECISION ? set->number : 0;
        told->given = found.given;
        told->right = found.right;
        told->scores = published->wishes != NULL && nb_wishes_are_left_out(published->wishes)
                           ? NB_SCORES_LEAVE_ONE_OUT
                           : NB_SCORES_BEFORE_LEARNING;
    }
    return 0;
}

int nb_engine_tell_thresholds(struct nb_engine *engine, struct nb_string model,
                              struct nb_evaluation_report *report, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(live);
    rc = nb_wishes_catch_up(engine, live, published, error);
    if (rc == 0 && tell(published, report) != 0)
        rc = nb_error_no_memory(error);
    nb_published_release(&published);
    nb_registry_release(engine, &live);
    return rc;
}
