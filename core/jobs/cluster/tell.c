/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/heap.h"
#include "core/jobs/cluster/clusters.h"
#include "core/ledger/entries/ledger.h"
#include "core/ledger/entries/ledger_features.h"

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
static void tell_shares(struct nb_clustering_run *c)
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

static int describe(struct nb_clustering_run *c)
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

static void offer_words(const struct nb_clustering_run *c, uint32_t k, uint32_t begin, uint32_t end,
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
static int add_word(const struct nb_clustering_run *c, struct nb_row_texts *texts, uint32_t k,
                    size_t w, struct nb_cluster_word *words, size_t *count, struct nb_error *error)
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
static int tell_words(const struct nb_clustering_run *c, struct nb_row_texts *texts, uint32_t k,
                      uint32_t begin, uint32_t end, struct nb_cluster_word *words, size_t *count,
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

static int tell_fields(const struct nb_clustering_run *c)
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
static int tell_numbers(const struct nb_clustering_run *c, uint32_t k, struct nb_cluster *cluster)
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

static int add_nearest(const struct nb_clustering_run *c, uint64_t number,
                       struct nb_cluster *cluster, struct nb_error *error)
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
static int add_members(const struct nb_clustering_run *c, uint32_t k, size_t *next,
                       struct nb_cluster *cluster, struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    unsigned read = 0;
    int rc = nb_store_snapshot(c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    for (; rc == 0 && *next < c->gathered.count && read < NB_CLUSTER_SLICE_DOCUMENTS; ++*next) {
        if (c->best.cluster[*next] != k)
            continue;
        rc = add_member(&view, &entry, c->gathered.numbers[*next], cluster, error);
        read++;
    }
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

static int tell_members(const struct nb_clustering_run *c, uint32_t k, struct nb_cluster *cluster,
                        struct nb_error *error)
{
    size_t next = 0;
    int rc = 0;
    while (rc == 0 && c->options->members && next < c->gathered.count)
        rc = add_members(c, k, &next, cluster, error);
    return rc;
}

static int tell_nearest(const struct nb_clustering_run *c, uint32_t k, struct nb_cluster *cluster,
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

static int tell_cluster(const struct nb_clustering_run *c, struct nb_row_texts *texts, uint32_t k,
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

static void tell_figures(const struct nb_clustering_run *c)
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

int nb_clustering_tell(struct nb_clustering_run *c, struct nb_error *error)
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
