/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/suspects/suspects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/engine/engine_evaluation.h"
#include "core/ledger/ledger.h"
#include "core/model/registry.h"

enum {
    ROUNDS = 2,
    DOCUMENTS_MOST = 100000, /* some 15 seconds with two labels */
    SCORES_MOST = 5000000,   /* documents times labels: half a minute to a minute */
    AT_ONCE = 200,           /* entries read in one snapshot */
};

/* A document, by its turn; with `rounds` 0 there is none. */
struct doubt {
    double
        log_odds;  /* of its label against all others; their sum over the rounds, later the mean */
    double share;  /* P(suggested label) / (1 - P(its label)) */
    double surest; /* the suggested label's probability in the round that it is from */
    uint64_t number;
    uint32_t label, suggested;
    unsigned rounds;
    bool has; /* of several labels: the document has `label`, which is one of the fit */
};

struct search {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_suspects *suspects;
    struct doubt *doubts; /* owned */
    size_t count, room;
    struct nb_multilabel_fit *fit; /* referenced, of a model whose documents have several labels */
};

void nb_suspects_deinit(struct nb_suspects *suspects)
{
    for (size_t i = 0; i < suspects->count; i++) {
        struct nb_suspect *s = &suspects->list[i];
        nb_buffer_deinit(&s->id);
        free(s->label);
        free(s->suggested);
        free(s->source);
    }
    for (size_t i = 0; i < suspects->source_count; i++)
        free(suspects->sources[i].name);
    free(suspects->list);
    free(suspects->sources);
    *suspects = (struct nb_suspects){.list = NULL};
}

/* ---- scoring --------------------------------------------------------------------------------- */

/* Makes a place for the document of this turn. */
static struct doubt *doubt_of(struct search *s, uint32_t turn)
{
    if (nb_array_reserve(&s->doubts, &s->room, turn + (size_t)1, sizeof *s->doubts) != 0)
        return NULL;
    for (; s->count <= turn; s->count++)
        s->doubts[s->count] = (struct doubt){.rounds = 0};
    return &s->doubts[turn];
}

static int note_document(void *user, const struct nb_left_out *document, struct nb_error *error)
{
    static const double least = 1e-300, greatest = 1 - 1e-15;
    struct search *s = user;
    const struct nb_scores *scores = document->scores;
    size_t own = 0;
    while (own < scores->size && scores->labels[own] != document->label)
        own++;
    if (own == scores->size || scores->size < 2)
        return 0;
    struct doubt *d = doubt_of(s, document->turn);
    if (d == NULL)
        return nb_error_no_memory(error);
    double p = fmin(fmax(scores->probabilities[own], least), greatest);
    size_t other = own == scores->best ? scores->second : scores->best;
    d->number = document->number;
    d->label = document->label;
    d->log_odds += log(p / (1 - p));
    if (d->rounds++ > 0 && scores->probabilities[other] <= d->surest)
        return 0;
    d->surest = scores->probabilities[other];
    d->share = scores->size == 2 ? 1 : fmin(d->surest / (1 - p), 1);
    d->suggested = scores->labels[other];
    return 0;
}

static double label_probability(const struct doubt *d)
{
    return 1 / (1 + exp(-d->log_odds));
}

static double probability(const struct doubt *d)
{
    return d->share / (1 + exp(d->log_odds));
}

static int by_doubt(const void *a, const void *b)
{
    const struct doubt *left = a, *right = b;
    if (left->log_odds != right->log_odds)
        return left->log_odds < right->log_odds ? -1 : 1;
    return (left->number > right->number) - (left->number < right->number);
}

/* Keeps the documents for which another label wins, the most suspect first. */
static void keep_suspects(struct search *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->count; i++) {
        struct doubt *d = &s->doubts[i];
        if (d->rounds == 0)
            continue;
        s->suspects->looked_at++;
        d->log_odds /= d->rounds;
        if (probability(d) > label_probability(d))
            s->doubts[kept++] = *d;
    }
    s->count = kept;
    if (kept > 0)
        qsort(s->doubts, kept, sizeof *s->doubts, by_doubt);
}

static int score_all(struct search *s, const struct nb_left_out_options *options,
                     struct nb_error *error)
{
    struct nb_published *published = nb_live_settings(s->live);
    bool is_stacked = nb_published_is_stacked(published);
    nb_published_release(&published);
    nb_model_read_lock(s->live->counts);
    uint32_t labels = nb_model_labels_with_documents(s->live->counts);
    nb_model_unlock(s->live->counts);
    int rc = is_stacked
                 ? nb_left_out_walk(s->engine, s->live, labels, options, note_document, s, error)
                 : nb_book_left_out_walk(s->engine, s->live, options, note_document, s, error);
    if (rc == 0)
        keep_suspects(s);
    return rc;
}

