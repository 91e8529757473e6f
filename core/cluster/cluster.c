/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/heap.h"
#include "core/cluster/apply.h"
#include "core/cluster/gather.h"
#include "core/live/registry.h"
#include "core/mixture/mixture.h"
#include "core/store/row_texts.h"

/* Words that most documents have, or hardly any, tell no kinds apart. With k clusters a
 * word of one kind is in about 1/k of the documents. */
static const double most_share = 0.1;  /* of the documents, with many clusters ... */
static const double per_cluster = 1.5; /* ... and so much divided by their number with few */
enum { LEAST_DOCUMENTS = 5, FEW_DOCUMENTS = 1000, LEAST_OF_FEW = 2 };
enum { CELLS_MOST = 16 * 1024 * 1024, SLICE_DOCUMENTS = 500, LABEL_SIZE = 32 };

struct clustering {
    struct nb_engine *engine;
    struct nb_live *live;
    const struct nb_cluster_wish *wish;
    struct nb_gathered gathered;
    struct nb_mixture best;
    double best_bic;
    double *shares;  /* owned; of each word in all documents */
    uint32_t *order; /* owned; clusters, the largest first */
    uint64_t *sizes; /* owned; documents of each */
    struct nb_clustering *result;
};

void nb_clustering_deinit(struct nb_clustering *clustering)
{
    for (size_t k = 0; k < clustering->count; k++) {
        struct nb_cluster *c = &clustering->clusters[k];
        for (size_t i = 0; i < c->word_count; i++)
            free(c->words[i].text);
        for (size_t i = 0; i < c->nearest_count; i++)
            free(c->nearest[i]);
        for (size_t i = 0; i < c->member_count; i++)
            free(c->members[i]);
        free(c->members);
        free(c->label);
    }
    free(clustering->clusters);
    *clustering = (struct nb_clustering){0};
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* The likeliest of the restarts. */
static int fit(struct clustering *c, uint32_t clusters, struct nb_mixture *best)
{
    const struct nb_gathered *g = &c->gathered;
    const struct nb_mixture_documents documents = {g->count, g->words, g->begin, g->columns,
                                                   g->presence};
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->wish->restarts; i++) {
        struct nb_mixture made;
        rc = nb_mixture_fit(&documents, clusters, c->wish->seed + i, c->wish->stop, c->wish->user,
                            &made);
        if (rc == 0 && (i == 0 || made.log_likelihood > best->log_likelihood)) {
            nb_mixture_deinit(best);
            *best = made;
        } else if (rc == 0) {
            nb_mixture_deinit(&made);
        }
    }
    return rc;
}

static int try_clusters(struct clustering *c, uint32_t clusters)
{
    struct nb_mixture made = {0};
    int rc = fit(c, clusters, &made);
    double bic = rc == 0 ? nb_mixture_bic(&made, c->gathered.count) : (double)INFINITY;
    if (rc == 0 && (c->best.clusters == 0 || bic < c->best_bic)) {
        nb_mixture_deinit(&c->best);
        c->best = made;
        c->best_bic = bic;
    } else {
        nb_mixture_deinit(&made);
    }
    return rc;
}

static bool has_room(const struct clustering *c, uint32_t clusters)
{
    return clusters <= c->gathered.count && (uint64_t)clusters * c->gathered.words <= CELLS_MOST;
}

/* Numbers that grow by about a third, until there is no gain any more. */
static int try_all(struct clustering *c)
{
    unsigned worse = 0;
    int rc = 0;
    for (uint32_t k = 1; rc == 0 && k <= NB_CLUSTERS_MOST && has_room(c, k) && worse < 3;
         k += 1 + k / 3) {
        rc = try_clusters(c, k);
        worse = rc == 0 && c->best.clusters != k ? worse + 1 : 0;
    }
    return rc;
}

static int choose_words(struct clustering *c, struct nb_error *error)
{
    struct nb_gathered *g = &c->gathered;
    uint32_t clusters = c->wish->clusters;
    double share = clusters == 0 ? 0.5 : fmax(most_share, fmin(per_cluster / clusters, 0.75));
    uint32_t most = (uint32_t)ceil(share * (double)g->count);
    uint32_t least = g->count < FEW_DOCUMENTS ? LEAST_OF_FEW : LEAST_DOCUMENTS;
    if (nb_gathered_choose(g, c->live, least, most) != 0)
        return nb_error_no_memory(error);
    if (g->count == 0 || g->count < clusters)
        return nb_error_set(error, NB_CONFLICT,
                            "%zu documents have words that %u to %u of them have: too few for "
                            "clusters",
                            g->count, least, most);
    if (!has_room(c, clusters > 0 ? clusters : 1))
        return nb_error_set(error, NB_TOO_LARGE, "%u clusters of %u words: at most %d together",
                            clusters, g->words, CELLS_MOST);
    return 0;
}

