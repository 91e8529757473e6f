/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"
#include "core/jobs/generate/values.h"
#include "core/ledger/entries/row_texts.h"
#include "core/model/live/state.h"

struct candidate {
    double weight; /* the count and its addend */
    uint64_t count, feature;
    uint32_t row;
};

struct listing {
    struct nb_label_walk walk;
    struct nb_heap heap;
    double mass;
    struct nb_word_law law; /* when the walk was over */
    uint64_t documents, documents_all;
    double last_weight; /* many words have the same */
    struct nb_posterior last;
};

/* More probable first; of equal ones the lower row. */
static int compare(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight < y->weight || x->weight > y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void offer(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    const struct candidate c = {(double)word->count + word->addend, word->count, word->feature,
                                word->row};
    (void)law;
    nb_heap_add(user, &c);
}

/* ---- posteriors ------------------------------------------------------------------------------ */

/* Training between the steps of the walk may have left the sum behind a count. `weight` is the
 * count with its addend. */
static struct nb_posterior posterior_of(const struct listing *l, uint64_t count, double weight)
{
    const struct nb_word_law *law = &l->law;
    double rest = law->sum > count ? (double)(law->sum - count) : 0;
    double whole = (double)count + rest + law->added;
    struct nb_posterior p = {.probability = whole > 0 ? weight / whole : 0, .interval = {1, 1}};
    double own = weight + law->offset;
    double others = whole - weight + law->offset * ((double)law->vocabulary - 1);
    if (law->vocabulary > 1 && others > 0) /* else it is the only word that there is */
        p.interval = nb_beta_interval(own, others, l->mass);
    return p;
}

static void read_sums(struct listing *l)
{
    const struct nb_model *counts = l->walk.live->counts;
    nb_model_read_lock(counts);
    l->documents = nb_model_documents(counts, l->walk.label);
    l->documents_all = nb_model_documents_all(counts);
    nb_model_unlock(counts);
}

static int tell_label(struct listing *l, const struct nb_distribution_sink *sink)
{
    struct nb_label_posterior label = {.documents = l->documents,
                                       .documents_all = l->documents_all,
                                       .prior.probability = l->law.prior,
                                       .words = l->law.sum,
                                       .vocabulary = l->law.vocabulary,
                                       .has_unseen = !l->law.is_by_word && l->law.vocabulary > 0};
    label.is_prior_estimated = l->walk.published->settings.prior == NB_PRIOR_EMPIRICAL;
    if (label.is_prior_estimated)
        label.prior.interval =
            nb_share_interval((double)l->documents, (double)l->documents_all, l->mass);
    label.dirichlet = l->law.added + l->law.offset * (double)l->law.vocabulary;
    if (label.has_unseen)
        label.unseen = posterior_of(l, 0, l->law.addend);
    return sink->header(sink->user, &label);
}

/* ---- the listing ----------------------------------------------------------------------------- */

static int tell_word(struct listing *l, struct nb_row_texts *texts, const struct candidate *c,
                     const struct nb_distribution_sink *sink, struct nb_error *error)
{
    struct nb_word_posterior word = {.count = c->count};
    int rc = nb_row_texts_get(texts, c->row, c->feature, &word.word, NULL, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc == 0 && (c->weight < l->last_weight || c->weight > l->last_weight)) {
        l->last = posterior_of(l, c->count, c->weight);
        l->last_weight = c->weight;
    }
    word.posterior = l->last;
    return rc != 0 ? rc : sink->word(sink->user, &word);
}

static int list(struct listing *l, const struct nb_distribution_sink *sink, struct nb_error *error)
{
    const struct nb_live *live = l->walk.live;
    const struct candidate *candidates = l->heap.items;
    struct nb_row_texts texts;
    int rc = nb_row_texts_begin(&texts, l->walk.engine->store, live->number, live->key, error);
    if (rc == 0)
        rc = tell_label(l, sink);
    for (size_t i = 0; rc == 0 && i < l->heap.count; i++)
        rc = tell_word(l, &texts, &candidates[i], sink, error);
    nb_row_texts_end(&texts);
    return rc;
}

static int find_words(struct listing *l, size_t limit, struct nb_error *error)
{
    size_t rows = nb_model_rows(l->walk.live->counts);
    l->heap = (struct nb_heap){.most = limit < rows ? limit : rows,
                               .item_size = sizeof(struct candidate),
                               .compare = compare};
    l->heap.items = malloc((l->heap.most + 1) * sizeof(struct candidate));
    if (l->heap.items == NULL)
        return nb_error_no_memory(error);
    int rc = l->heap.most == 0 ? 0 : nb_label_walk_all(&l->walk, offer, &l->heap, error);
    nb_heap_sort(&l->heap);
    return rc;
}

int nb_generate_distribution(struct nb_engine *engine, struct nb_string model,
                             struct nb_string label, size_t limit, double mass,
                             const struct nb_distribution_sink *sink, struct nb_error *error)
{
    struct listing l = {.mass = mass, .last_weight = -1};
    struct nb_error why = {0};
    int rc = nb_label_walk_begin(&l.walk, engine, model, label, error);
    if (rc != 0)
        return rc;
    rc = find_words(&l, limit, &why);
    if (rc == 0)
        rc = nb_label_walk_law(&l.walk, &l.law, &why);
    if (rc == 0) {
        read_sums(&l);
        rc = list(&l, sink, &why);
    }
    if (rc == 0 && sink->field != NULL && nb_label_walk_attributes(&l.walk) > 0)
        rc = nb_list_values(&l.walk, limit, mass, sink, &why);
    rc = nb_live_note(l.walk.live, rc, &why, error);
    free(l.heap.items);
    nb_label_walk_end(&l.walk);
    return rc;
}
