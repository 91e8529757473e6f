/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/generate.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/jobs/generate/draw_values.h"
#include "core/jobs/generate/label_walk.h"
#include "core/ledger/ledger_features.h"
#include "core/model/state.h"

/* ---- a document drawn: values --------------------------------------------------------------- */

/* Reports the drawn values (draw_values.h) with their texts. Numbers are drawn here: a Gaussian to
 * the power 1 / T has T times the variance, and is drawn by the transform of Box and Muller (1958).
 */
struct telling {
    struct nb_label_walk walk;
    const struct nb_sampling *sampling;
    const struct nb_values_sink *sink;
    struct nb_row_texts texts;
    struct nb_drawn_values drawn;
};

static const struct nb_attribute *attribute_at(const struct telling *d, size_t attribute)
{
    return &d->walk.published->settings.attributes[attribute];
}

/* The value in the text of a feature of a field, as in `country=DE`. */
static struct nb_string value_of_text(struct nb_string text, struct nb_string field)
{
    assert(text.length > field.length);
    return (struct nb_string){text.bytes + field.length + 1, text.length - field.length - 1};
}

/* Sets *value; its bytes are NULL if it was forgotten meanwhile. */
static int text_of(struct telling *d, uint32_t row, uint64_t feature, struct nb_string field,
                   struct nb_string *value, struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    *value = (struct nb_string){NULL, 0};
    int rc = nb_row_texts_get(&d->texts, row, feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "values were learned without their texts ([store] keep_words = no): "
                          "there is nothing to write a document with");
    if (rc == 0)
        *value = value_of_text(text, field);
    return rc;
}

static int tell_category(struct telling *d, size_t attribute, struct nb_string field,
                         struct nb_error *error)
{
    struct nb_string value;
    const struct nb_drawn_value *drawn = &d->drawn.categories[attribute];
    if (!drawn->is_there)
        return 0;
    int rc = text_of(d, drawn->row, drawn->feature, field, &value, error);
    return rc != 0 || value.bytes == NULL ? rc : d->sink->string(d->sink->user, field, value);
}

/* *at is the place of the first member of this set or a later one. */
static int tell_set(struct telling *d, size_t attribute, struct nb_string field, size_t *at,
                    struct nb_error *error)
{
    int rc = d->sink->set(d->sink->user, field);
    for (; rc == 0 && *at < d->drawn.member_count && d->drawn.members[*at].attribute == attribute;
         ++*at) {
        const struct nb_drawn_value *drawn = &d->drawn.members[*at].value;
        struct nb_string value;
        rc = text_of(d, drawn->row, drawn->feature, field, &value, error);
        if (rc == 0 && value.bytes != NULL)
            rc = d->sink->member(d->sink->user, value);
    }
    return rc;
}

static int add_word(struct telling *d, const struct nb_position *p, struct nb_string field,
                    struct nb_buffer *words, struct nb_error *error)
{
    struct nb_string word;
    int rc = text_of(d, p->row, p->feature, field, &word, error);
    if (rc != 0 || word.bytes == NULL)
        return rc;
    if ((words->length > 0 && nb_buffer_append(words, " ", 1) != 0) ||
        nb_buffer_append(words, word.bytes, word.length) != 0)
        return nb_error_no_memory(error);
    return 0;
}

static int tell_text(struct telling *d, size_t attribute, struct nb_string field,
                     struct nb_error *error)
{
    const struct nb_positions *text = &d->drawn.texts[attribute];
    struct nb_buffer words = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && text->sum > 0 && i < text->length; i++)
        rc = add_word(d, &text->heap[i], field, &words, error);
    if (rc == 0)
        rc = d->sink->string(d->sink->user, field,
                             words.length > 0 ? nb_buffer_string(&words) : nb_string_of(""));
    nb_buffer_deinit(&words);
    return rc;
}

