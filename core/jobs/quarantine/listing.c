/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at the quarantine.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/jobs/quarantine/find.h"
#include "core/jobs/quarantine/judge.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/model/registry/registry.h"

enum { LOOK_CHANGES = 500 };
static const double LEAST_PROBABILITY = 1e-6; /* as in the evaluation */
static const struct nb_quarantine_wish ALL = {.until = INT64_MAX};

struct looking {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_judge judge;
    struct nb_quarantine_search search;
};

/* Deinit in any case. */
static int begin(struct looking *l, struct nb_engine *engine, struct nb_string model,
                 struct nb_string after, struct nb_error *error)
{
    *l = (struct looking){.engine = engine};
    int rc = nb_registry_acquire(engine, model, false, &l->live, error);
    if (rc != 0)
        return rc;
    if (nb_judge_init(&l->judge, engine, l->live) != 0 ||
        nb_quarantine_search_begin(&l->search, &ALL, after) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static void end(struct looking *l)
{
    if (l->live == NULL)
        return;
    nb_judge_deinit(&l->judge);
    nb_quarantine_search_deinit(&l->search);
    nb_registry_release(l->engine, &l->live);
}

/* Judges what was found, and names it. */
static int read_row(struct looking *l, const struct nb_quarantine_found *found,
                    struct nb_quarantine_row *row, struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, (struct nb_string){found->stored.bytes, found->stored.length},
                                 error);
    if (rc == 0)
        rc = nb_judge_one(&l->judge, &q, error);
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

/* A model of which nothing has a score has no evaluation. */
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
