/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/cluster/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/jobs/cluster/gather.h"
#include "core/jobs/merge/merge.h"
#include "core/jobs/mixture/mixture.h"
#include "core/ledger/ledger.h"
#include "core/ledger/ledger_features.h"
#include "core/model/registry.h"
#include "core/model/state.h"

/* A clustering under way. */
struct run {
    struct nb_engine *engine;
    struct nb_live *live;
    const struct nb_cluster_options *options;
    struct nb_published *published; /* its settings give the fields */
    struct nb_gathered gathered;
    double *known; /* owned; by scale, variances that the caller knows, or 0 */
    struct nb_mixture best;
    double best_bic;
    double *shares;  /* owned; of each column in all documents, among the words or the category's
                        values */
    uint32_t *order; /* owned; clusters, the largest first */
    uint64_t *sizes; /* owned; documents of each */
    struct nb_clustering *result;
};

/* ---- the result ------------------------------------------------------------------------------ */

enum { SLICE_DOCUMENTS = 500 }; /* documents read in one snapshot */

struct candidate {
    double value;
    size_t index;
};

static int compare(const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;
    if (x->value > y->value || x->value < y->value)
        return x->value > y->value ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Computes the share of each column in all words, or in all values of its category. */
static void tell_shares(struct run *c)
{
    const struct nb_gathered *g = &c->gathered;
    for (size_t i = 0; i < g->size; i++)
        c->shares[g->columns[i]]++;
    for (uint32_t group = 0; group <= g->categories; group++) {
        uint32_t begin = group == 0 ? 0 : g->category[group - 1];
        uint32_t end = group < g->categories ? g->category[group] : g->word_columns;
        double total = 0;
        for (uint32_t w = begin; w < end; w++)
            total += c->shares[w];
        for (uint32_t w = begin; w < end; w++)
            c->shares[w] /= total;
    }
}

static int describe(struct run *c)
{
    const struct nb_gathered *g = &c->gathered;
    uint32_t clusters = c->best.clusters;
    assert(clusters > 0);
    c->shares = calloc((size_t)g->word_columns + 1, sizeof *c->shares);
    c->sizes = calloc(clusters, sizeof *c->sizes);
    c->order = calloc(clusters, sizeof *c->order);
    c->result->clusters = calloc(clusters, sizeof *c->result->clusters);
    if (c->shares == NULL || c->sizes == NULL || c->order == NULL || c->result->clusters == NULL)
        return NB_NO_MEMORY;
    tell_shares(c);
    for (size_t i = 0; i < g->count; i++)
        c->sizes[c->best.cluster[i]]++;
    for (uint32_t k = 0; k < clusters; k++) {
        uint32_t at = k;
        for (; at > 0 && c->sizes[c->order[at - 1]] < c->sizes[k]; at--)
            c->order[at] = c->order[at - 1];
        c->order[at] = k;
    }
    return 0;
}

static void offer_words(const struct run *c, uint32_t k, uint32_t begin, uint32_t end,
                        struct nb_heap *heap)
{
    for (uint32_t w = begin; w < end; w++) {
        double log_share = c->best.log_word[(size_t)w * c->best.clusters + k];
        struct candidate candidate = {exp(log_share) * (log_share - log(c->shares[w])), w};
        if (candidate.value > 0)
            nb_heap_add(heap, &candidate);
    }
}

/* Leaves out a word that lost its text meanwhile, because no document has it any more. */
static int add_word(const struct run *c, struct nb_row_texts *texts, uint32_t k, size_t w,
                    struct nb_cluster_word *words, size_t *count, struct nb_error *error)
{
    struct nb_string text;
    double log_share = c->best.log_word[w * c->best.clusters + k];
    int rc = nb_row_texts_get(texts, c->gathered.word_rows[w], c->gathered.word_ids[w], &text, NULL,
                              error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_cluster_word *word = &words[*count];
    *word = (struct nb_cluster_word){.text = nb_string_copy(text),
                                     .share = exp(log_share),
                                     .lift = log_share - log(c->shares[w])};
    *count += word->text != NULL;
    return word->text == NULL ? nb_error_no_memory(error) : 0;
}

/* Finds the most typical columns from `begin` to `end`. */
static int tell_words(const struct run *c, struct nb_row_texts *texts, uint32_t k, uint32_t begin,
                      uint32_t end, struct nb_cluster_word *words, size_t *count,
                      struct nb_error *error)
{
    struct candidate items[NB_CLUSTER_WORDS + 1];
    struct nb_heap heap = {
        .items = items, .most = NB_CLUSTER_WORDS, .item_size = sizeof *items, .compare = compare};
    int rc = 0;
    offer_words(c, k, begin, end, &heap);
    nb_heap_sort(&heap);
    for (size_t i = 0; rc == 0 && i < heap.count; i++)
        rc = add_word(c, texts, k, items[i].index, words, count, error);
    return rc;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int tell_fields(const struct run *c)
{
    const struct nb_gathered *g = &c->gathered;
    struct nb_clustering *r = c->result;
    r->fields = calloc((size_t)g->scale_count + 1, sizeof *r->fields);
    if (r->fields == NULL)
        return NB_NO_MEMORY;
    for (; r->field_count < g->scale_count; r->field_count++) {
        const char *name = g->attributes.list[g->scales[r->field_count].attribute].name;
        r->fields[r->field_count] = nb_string_copy(nb_string_of(name));
        if (r->fields[r->field_count] == NULL)
            return NB_NO_MEMORY;
    }
    return 0;
}

/* Sets means and deviations in the units of the documents. */
static int tell_numbers(const struct run *c, uint32_t k, struct nb_cluster *cluster)
{
    const struct nb_gathered *g = &c->gathered;
    cluster->numbers = calloc((size_t)g->scale_count + 1, sizeof *cluster->numbers);
    if (cluster->numbers == NULL)
        return NB_NO_MEMORY;
    for (uint32_t s = 0; s < g->scale_count; s++) {
        const struct nb_gathered_scale *scale = &g->scales[s];
        size_t at = (size_t)s * c->best.clusters + k;
        cluster->numbers[s] = (struct nb_cluster_number){
            .mean = nb_moments_mean(&scale->moments) + scale->deviation * c->best.mean[at],
            .deviation = scale->deviation * sqrt(c->best.variance[at])};
    }
    return 0;
}

/* Returns ln of the divisor of the likelihood if numbers have the units of the documents instead of
 * deviations. */
static double log_units(const struct nb_gathered *g)
{
    double sum = 0;
    for (uint32_t s = 0; s < g->scale_count; s++)
        sum += (double)g->scales[s].moments.count * log(g->scales[s].deviation);
    return sum;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Reads the id of a document; `id` is empty if the document was forgotten meanwhile, and is left
 * out. */
static int read_id(const struct nb_view *view, struct nb_entry *entry, uint64_t number,
                   struct nb_buffer *id, struct nb_error *error)
{
    nb_buffer_init(id);
    int rc = nb_ledger_read(view, number, entry, error);
    if (rc != 0 || entry->change.kind != NB_CHANGE_TRAIN)
        return rc == NB_NOT_FOUND ? 0 : rc;
    return nb_buffer_append(id, entry->change.id.bytes, entry->change.id.length) != 0
               ? nb_error_no_memory(error)
               : 0;
}

static int add_nearest(const struct run *c, uint64_t number, struct nb_cluster *cluster,
                       struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    struct nb_buffer *place = &cluster->nearest[cluster->nearest_count];
    int rc = nb_store_snapshot(c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_id(&view, &entry, number, place, error);
    cluster->nearest_count += place->length > 0;
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

static int add_member(const struct nb_view *view, struct nb_entry *entry, uint64_t number,
                      struct nb_cluster *cluster, struct nb_error *error)
{
    if (nb_array_reserve(&cluster->members, &cluster->member_room, cluster->member_count + 1,
                         sizeof *cluster->members) != 0)
        return nb_error_no_memory(error);
    struct nb_buffer *place = &cluster->members[cluster->member_count];
    int rc = read_id(view, entry, number, place, error);
    cluster->member_count += place->length > 0;
    return rc;
}

/* Adds some hundred documents in one snapshot, from *next on. */
static int add_members(const struct run *c, uint32_t k, size_t *next, struct nb_cluster *cluster,
                       struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    unsigned read = 0;
    int rc = nb_store_snapshot(c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (; rc == 0 && *next < c->gathered.count && read < SLICE_DOCUMENTS; ++*next) {
        if (c->best.cluster[*next] != k)
            continue;
        rc = add_member(&view, &entry, c->gathered.numbers[*next], cluster, error);
        read++;
    }
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

static int tell_members(const struct run *c, uint32_t k, struct nb_cluster *cluster,
                        struct nb_error *error)
{
    size_t next = 0;
    int rc = 0;
    while (rc == 0 && c->options->members && next < c->gathered.count)
        rc = add_members(c, k, &next, cluster, error);
    return rc;
}

static int tell_nearest(const struct run *c, uint32_t k, struct nb_cluster *cluster,
                        struct nb_error *error)
{
    struct candidate items[NB_CLUSTER_NEAREST + 1];
    struct nb_heap heap = {
        .items = items, .most = NB_CLUSTER_NEAREST, .item_size = sizeof *items, .compare = compare};
    int rc = 0;
    for (size_t i = 0; i < c->gathered.count; i++)
        if (c->best.cluster[i] == k)
            nb_heap_add(&heap, &(struct candidate){c->best.margin[i], i});
    nb_heap_sort(&heap);
    for (size_t i = 0; rc == 0 && i < heap.count; i++)
        rc = add_nearest(c, c->gathered.numbers[items[i].index], cluster, error);
    return rc;
}

static int tell_cluster(const struct run *c, struct nb_row_texts *texts, uint32_t k,
                        struct nb_cluster *cluster, struct nb_error *error)
{
    const struct nb_gathered *g = &c->gathered;
    assert(k < c->best.clusters && c->sizes != NULL);
    cluster->documents = c->sizes[k];
    cluster->share = exp(c->best.log_share[k]);
    int rc = tell_numbers(c, k, cluster) != 0 ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = tell_words(c, texts, k, 0, g->words, cluster->words, &cluster->word_count, error);
    if (rc == 0)
        rc = tell_words(c, texts, k, g->words, g->word_columns, cluster->values,
                        &cluster->value_count, error);
    if (rc == 0)
        rc = tell_nearest(c, k, cluster, error);
    return rc == 0 ? tell_members(c, k, cluster, error) : rc;
}

static void tell_figures(const struct run *c)
{
    struct nb_clustering *r = c->result;
    double units = log_units(&c->gathered);
    r->documents = c->gathered.count;
    r->words = c->gathered.words;
    r->has_values = c->gathered.categories > 0;
    r->log_likelihood = c->best.log_likelihood - units;
    r->bic = c->best_bic + 2 * units;
    r->iterations = c->best.iterations;
}

/* Fills clustering->result from the best mixture, the largest cluster first. Returns 0,
 * NB_NO_MEMORY, NB_DAMAGED or NB_IO; the caller deinits the result in any case. */
static int tell_result(struct run *c, struct nb_error *error)
{
    struct nb_clustering *r = c->result;
    struct nb_row_texts texts;
    assert(r->count == 0 && r->clusters == NULL);
    if (describe(c) != 0 || tell_fields(c) != 0)
        return nb_error_no_memory(error);
    tell_figures(c);
    int rc = nb_row_texts_begin(&texts, c->engine->store, c->live->number, c->live->key, error);
    while (rc == 0 && r->count < c->best.clusters) {
        struct nb_cluster *cluster = &r->clusters[r->count];
        uint32_t k =
            c->order[r->count++]; /* counted first, so that a failure frees its members, too */
        rc = tell_cluster(c, &texts, k, cluster, error);
    }
    nb_row_texts_end(&texts);
    return rc;
}

/* ---- the clusters ---------------------------------------------------------------------------- */

/* Words that most documents or hardly any have do not distinguish clusters. With k clusters a word
 * of one cluster is in about 1/k of the documents. */
static const double most_share = 0.1;  /* of the documents, with many clusters ... */
static const double per_cluster = 1.5; /* ... or this divided by the number of clusters, with few */
enum { LEAST_DOCUMENTS = 5, FEW_DOCUMENTS = 1000, LEAST_OF_FEW = 2 };
/* Least variance of a known deviation, as a share of the variance of all: less is rounding. */
#define VARIANCE_LEAST 1e-18
enum { LABEL_SIZE = 32 };

void nb_clustering_deinit(struct nb_clustering *clustering)
{
    for (size_t k = 0; k < clustering->count; k++) {
        struct nb_cluster *c = &clustering->clusters[k];
        for (size_t i = 0; i < c->word_count; i++)
            free(c->words[i].text);
        for (size_t i = 0; i < c->nearest_count; i++)
            nb_buffer_deinit(&c->nearest[i]);
        for (size_t i = 0; i < c->member_count; i++)
            nb_buffer_deinit(&c->members[i]);
        for (size_t i = 0; i < c->value_count; i++)
            free(c->values[i].text);
        free(c->members);
        free(c->numbers);
        free(c->label);
    }
    nb_strings_free(clustering->fields, clustering->field_count);
    free(clustering->clusters);
    *clustering = (struct nb_clustering){0};
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* Keeps the likeliest of the restarts. */
static int fit(struct run *c, uint32_t clusters, struct nb_mixture *best)
{
    const struct nb_gathered *g = &c->gathered;
    const struct nb_mixture_documents documents = {.count = g->count,
                                                   .words = g->word_columns,
                                                   .begin = g->begin,
                                                   .columns = g->columns,
                                                   .counts = g->presence,
                                                   .categories = g->categories,
                                                   .category = g->category,
                                                   .numbers = g->scale_count,
                                                   .values = g->values,
                                                   .variances = c->known,
                                                   .has_equal_shares =
                                                       c->options->has_equal_shares};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->options->restarts; i++) {
        struct nb_mixture made;
        rc = nb_mixture_fit(&documents, clusters, c->options->seed + i, c->options->stop,
                            c->options->user, &made);
        if (rc == 0 && (i == 0 || made.log_likelihood > best->log_likelihood)) {
            nb_mixture_deinit(best);
            *best = made;
        } else if (rc == 0) {
            nb_mixture_deinit(&made);
        }
    }
    return rc;
}

/* Reports the bytes of a fit: its own tables, expected counts and parameters, and the parameters of
 * two mixtures that are kept: the likeliest of the restarts, and the one with the best number of
 * clusters so far.
 */
static int hold(const struct run *c, uint32_t clusters, struct nb_error *error)
{
    const struct nb_gathered *g = &c->gathered;
    uint64_t mixtures = 1u + (c->options->restarts > 1) + (c->options->clusters == 0);
    uint64_t cells = (uint64_t)clusters * (g->word_columns + 6u * g->scale_count);
    uint64_t bytes = nb_gathered_memory(g) + (mixtures + 1) * cells * sizeof(double) +
                     mixtures * g->count * (sizeof(double) + sizeof(uint32_t));
    return c->options->hold != NULL ? c->options->hold(c->options->user, bytes, error) : 0;
}

static int try_clusters(struct run *c, uint32_t clusters, struct nb_error *error)
{
    struct nb_mixture made = {0};
    int rc = hold(c, clusters, error);
    if (rc != 0)
        return rc;
    rc = fit(c, clusters, &made);
    double bic = rc == 0 ? nb_mixture_bic(&made, c->gathered.count) : (double)INFINITY;
    if (rc == 0 && (c->best.clusters == 0 || bic < c->best_bic)) {
        nb_mixture_deinit(&c->best);
        c->best = made;
        c->best_bic = bic;
    } else {
        nb_mixture_deinit(&made);
    }
    if (rc == NB_STOPPING)
        return nb_error_set(error, rc, "the daemon is stopping");
    return rc != 0 ? nb_error_no_memory(error) : 0;
}

static bool has_room(const struct run *c, uint32_t clusters)
{
    return clusters <= c->gathered.count &&
           (uint64_t)clusters * c->gathered.word_columns <= NB_CLUSTER_CELLS_MOST;
}

/* Tries numbers of clusters that grow by about a third, until there is no gain. */
static int try_all(struct run *c, struct nb_error *error)
{
    unsigned worse = 0;
    int rc = 0;
    for (uint32_t k = 1; rc == 0 && k <= NB_CLUSTERS_MOST && has_room(c, k) && worse < 3;
         k += 1 + k / 3) {
        rc = try_clusters(c, k, error);
        worse = rc == 0 && c->best.clusters != k ? worse + 1 : 0;
    }
    return rc;
}

static int choose_words(struct run *c, struct nb_error *error)
{
    struct nb_gathered *g = &c->gathered;
    uint32_t clusters = c->options->clusters;
    double share = clusters == 0 ? 0.5 : fmax(most_share, fmin(per_cluster / clusters, 0.75));
    uint32_t most = (uint32_t)ceil(share * (double)g->count);
    uint32_t least = g->count < FEW_DOCUMENTS ? LEAST_OF_FEW : LEAST_DOCUMENTS;
    size_t all = g->count;
    int rc = nb_gathered_choose(g, c->live, least, most, NB_CLUSTER_CELLS_MOST, error);
    if (rc != 0)
        return rc;
    if (g->count == 0 && most < least)
        return nb_error_set(error, NB_CONFLICT, "%zu document%s too few for clusters", all,
                            all == 1 ? " is" : "s are");
    if (g->count == 0 || g->count < clusters)
        return nb_error_set(error, NB_CONFLICT,
                            "%zu documents have words that %u to %u of them have, or values: too "
                            "few for clusters",
                            g->count, least, most);
    if (!has_room(c, clusters > 0 ? clusters : 1))
        return nb_error_set(error, NB_TOO_LARGE, "%u clusters of %u words: at most %d together",
                            clusters, g->word_columns, NB_CLUSTER_CELLS_MOST);
    return 0;
}

static int know_deviation(struct run *c, const struct nb_cluster_deviation *known,
                          struct nb_error *error)
{
    struct nb_attributes attributes = c->gathered.attributes;
    size_t attribute = nb_attribute_find(attributes, nb_string_of(known->field));
    if (attribute == attributes.count || attributes.list[attribute].kind != NB_FIELD_KIND_NUMBER)
        return nb_error_set(error, NB_UNUSABLE, "\"deviations\": '%s' is no field of numbers",
                            known->field);
    for (uint32_t s = 0; s < c->gathered.scale_count; s++) {
        const struct nb_gathered_scale *scale = &c->gathered.scales[s];
        double deviation = known->deviation / scale->deviation;
        if (scale->attribute == attribute)
            c->known[s] = fmax(deviation * deviation, VARIANCE_LEAST);
    }
    return 0;
}

static int know_deviations(struct run *c, struct nb_error *error)
{
    int rc = 0;
    c->known = calloc((size_t)c->gathered.scale_count + 1, sizeof *c->known);
    if (c->known == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; rc == 0 && i < c->options->deviation_count; i++)
        rc = know_deviation(c, &c->options->deviations[i], error);
    return rc;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* Names each cluster that has documents "cluster-1", or the next number for which the model has no
 * label. */
static int name_clusters(const struct run *c)
{
    char name[LABEL_SIZE];
    unsigned number = 0;
    int rc = 0;
    nb_model_read_lock(c->live->counts);
    for (size_t i = 0; rc == 0 && i < c->result->count; i++) {
        struct nb_cluster *cluster = &c->result->clusters[i];
        if (cluster->documents == 0)
            continue;
        do
            (void)snprintf(name, sizeof name, "cluster-%u", ++number);
        while (nb_model_find_label(c->live->counts, nb_string_of(name)) != UINT32_MAX);
        cluster->label = nb_string_copy(nb_string_of(name));
        rc = cluster->label != NULL ? 0 : NB_NO_MEMORY;
    }
    nb_model_unlock(c->live->counts);
    return rc;
}

static int apply(struct run *c, struct nb_string model, struct nb_error *error)
{
    struct nb_clustering *r = c->result;
    struct nb_string *labels = calloc(c->best.clusters, sizeof *labels);
    int rc = labels != NULL ? name_clusters(c) : NB_NO_MEMORY;
    if (rc != 0) {
        free(labels);
        return nb_error_no_memory(error);
    }
    for (size_t i = 0; i < r->count; i++)
        labels[c->order[i]] = nb_string_of(r->clusters[i].label);
    const struct nb_relabelling what = {.model = model,
                                        .source = c->options->source,
                                        .numbers = c->gathered.numbers,
                                        .count = c->gathered.count,
                                        .labels = labels,
                                        .places = c->best.cluster};
    rc = nb_relabel(c->engine, &what, c->options->stop, c->options->user, &r->labelled, error);
    free(labels);
    return rc;
}

/* ---- the whole job --------------------------------------------------------------------------- */

static int find_clusters(struct run *c, struct nb_string model, struct nb_error *error)
{
    int rc = nb_gather(c->engine, c->live, nb_settings_attributes(&c->published->settings),
                       c->options->all, NB_CLUSTER_DOCUMENTS_MOST, c->options->stop,
                       c->options->hold, c->options->user, &c->gathered, error);
    if (rc == 0)
        rc = choose_words(c, error);
    if (rc == 0)
        rc = know_deviations(c, error);
    if (rc == 0)
        rc = c->options->clusters > 0 ? try_clusters(c, c->options->clusters, error)
                                      : try_all(c, error);
    if (rc == 0)
        rc = tell_result(c, error);
    return rc == 0 && c->options->apply ? apply(c, model, error) : rc;
}

/* Only one call at a time makes labels in a model: two would choose the same names. */
static int find_and_apply(struct run *c, struct nb_string model, struct nb_error *error)
{
    if (!c->options->apply)
        return find_clusters(c, model, error);
    if (atomic_exchange(&c->live->makes_labels, true))
        return nb_error_set(error, NB_CONFLICT,
                            "labels of model '%s' are being made of clusters already; they are "
                            "there when that request ends",
                            c->live->name);
    int rc = find_clusters(c, model, error);
    atomic_store(&c->live->makes_labels, false);
    return rc;
}

int nb_engine_cluster(struct nb_engine *engine, struct nb_string model,
                      const struct nb_cluster_options *options, struct nb_clustering *clustering,
                      struct nb_error *error)
{
    struct run c = {.engine = engine, .options = options, .result = clustering};
    struct nb_error why = {0};
    assert(options->clusters <= NB_CLUSTERS_MOST && options->restarts > 0);
    assert(!options->apply || !options->all);
    *clustering = (struct nb_clustering){0};
    int rc = nb_registry_acquire(engine, model, false, &c.live, error);
    if (rc != 0)
        return rc;
    c.published = nb_live_settings(c.live);
    rc = nb_live_note(c.live, find_and_apply(&c, model, &why), &why, error);
    if (rc != 0) {
        uint64_t labelled = clustering->labelled;
        nb_clustering_deinit(clustering);
        clustering->labelled = labelled;
    }
    nb_mixture_deinit(&c.best);
    nb_gathered_deinit(&c.gathered);
    nb_published_release(&c.published);
    free(c.known);
    free(c.shares);
    free(c.sizes);
    free(c.order);
    nb_registry_release(engine, &c.live);
    return rc;
}
