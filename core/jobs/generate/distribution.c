/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/distribution.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/jobs/generate/generate.h"
#include "core/jobs/generate/label_walk.h"
#include "core/ledger/entries/ledger_features.h"
#include "core/model/live/state.h"

struct value_listing {
    const struct nb_label_walk *walk;
    const struct nb_distribution_sink *sink;
    double mass;
    struct nb_heap heap; /* of struct nb_walked_value */
    struct nb_row_texts texts;
};

/* More probable first; of equal ones the lower row. */
static int compare_values(const void *a, const void *b)
{
    const struct nb_walked_value *x = a, *y = b;
    if (x->law.probability < y->law.probability || x->law.probability > y->law.probability)
        return x->law.probability > y->law.probability ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_field(const void *a, const void *b)
{
    const struct nb_walked_value *x = a, *y = b;
    if (x->law.attribute != y->law.attribute)
        return x->law.attribute < y->law.attribute ? -1 : 1;
    return compare_values(a, b);
}

static void offer_value(void *user, const struct nb_walked_value *value)
{
    nb_heap_add(user, value);
}

static int find_values(struct value_listing *l, size_t limit, struct nb_error *error)
{
    size_t rows = nb_model_rows(l->walk->live->counts);
    l->heap = (struct nb_heap){.most = limit < rows ? limit : rows,
                               .item_size = sizeof(struct nb_walked_value),
                               .compare = compare_values};
    l->heap.items = malloc((l->heap.most + 1) * sizeof(struct nb_walked_value));
    if (l->heap.items == NULL)
        return nb_error_no_memory(error);
    int rc = l->heap.most == 0 ? 0 : nb_label_walk_values(l->walk, offer_value, &l->heap, error);
    qsort(l->heap.items, l->heap.count, sizeof(struct nb_walked_value), by_field);
    return rc;
}

/* ---- reporting ------------------------------------------------------------------------------- */

struct nb_string nb_value_of_text(struct nb_string text, struct nb_string field)
{
    assert(text.length > field.length);
    return (struct nb_string){text.bytes + field.length + 1, text.length - field.length - 1};
}

static struct nb_interval interval_of(const struct nb_value_law *law, double mass)
{
    if (!(law->own > 0))
        return (struct nb_interval){0, 0};
    if (!(law->others > 0))
        return (struct nb_interval){1, 1};
    return nb_beta_interval(law->own, law->others, mass);
}

static int tell_value(struct value_listing *l, struct nb_string field,
                      const struct nb_walked_value *value, struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(&l->texts, value->row, value->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc != 0)
        return rc;
    const struct nb_value_posterior posterior = {
        .value = is_kept ? nb_value_of_text(text, field) : text,
        .count = value->law.count,
        .posterior = {value->law.probability, interval_of(&value->law, l->mass)}};
    return l->sink->value(l->sink->user, &posterior);
}

/* Because of training between the steps, the label may have fewer documents than the field. */
static int tell_field(const struct value_listing *l, size_t attribute, struct nb_string name,
                      struct nb_error *error)
{
    struct nb_attribute_law law;
    uint64_t documents;
    int rc = nb_label_walk_attribute(l->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    const struct nb_field_posterior field = {
        .name = name,
        .kind = l->walk->published->settings.attributes[attribute].kind,
        .documents = law.documents,
        .missing = documents > law.documents ? documents - law.documents : 0,
        .values = law.values,
        .has_number = law.has_number,
        .mean = law.mean,
        .deviation = law.deviation};
    return l->sink->field(l->sink->user, &field);
}

static int tell_all(struct value_listing *l, struct nb_error *error)
{
    const struct nb_walked_value *values = l->heap.items;
    int rc = 0;
    for (size_t i = 0, at = 0; rc == 0 && i < nb_label_walk_attributes(l->walk); i++) {
        struct nb_string name = nb_string_of(l->walk->published->settings.attributes[i].name);
        rc = tell_field(l, i, name, error);
        for (; rc == 0 && at < l->heap.count && values[at].law.attribute == i; at++)
            rc = tell_value(l, name, &values[at], error);
    }
    return rc;
}

/* The last part of nb_generate_distribution, for a sink that wants fields. */
static int list_values(const struct nb_label_walk *walk, size_t limit, double mass,
                       const struct nb_distribution_sink *sink, struct nb_error *error)
{
    struct value_listing l = {.walk = walk, .sink = sink, .mass = mass};
    const struct nb_live *live = walk->live;
    int rc = find_values(&l, limit, error);
    if (rc == 0) {
        rc = nb_row_texts_begin(&l.texts, walk->engine->store, live->number, live->key, error);
        if (rc == 0)
            rc = tell_all(&l, error);
        nb_row_texts_end(&l.texts);
    }
    free(l.heap.items);
    return rc;
}

struct candidate {
    double weight; /* the count and its addend */
    uint64_t count, feature;
    uint32_t row;
};

struct word_listing {
    struct nb_label_walk walk;
    struct nb_heap heap;
    double mass;
    struct nb_word_law law; /* as at the end of the walk */
    uint64_t documents, documents_all;
    double last_weight; /* many words have the same */
    struct nb_posterior last;
};

/* More probable first; of equal ones the lower row. */
static int compare_words(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight < y->weight || x->weight > y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void offer_word(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    const struct candidate c = {(double)word->count + word->addend, word->count, word->feature,
                                word->row};
    (void)law;
    nb_heap_add(user, &c);
}

/* ---- posteriors ------------------------------------------------------------------------------ */

/* Because of training between the steps of the walk, the sum may be less than a count. `weight` is
 * the count with its addend. */
static struct nb_posterior posterior_of(const struct word_listing *l, uint64_t count, double weight)
{
    const struct nb_word_law *law = &l->law;
    double rest = law->sum > count ? (double)(law->sum - count) : 0;
    double whole = (double)count + rest + law->added;
    struct nb_posterior p = {.probability = whole > 0 ? weight / whole : 0, .interval = {1, 1}};
    double own = weight + law->offset;
    double others = whole - weight + law->offset * ((double)law->vocabulary - 1);
    if (law->vocabulary > 1 && others > 0) /* else it is the only word */
        p.interval = nb_beta_interval(own, others, l->mass);
    return p;
}

static void read_sums(struct word_listing *l)
{
    const struct nb_model *counts = l->walk.live->counts;
    nb_model_read_lock(counts);
    l->documents = nb_model_documents(counts, l->walk.label);
    l->documents_all = nb_model_documents_all(counts);
    nb_model_unlock(counts);
}

static int tell_label(struct word_listing *l, const struct nb_distribution_sink *sink)
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

static int tell_word(struct word_listing *l, struct nb_row_texts *texts, const struct candidate *c,
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

static int list(struct word_listing *l, const struct nb_distribution_sink *sink,
                struct nb_error *error)
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

static int find_words(struct word_listing *l, size_t limit, struct nb_error *error)
{
    size_t rows = nb_model_rows(l->walk.live->counts);
    l->heap = (struct nb_heap){.most = limit < rows ? limit : rows,
                               .item_size = sizeof(struct candidate),
                               .compare = compare_words};
    l->heap.items = malloc((l->heap.most + 1) * sizeof(struct candidate));
    if (l->heap.items == NULL)
        return nb_error_no_memory(error);
    int rc = l->heap.most == 0 ? 0 : nb_label_walk_all(&l->walk, offer_word, &l->heap, error);
    nb_heap_sort(&l->heap);
    return rc;
}

int nb_generate_distribution(struct nb_engine *engine, struct nb_string model,
                             struct nb_string label, size_t limit, double mass,
                             const struct nb_distribution_sink *sink, struct nb_error *error)
{
    struct word_listing l = {.mass = mass, .last_weight = -1};
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
        rc = list_values(&l.walk, limit, mass, sink, &why);
    rc = nb_live_note(l.walk.live, rc, &why, error);
    free(l.heap.items);
    nb_label_walk_end(&l.walk);
    return rc;
}
