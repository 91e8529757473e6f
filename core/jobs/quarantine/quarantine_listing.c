/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists the quarantine, and sums up how it agrees with the model.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/names.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/ledger/quarantine_entries.h"
#include "core/model/learner.h"
#include "core/model/parents.h"
#include "core/model/registry.h"

/* Classifies documents of a quarantine with the present model. */
struct judge {
    struct nb_engine *engine; /* borrowed */
    struct nb_live *live;     /* borrowed; loaded */
    struct nb_parent_chain chain;
    struct nb_published *published;
    struct nb_learner *learner;
    struct nb_feature *features; /* owned */
    size_t room;
    struct nb_buffer record;
    struct nb_stored_score_lists lists;
    /* The last judgement: */
    struct nb_stored_score scored; /* its stored form is in `record` */
    bool has_label; /* the model knows the label of the waiting change; else scored.label is 0 */
    bool has_verdict;
    uint32_t best;      /* label number; with has_verdict */
    double probability; /* probability of the waiting change's label */
};

/* Features that the model does not have, or no longer has, belong to the document, as they do when
 * it is learned. */
static int take_features(struct judge *j, const struct nb_quarantined *q)
{
    struct nb_unpacker u = nb_unpacker_of(q->features.bytes, q->features.length);
    if (nb_array_reserve(&j->features, &j->room, q->feature_count, sizeof *j->features) != 0)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < q->feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        j->features[i] = (struct nb_feature){.id = f.id, .count = f.count};
    }
    return 0;
}

static int score(struct judge *j, const struct nb_quarantined *q)
{
    const struct nb_model *counts = j->live->counts;
    assert(counts != NULL && j->published != NULL);
    nb_model_read_lock(counts);
    nb_stack_weights_read_lock(j->published->weights);
    int rc = take_features(j, q);
    uint32_t label = nb_model_find_label(counts, q->label);
    j->has_label = label != UINT32_MAX;
    if (rc == 0)
        rc = nb_learner_score_features(j->learner, j->published, counts, j->features,
                                       q->feature_count, j->has_label ? label : 0, &j->record);
    nb_stack_weights_unlock(j->published->weights);
    nb_model_unlock(counts);
    if (rc == 0 && j->published->settings.parent != NULL)
        rc = nb_parent_chain_keep_score(&j->chain, j->engine, j->live, j->features,
                                        q->feature_count, j->has_label ? label : 0, &j->record);
    return rc;
}

static void choose(struct judge *j)
{
    const struct nb_stored_score *s = &j->scored;
    double most = -1;
    assert(s->size == 0 || (s->labels != NULL && s->probabilities != NULL));
    j->has_verdict = s->size > 0;
    for (uint32_t i = 0; i < s->size; i++) {
        if (j->has_label && s->labels[i] == s->label)
            j->probability = s->probabilities[i];
        if (s->probabilities[i] > most) {
            most = s->probabilities[i];
            j->best = s->labels[i];
        }
    }
}

/* Judges a document. Returns 0, NB_CORRUPT or NB_NO_MEMORY. */
static int judge_one(struct judge *j, const struct nb_quarantined *q, struct nb_error *error)
{
    j->record.length = 0;
    j->has_verdict = false;
    j->probability = 0;
    j->scored = (struct nb_stored_score){.size = 0};
    j->has_label = false;
    if (q->untrain)
        return 0;
    int rc = score(j, q);
    /* With these settings no document is scored before it is learned. */
    if (rc == 0 && j->record.length == 0)
        return 0;
    if (rc == 0)
        rc = nb_stored_score_read((struct nb_string){j->record.bytes, j->record.length}, &j->lists,
                                  &j->scored, error);
    if (rc == 0)
        choose(j);
    return rc == NB_NO_MEMORY ? nb_error_no_memory(error) : rc;
}

enum { LOOK_CHANGES = 500 };
static const double LEAST_PROBABILITY = 1e-6; /* as in the evaluation */
static const struct nb_quarantine_options ALL = {.until = INT64_MAX};

struct looking {
    struct nb_engine *engine;
    struct nb_live *live;
    struct judge judge;
    struct nb_quarantine_search search;
};