/* Takes the suspects of the fit of a model whose documents have several labels. */
static int take_fit(struct search *s, struct nb_error *error)
{
    int rc = nb_engine_fit(s->engine, nb_live_name(s->live), &s->fit, error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < s->fit->suspect_count; i++) {
        const struct nb_multilabel_suspect *one = &s->fit->suspects[i];
        struct doubt *d = doubt_of(s, (uint32_t)i);
        if (d == NULL)
            return nb_error_no_memory(error);
        *d = (struct doubt){.log_odds = one->log_odds,
                            .share = 1,
                            .number = one->number,
                            .label = one->label,
                            .has = one->has};
    }
    s->suspects->looked_at = s->fit->documents;
    if (s->count > 0)
        qsort(s->doubts, s->count, sizeof *s->doubts, by_doubt);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int by_documents(const void *a, const void *b)
{
    const struct nb_suspect_source *left = a, *right = b;
    if (left->documents != right->documents)
        return left->documents > right->documents ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int count_source(struct nb_suspects *s, struct nb_string source)
{
    size_t at = 0;
    while (at < s->source_count && !nb_string_equals(source, s->sources[at].name))
        at++;
    if (at == s->source_count) {
        if (at == NB_SUSPECT_SOURCES_MOST)
            return 0;
        char *name = nb_string_copy(source);
        if (name == NULL ||
            nb_array_reserve(&s->sources, &s->source_room, at + 1, sizeof *s->sources) != 0) {
            free(name);
            return NB_NO_MEMORY;
        }
        s->sources[s->source_count++] = (struct nb_suspect_source){.name = name};
    }
    s->sources[at].documents++;
    return 0;
}

static char *label_name(const struct search *s, uint32_t label)
{
    if (s->fit != NULL)
        return nb_string_copy(nb_string_of(s->fit->names[label]));
    nb_model_read_lock(s->live->counts);
    char *name = nb_string_copy(nb_model_label_name(s->live->counts, label));
    nb_model_unlock(s->live->counts);
    return name;
}

static int list_one(const struct search *s, const struct doubt *doubt,
                    const struct nb_change *change)
{
    struct nb_suspect *one = &s->suspects->list[s->suspects->count++];
    *one = (struct nb_suspect){.label = label_name(s, doubt->label),
                               .suggested = s->fit == NULL ? label_name(s, doubt->suggested)
                                                           : strdup(doubt->has ? "remove" : "add"),
                               .source = nb_string_copy(change->source),
                               .probability = probability(doubt),
                               .label_probability = s->fit == NULL || doubt->has
                                                        ? label_probability(doubt)
                                                        : probability(doubt),
                               .log_odds = doubt->log_odds,
                               .time = change->time,
                               .tokens = change->tokens,
                               .number = doubt->number};
    bool is_whole = nb_buffer_append(&one->id, change->id.bytes, change->id.length) == 0 &&
                    one->label != NULL && one->suggested != NULL && one->source != NULL;
    return is_whole ? 0 : NB_NO_MEMORY;
}

/* Counts a document, and lists it if it is on the page. Skips one that was changed meanwhile. */
static int take(struct search *s, const struct nb_suspects_page *page, const struct doubt *doubt,
                const struct nb_entry *entry)
{
    struct nb_suspects *to = s->suspects;
    const struct doubt last = {.log_odds = page->log_odds, .number = page->number};
    bool is_likely = probability(doubt) >= NB_SUSPECT_BOUND;
    int rc = 0;
    to->suspected++;
    to->likely += is_likely;
    if (is_likely)
        rc = count_source(to, entry->change.source);
    if (rc != 0 || by_doubt(doubt, &last) <= 0)
        return rc;
    to->has_more = to->count == page->limit;
    return to->has_more ? 0 : list_one(s, doubt, &entry->change);
}

static int read_some(struct search *s, const struct nb_suspects_page *page, size_t first,
                     struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    int rc = nb_store_snapshot(s->engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (size_t i = first; rc == 0 && i < s->count && i < first + AT_ONCE; i++) {
        bool is_current = false;
        rc = nb_ledger_read(&view, s->doubts[i].number, &entry, NULL);
        if (rc == 0)
            rc = nb_ledger_is_current(&view, &entry, &is_current, NULL);
        if (rc == 0 && is_current && !entry.change.is_reviewed)
            rc = take(s, page, &s->doubts[i], &entry);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc == 0 ? 0 : nb_error_set(error, rc, "reading learned documents failed");
}

int nb_engine_suspects(struct nb_engine *engine, struct nb_string model,
                       const struct nb_suspects_page *page, bool (*stop)(void *user), void *user,
                       struct nb_suspects *suspects, struct nb_error *error)
{
    const struct nb_left_out_options options = {.documents_most = DOCUMENTS_MOST,
                                                .scores_most = SCORES_MOST,
                                                .rounds = ROUNDS,
                                                .stop = stop,
                                                .user = user};
    struct search s = {.engine = engine, .suspects = suspects};
    struct nb_error why = {0};
    *suspects = (struct nb_suspects){.list = NULL};
    int rc = nb_registry_acquire(engine, model, false, &s.live, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_live_settings(s.live);
    bool are_several = nb_published_is_several(published);
    nb_published_release(&published);
    rc = are_several ? take_fit(&s, &why) : score_all(&s, &options, &why);
    suspects->list = calloc(page->limit + 1, sizeof *suspects->list);
    if (rc == 0 && suspects->list == NULL)
        rc = nb_error_no_memory(&why);
    for (size_t at = 0; rc == 0 && at < s.count; at += AT_ONCE)
        rc = read_some(&s, page, at, &why);
    if (suspects->source_count > 0)
        qsort(suspects->sources, suspects->source_count, sizeof *suspects->sources, by_documents);
    if (rc == 0)
        atomic_store(&s.live->suspected, suspects->likely + 1);
    rc = nb_live_note(s.live, rc, &why, error);
    nb_registry_release(engine, &s.live);
    nb_multilabel_fit_release(&s.fit);
    free(s.doubts);
    return rc;
}