/* ---- what clusters are ----------------------------------------------------------------------- */

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

static int describe(struct clustering *c)
{
    const struct nb_gathered *g = &c->gathered;
    uint32_t clusters = c->best.clusters;
    assert(clusters > 0);
    c->shares = calloc((size_t)g->words + 1, sizeof *c->shares);
    c->sizes = calloc(clusters, sizeof *c->sizes);
    c->order = calloc(clusters, sizeof *c->order);
    c->result->clusters = calloc(clusters, sizeof *c->result->clusters);
    if (c->shares == NULL || c->sizes == NULL || c->order == NULL || c->result->clusters == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < g->size; i++)
        c->shares[g->columns[i]] += 1 / (double)g->size;
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

static void offer_words(const struct clustering *c, uint32_t k, struct nb_heap *heap)
{
    for (uint32_t w = 0; w < c->gathered.words; w++) {
        double log_share = c->best.log_word[(size_t)w * c->best.clusters + k];
        struct candidate candidate = {exp(log_share) * (log_share - log(c->shares[w])), w};
        if (candidate.value > 0)
            nb_heap_add(heap, &candidate);
    }
}

/* A word that no document has any more may have lost its text meanwhile: it is left out. */
static int add_word(const struct clustering *c, struct nb_row_texts *texts, uint32_t k, size_t w,
                    struct nb_cluster *cluster, struct nb_error *error)
{
    struct nb_string text;
    double log_share = c->best.log_word[w * c->best.clusters + k];
    int rc = nb_row_texts_get(texts, c->gathered.word_rows[w], c->gathered.word_ids[w], &text, NULL,
                              error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_cluster_word *word = &cluster->words[cluster->word_count];
    *word = (struct nb_cluster_word){.text = nb_string_copy(text),
                                     .share = exp(log_share),
                                     .lift = log_share - log(c->shares[w])};
    cluster->word_count += word->text != NULL;
    return word->text == NULL ? nb_error_no_memory(error) : 0;
}

static int tell_words(const struct clustering *c, struct nb_row_texts *texts, uint32_t k,
                      struct nb_cluster *cluster, struct nb_error *error)
{
    struct candidate items[NB_CLUSTER_WORDS + 1];
    struct nb_heap heap = {
        .items = items, .most = NB_CLUSTER_WORDS, .item_size = sizeof *items, .compare = compare};
    int rc = 0;
    offer_words(c, k, &heap);
    nb_heap_sort(&heap);
    for (size_t i = 0; rc == 0 && i < heap.count; i++)
        rc = add_word(c, texts, k, items[i].index, cluster, error);
    return rc;
}

/* Reads the id of a document; *id is NULL if it was forgotten meanwhile: it is left out. */
static int read_id(const struct nb_view *view, struct nb_entry *entry, uint64_t number, char **id,
                   struct nb_error *error)
{
    *id = NULL;
    int rc = nb_ledger_read(view, number, entry, error);
    if (rc != 0 || entry->change.kind != NB_CHANGE_TRAIN)
        return rc == NB_NOT_FOUND ? 0 : rc;
    *id = nb_string_copy(entry->change.id);
    return *id == NULL ? nb_error_no_memory(error) : 0;
}

static int add_nearest(const struct clustering *c, uint64_t number, struct nb_cluster *cluster,
                       struct nb_error *error)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    char **place = &cluster->nearest[cluster->nearest_count];
    int rc = nb_store_snapshot(c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_id(&view, &entry, number, place, error);
    cluster->nearest_count += *place != NULL;
    nb_entry_deinit(&entry);
    nb_store_snapshot_end(&view);
    return rc;
}

static int add_member(const struct nb_view *view, struct nb_entry *entry, uint64_t number,
                      struct nb_cluster *cluster, struct nb_error *error)
{
    if (nb_array_reserve(&cluster->members, &cluster->member_room, cluster->member_count + 1,
                         sizeof(char *)) != 0)
        return nb_error_no_memory(error);
    char **place = &cluster->members[cluster->member_count];
    int rc = read_id(view, entry, number, place, error);
    cluster->member_count += *place != NULL;
    return rc;
}

/* Some hundred documents in one snapshot, from *next on. */
static int add_members(const struct clustering *c, uint32_t k, size_t *next,
                       struct nb_cluster *cluster, struct nb_error *error)
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

static int tell_members(const struct clustering *c, uint32_t k, struct nb_cluster *cluster,
                        struct nb_error *error)
{
    size_t next = 0;
    int rc = 0;
    while (rc == 0 && c->wish->members && next < c->gathered.count)
        rc = add_members(c, k, &next, cluster, error);
    return rc;
}

static int tell_nearest(const struct clustering *c, uint32_t k, struct nb_cluster *cluster,
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

static int tell(struct clustering *c, struct nb_error *error)
{
    struct nb_clustering *r = c->result;
    struct nb_row_texts texts;
    if (describe(c) != 0)
        return nb_error_no_memory(error);
    int rc = nb_row_texts_begin(&texts, c->engine->store, c->live->number, c->live->key, error);
    for (; rc == 0 && r->count < c->best.clusters; r->count += rc == 0) {
        struct nb_cluster *cluster = &r->clusters[r->count];
        uint32_t k = c->order[r->count];
        cluster->documents = c->sizes[k];
        rc = tell_words(c, &texts, k, cluster, error);
        if (rc == 0)
            rc = tell_nearest(c, k, cluster, error);
        if (rc == 0)
            rc = tell_members(c, k, cluster, error);
        if (rc != 0) {
            r->count++; /* what it has is freed with the others */
            break;
        }
    }
    nb_row_texts_end(&texts);
    r->documents = c->gathered.count;
    r->words = c->gathered.words;
    r->log_likelihood = c->best.log_likelihood;
    r->bic = c->best_bic;
    r->iterations = c->best.iterations;
    return rc;
}

/* ---- labels ---------------------------------------------------------------------------------- */

/* "cluster-1", or the next number of which the model has no label, for each that has documents. */
static int name_clusters(const struct clustering *c)
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

static int apply(struct clustering *c, struct nb_string model, struct nb_error *error)
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
    const struct nb_cluster_labels what = {.model = model,
                                           .source = c->wish->source,
                                           .numbers = c->gathered.numbers,
                                           .clusters = c->best.cluster,
                                           .count = c->gathered.count,
                                           .labels = labels,
                                           .stop = c->wish->stop,
                                           .user = c->wish->user};
    rc = nb_cluster_apply(c->engine, &what, &r->labelled, error);
    free(labels);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int find_clusters(struct clustering *c, struct nb_string model, struct nb_error *error)
{
    int rc = nb_gather(c->engine, c->live, c->wish->all, NB_CLUSTER_DOCUMENTS_MOST, c->wish->stop,
                       c->wish->user, &c->gathered, error);
    if (rc == 0)
        rc = choose_words(c, error);
    if (rc != 0)
        return rc;
    rc = c->wish->clusters > 0 ? try_clusters(c, c->wish->clusters) : try_all(c);
    if (rc == NB_STOPPING)
        return nb_error_set(error, rc, "the daemon is stopping");
    rc = rc != 0 ? nb_error_no_memory(error) : tell(c, error);
    return rc == 0 && c->wish->apply ? apply(c, model, error) : rc;
}

int nb_engine_cluster(struct nb_engine *engine, struct nb_string model,
                      const struct nb_cluster_wish *wish, struct nb_clustering *clustering,
                      struct nb_error *error)
{
    struct clustering c = {.engine = engine, .wish = wish, .result = clustering};
    struct nb_error why = {0};
    assert(wish->clusters <= NB_CLUSTERS_MOST && wish->restarts > 0);
    assert(!wish->apply || !wish->all);
    *clustering = (struct nb_clustering){0};
    int rc = nb_registry_acquire(engine, model, false, &c.live, error);
    if (rc != 0)
        return rc;
    rc = nb_live_note(c.live, find_clusters(&c, model, &why), &why, error);
    if (rc != 0) {
        uint64_t labelled = clustering->labelled;
        nb_clustering_deinit(clustering);
        clustering->labelled = labelled;
    }
    nb_mixture_deinit(&c.best);
    nb_gathered_deinit(&c.gathered);
    free(c.shares);
    free(c.sizes);
    free(c.order);
    nb_registry_release(engine, &c.live);
    return rc;
}