static int tell_number(const struct telling *d, size_t attribute, struct nb_string field,
                       const struct nb_attribute_law *law)
{
    static const double two_pi = 6.283185307179586;
    uint64_t id = nb_feature_value_id((unsigned)attribute * 2 + 1, 0);
    struct nb_random random = nb_random_of(d->sampling->seed, id);
    double radius = sqrt(-2 * log(nb_random_fraction(&random)) * d->sampling->temperature);
    double normal = radius * cos(two_pi * nb_random_fraction(&random));
    return d->sink->number(d->sink->user, field, law->mean + law->deviation * normal);
}

static int tell_field(struct telling *d, size_t attribute, size_t *at, struct nb_error *error)
{
    struct nb_string field = nb_string_of(attribute_at(d, attribute)->name);
    struct nb_attribute_law law;
    uint64_t documents;
    if (!d->drawn.has[attribute])
        return 0;
    int rc = nb_label_walk_attribute(&d->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    if (law.has_number)
        return tell_number(d, attribute, field, &law);
    switch ((enum nb_field_kind)attribute_at(d, attribute)->kind) {
    case NB_FIELD_KIND_CATEGORY:
        return tell_category(d, attribute, field, error);
    case NB_FIELD_KIND_SET:
        return law.values > 0 ? tell_set(d, attribute, field, at, error) : 0;
    case NB_FIELD_KIND_TEXT:
        return tell_text(d, attribute, field, error);
    case NB_FIELD_KIND_NUMBER:
        break;
    }
    return 0;
}

static int tell_values(struct telling *d, struct nb_error *error)
{
    const struct nb_live *live = d->walk.live;
    size_t at = 0;
    int rc = nb_row_texts_begin(&d->texts, d->walk.engine->store, live->number, live->key, error);
    for (size_t i = 0; rc == 0 && i < nb_label_walk_attributes(&d->walk); i++)
        rc = tell_field(d, i, &at, error);
    nb_row_texts_end(&d->texts);
    return rc;
}

int nb_generate_values(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling, const struct nb_values_sink *sink,
                       struct nb_error *error)
{
    struct telling d = {.sampling = sampling, .sink = sink};
    struct nb_error why = {0};
    int rc = nb_label_walk_begin(&d.walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    if (nb_label_walk_attributes(&d.walk) > 0) {
        rc = nb_draw_values(&d.walk, sampling->seed, sampling->temperature, sampling->words_most,
                            &d.drawn, &why);
        if (rc == 0)
            rc = tell_values(&d, &why);
        rc = nb_live_note(d.walk.live, rc, &why, error);
    }
    nb_drawn_values_deinit(&d.drawn);
    nb_label_walk_end(&d.walk);
    return rc;
}

/* ---- a document drawn: words ---------------------------------------------------------------- */

static void pass_word(void *user, const struct nb_word_law *law, const struct nb_walked_word *word)
{
    (void)law;
    nb_positions_offer(user, word->feature, word->row, (double)word->count + word->addend);
}

static int tell_word(struct nb_row_texts *texts, const struct nb_position *p,
                     int (*word)(void *user, struct nb_string word), void *user,
                     struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(texts, p->row, p->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "words were learned without their texts ([store] keep_words = no): there "
                          "is nothing to write a document with");
    return rc != 0 ? rc : word(user, text);
}

static int tell_words(const struct nb_label_walk *walk, struct nb_positions *p,
                      int (*word)(void *user, struct nb_string word), void *user,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    nb_positions_sort(p);
    int rc =
        nb_row_texts_begin(&texts, walk->engine->store, walk->live->number, walk->live->key, error);
    for (size_t i = 0; rc == 0 && i < p->length; i++)
        rc = tell_word(&texts, &p->heap[i], word, user, error);
    nb_row_texts_end(&texts);
    return rc;
}

static int draw(struct nb_label_walk *walk, struct nb_positions *p, struct nb_error *error)
{
    int rc = nb_label_walk_all(walk, pass_word, p, error);
    if (rc == 0 && !(p->sum > 0) && nb_label_walk_attributes(walk) == 0)
        return nb_error_set(error, NB_CONFLICT,
                            "the label has no words in model '%s': nothing can be drawn",
                            walk->live->name);
    return rc;
}

int nb_generate_sample(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling,
                       int (*word)(void *user, struct nb_string word), void *user,
                       struct nb_error *error)
{
    struct nb_label_walk walk;
    struct nb_positions p = {0};
    struct nb_error why = {0};
    assert(sampling->temperature >= NB_TEMPERATURE_LEAST &&
           sampling->temperature <= NB_TEMPERATURE_MOST);
    int rc = nb_label_walk_begin(&walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    rc = nb_positions_begin(&p, sampling->length, sampling->seed, sampling->temperature);
    if (rc != 0)
        (void)nb_error_no_memory(&why);
    if (rc == 0 && p.length > 0)
        rc = draw(&walk, &p, &why);
    if (rc == 0 && p.sum > 0)
        rc = tell_words(&walk, &p, word, user, &why);
    rc = nb_live_note(walk.live, rc, &why, error);
    nb_positions_deinit(&p);
    nb_label_walk_end(&walk);
    return rc;
}

/* ---- the distribution: values ---------------------------------------------------------------- */

struct value_listing {
    const struct nb_label_walk *walk;
    const struct nb_distribution_sink *sink;
    double mass;
    struct nb_heap heap; /* elements are struct nb_walked_value */
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
        .value = is_kept ? value_of_text(text, field) : text,
        .count = value->law.count,
        .posterior = {value->law.probability, interval_of(&value->law, l->mass)}};
    return l->sink->value(l->sink->user, &posterior);
}

/* Because of training between the steps, the label may have fewer documents than the field. */
static int tell_posteriors(const struct value_listing *l, size_t attribute, struct nb_string name,
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
        rc = tell_posteriors(l, i, name, error);
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

/* ---- the distribution: words ----------------------------------------------------------------- */

struct candidate {
    double weight; /* the count and its addend */
    uint64_t count, feature;
    uint32_t row;
};

struct word_listing {
    struct nb_label_walk walk;
    struct nb_heap heap;
    double mass;
    struct nb_word_law law; /* the law at the end of the walk */
    uint64_t documents, documents_all;
    double parameter,
        parameters;     /* Dirichlet prior of the labels: its own one, and the sum of all */
    double last_weight; /* weight of the last word, and its posterior: many words have the same */
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
    const struct nb_settings *settings = &l->walk.published->settings;
    nb_model_read_lock(counts);
    l->documents = nb_model_documents(counts, l->walk.label);
    l->documents_all = nb_model_documents_all(counts);
    if (settings->prior == NB_PRIOR_DIRICHLET)
        for (uint32_t v = 0; v < nb_model_label_count(counts); v++) {
            double a = nb_settings_label_parameter(settings, nb_model_label_name(counts, v).bytes);
            l->parameter = v == l->walk.label ? a : l->parameter;
            l->parameters += nb_model_documents(counts, v) > 0 ? a : 0;
        }
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
    double own = (double)l->documents + l->parameter;
    double others = (double)l->documents_all + l->parameters - own;
    label.is_prior_estimated = true;
    label.prior.interval = (struct nb_interval){1, 1};
    if (l->walk.published->settings.prior == NB_PRIOR_EMPIRICAL)
        label.prior.interval =
            nb_share_interval((double)l->documents, (double)l->documents_all, l->mass);
    else if (l->walk.published->settings.prior != NB_PRIOR_DIRICHLET)
        label.is_prior_estimated = false;
    else if (others > 0) /* else it is the only label */
        label.prior.interval = nb_beta_interval(own, others, l->mass);
    label.dirichlet = l->law.added + l->law.offset * (double)l->law.vocabulary;
    if (label.has_unseen)
        label.unseen = posterior_of(l, 0, l->law.addend);
    return sink->header(sink->user, &label);
}

static int tell_listed_word(struct word_listing *l, struct nb_row_texts *texts,
                            const struct candidate *c, const struct nb_distribution_sink *sink,
                            struct nb_error *error)
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
        rc = tell_listed_word(l, &texts, &candidates[i], sink, error);
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