/* The caller deinits `l` in any case. */
static int begin(struct looking *l, struct nb_engine *engine, struct nb_string model,
                 struct nb_string after, struct nb_error *error)
{
    *l = (struct looking){.engine = engine};
    int rc = nb_registry_acquire(engine, model, false, &l->live, error);
    if (rc != 0)
        return rc;
    l->judge = (struct judge){.engine = engine,
                              .live = l->live,
                              .published = nb_live_settings(l->live),
                              .learner = nb_learner_new(0)};
    if (l->judge.learner == NULL || nb_quarantine_search_begin(&l->search, &ALL, after) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static void end(struct looking *l)
{
    if (l->live == NULL)
        return;
    nb_learner_free(&l->judge.learner);
    nb_published_release(&l->judge.published);
    nb_parent_chain_deinit(&l->judge.chain);
    free(l->judge.features);
    nb_buffer_deinit(&l->judge.record);
    nb_stored_score_lists_deinit(&l->judge.lists);
    nb_quarantine_search_deinit(&l->search);
    nb_registry_release(l->engine, &l->live);
}

/* Classifies the document of a found change, and fills the row. */
static int read_row(struct looking *l, const struct nb_quarantine_found *found,
                    struct nb_quarantine_row *row, struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, (struct nb_string){found->stored.bytes, found->stored.length},
                                 error);
    if (rc == 0)
        rc = judge_one(&l->judge, &q, error);
    if (rc != 0)
        return rc;
    *row = (struct nb_quarantine_row){.id = {found->id.bytes, found->id.length},
                                      .source = q.source,
                                      .label = q.label,
                                      .untrain = q.untrain,
                                      .time = q.time,
                                      .tokens = q.positions,
                                      .probability = l->judge.probability};
    if (!l->judge.has_verdict)
        return 0;
    nb_model_read_lock(l->live->counts);
    row->verdict = nb_model_label_name(l->live->counts, l->judge.best);
    nb_model_unlock(l->live->counts);
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

int nb_engine_quarantine(struct nb_engine *engine, struct nb_string model, struct nb_string after,
                         size_t limit,
                         int (*visit)(void *user, const struct nb_quarantine_row *row), void *user,
                         bool *more, struct nb_error *error)
{
    struct looking l;
    struct nb_error why = {0};
    struct nb_quarantine_row row;
    size_t done = 0;
    *more = false;
    int rc = begin(&l, engine, model, after, &why);
    while (rc == 0 && !l.search.is_done && !*more) {
        size_t wanted = limit - done < LOOK_CHANGES ? limit - done + 1 : LOOK_CHANGES;
        rc = nb_quarantine_search_some(&l.search, engine, l.live, wanted, &why);
        for (size_t i = 0; rc == 0 && i < l.search.count && !*more; i++) {
            *more = done == limit;
            if (*more)
                break;
            rc = read_row(&l, &l.search.found[i], &row, &why);
            rc = rc == 0 ? visit(user, &row) : rc;
            done++;
        }
    }
    end(&l);
    return nb_quarantine_tell(rc, &why, error);
}

/* ---- all models ------------------------------------------------------------------------------ */

enum { MODELS_AT_ONCE = 1000 };

/* Returns the number of changes that wait for a model; 0 if there is no such model, or they cannot
 * be read. */
static uint64_t waiting_of(struct nb_engine *engine, const struct nb_view *view, const char *model)
{
    struct nb_quarantine_sums sums = {.documents = 0};
    struct nb_live *live;
    if (nb_registry_find(engine, nb_string_of(model), false, &live, NULL) != 0)
        return 0;
    int rc = nb_quarantine_sums(view, live->number, &sums, NULL);
    nb_registry_release(engine, &live);
    return rc == 0 ? sums.documents : 0;
}

static int visit_some(struct nb_engine *engine, char *const *names, size_t count,
                      void (*visit)(void *user, const char *model, uint64_t documents), void *user,
                      struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        uint64_t documents = waiting_of(engine, &view, names[i]);
        if (documents > 0)
            visit(user, names[i], documents);
    }
    nb_store_snapshot_end(&view);
    return 0;
}

int nb_engine_quarantines(struct nb_engine *engine,
                          void (*visit)(void *user, const char *model, uint64_t documents),
                          void *user, struct nb_error *error)
{
    char after[NB_MODEL_NAME_MOST + 1] = "";
    bool more = true;
    int rc = 0;
    while (rc == 0 && more) {
        char **names;
        size_t count;
        rc = nb_registry_names(engine, nb_string_of(after), MODELS_AT_ONCE, &names, &count, &more,
                               error);
        if (rc != 0)
            return rc;
        rc = visit_some(engine, names, count, visit, user, error);
        more = more && count > 0;
        if (count > 0)
            (void)snprintf(after, sizeof after, "%s", names[count - 1]); /* it fits */
        nb_strings_free(names, count);
    }
    return rc;
}

/* ---- the effect ------------------------------------------------------------------------------ */

struct scores {
    struct nb_buffer records; /* stored forms, each a string */
    size_t source_room;
};

void nb_quarantine_effect_deinit(struct nb_quarantine_effect *effect)
{
    for (size_t i = 0; i < effect->source_count; i++)
        free(effect->sources[i].source);
    free(effect->sources);
    nb_evaluation_report_deinit(&effect->now);
    nb_evaluation_report_deinit(&effect->with);
    *effect = (struct nb_quarantine_effect){.documents = 0};
}

static struct nb_quarantine_source *source_of(struct nb_quarantine_effect *effect, size_t *room,
                                              struct nb_string name)
{
    for (size_t i = 0; i < effect->source_count; i++)
        if (nb_string_equals(name, effect->sources[i].source))
            return &effect->sources[i];
    char *copy = nb_string_copy(name);
    if (copy == NULL || nb_array_reserve(&effect->sources, room, effect->source_count + 1,
                                         sizeof *effect->sources) != 0) {
        free(copy);
        return NULL;
    }
    struct nb_quarantine_source *source = &effect->sources[effect->source_count++];
    *source = (struct nb_quarantine_source){.source = copy};
    return source;
}

static int add_row(struct looking *l, const struct nb_quarantine_row *row, struct scores *scores,
                   struct nb_quarantine_effect *effect)
{
    struct nb_quarantine_source *source = source_of(effect, &scores->source_room, row->source);
    struct nb_packer p = {.out = &scores->records};
    if (source == NULL)
        return NB_NO_MEMORY;
    source->documents++;
    effect->documents++;
    if (row->verdict.length == 0)
        return 0;
    source->judged++;
    source->agreeing += nb_string_same(row->verdict, row->label);
    source->log_loss -= log(fmax(row->probability, LEAST_PROBABILITY));
    if (l->judge.has_label)
        nb_pack_string(&p, (struct nb_string){l->judge.record.bytes, l->judge.record.length});
    return p.code;
}

static int by_name(const void *a, const void *b)
{
    const struct nb_quarantine_source *left = a, *right = b;
    return strcmp(left->source, right->source);
}

static void finish_sources(struct nb_quarantine_effect *effect)
{
    for (size_t i = 0; i < effect->source_count; i++) {
        struct nb_quarantine_source *s = &effect->sources[i];
        s->log_loss = s->judged > 0 ? s->log_loss / (double)s->judged : (double)NAN;
    }
    if (effect->source_count > 1)
        qsort(effect->sources, effect->source_count, sizeof *effect->sources, by_name);
}

static int sum_up(struct looking *l, struct scores *scores, struct nb_quarantine_effect *effect,
                  struct nb_error *error)
{
    struct nb_quarantine_row row;
    int rc = 0;
    while (rc == 0 && !l->search.is_done) {
        rc = nb_quarantine_search_some(&l->search, l->engine, l->live, LOOK_CHANGES, error);
        for (size_t i = 0; rc == 0 && i < l->search.count; i++) {
            rc = read_row(l, &l->search.found[i], &row, error);
            effect->bytes += l->search.found[i].stored.length;
            if (rc == 0 && add_row(l, &row, scores, effect) != 0)
                rc = nb_error_no_memory(error);
        }
    }
    finish_sources(effect);
    return rc;
}

/* A model whose documents have no scores has no evaluation. */
static int evaluate(struct nb_engine *engine, struct nb_string model, struct nb_string more,
                    struct nb_evaluation_report *report, struct nb_error *error)
{
    int rc = nb_engine_evaluation_with(engine, model, more, report, error);
    return rc == NB_CONFLICT ? 0 : rc;
}

int nb_engine_quarantine_effect(struct nb_engine *engine, struct nb_string model,
                                struct nb_quarantine_effect *effect, struct nb_error *error)
{
    struct looking l;
    struct scores scores = {.source_room = 0};
    struct nb_error why = {0};
    *effect = (struct nb_quarantine_effect){.documents = 0};
    int rc = begin(&l, engine, model, (struct nb_string){"", 0}, &why);
    if (rc == 0)
        rc = sum_up(&l, &scores, effect, &why);
    if (rc == 0)
        rc = evaluate(engine, model, (struct nb_string){"", 0}, &effect->now, &why);
    if (rc == 0)
        rc =
            evaluate(engine, model, (struct nb_string){scores.records.bytes, scores.records.length},
                     &effect->with, &why);
    end(&l);
    nb_buffer_deinit(&scores.records);
    return nb_quarantine_tell(rc, &why, error);
}
