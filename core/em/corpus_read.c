/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the documents of a corpus from the ledger, a few hundred in one snapshot, so that the
 * writer need not wait for pages. Changes made during the reading may be included or not.
 */
#include "core/em/em_corpus.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/array.h"
#include "core/counts/counts.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/model/state.h"

enum { SLICE_DOCUMENTS = 500 };

struct reading {
    struct nb_engine *engine;
    struct nb_live *live;
    bool (*stop)(void *user); /* true: the reading ends early; NULL: never */
    void *user;
    struct nb_corpus *corpus; /* NULL: only `part` is read */
    struct nb_corpus_part *part;
    struct nb_view view; /* snapshot for reading the sample */
    struct nb_rows bag;
    struct nb_entry entry;
    struct nb_heap heap; /* the sample: the smallest hashes so far */
};

/* The hash needs no key: it only chooses a sample, and no secret depends on it. */
static uint64_t order_of(const struct nb_entry *entry)
{
    return XXH3_64bits(entry->change.id.bytes, entry->change.id.length);
}

static int make_room(struct nb_corpus_part *p, size_t size)
{
    bool good =
        nb_array_reserve(&p->orders, &p->room, p->count + 1, sizeof *p->orders) == 0 &&
        nb_array_reserve(&p->begin, &p->begin_room, p->count + 1, sizeof *p->begin) == 0 &&
        nb_array_reserve(&p->middle, &p->middle_room, p->count + 1, sizeof *p->middle) == 0 &&
        nb_array_reserve(&p->end, &p->end_room, p->count + 1, sizeof *p->end) == 0 &&
        nb_array_reserve(&p->labels, &p->label_room, p->count + 1, sizeof *p->labels) == 0 &&
        nb_array_reserve(&p->numbers, &p->number_room, p->count + 1, sizeof *p->numbers) == 0 &&
        nb_array_reserve(&p->columns, &p->column_room, p->size + size + 1, sizeof *p->columns) ==
            0 &&
        nb_array_reserve(&p->counts, &p->count_room, p->size + size + 1, sizeof *p->counts) == 0;
    return good ? 0 : NB_NO_MEMORY;
}

static int add_document(struct reading *r, struct nb_corpus_part *p, const struct nb_entry *entry,
                        struct nb_error *error)
{
    nb_model_read_lock(r->live->counts);
    uint32_t rows = nb_model_rows(r->live->counts);
    nb_model_unlock(r->live->counts);
    int rc = nb_bag_decode(entry->change.bag, rows, &r->bag, error);
    if (rc != 0)
        return rc;
    if (p->size + r->bag.size > NB_CORPUS_USES_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "the documents have more than %d features",
                            NB_CORPUS_USES_MOST);
    if (make_room(p, r->bag.size) != 0)
        return nb_error_no_memory(error);
    p->orders[p->count] = order_of(entry);
    p->begin[p->count] = p->size;
    for (size_t i = 0; i < r->bag.size; i++) {
        p->columns[p->size] = r->bag.counts[i].row;
        p->counts[p->size++] = r->bag.counts[i].count;
    }
    p->labels[p->count] =
        r->corpus == NULL ? entry->change.label : nb_corpus_place(r->corpus, entry->change.label);
    p->numbers[p->count] = entry->number;
    p->end[p->count++] = p->size;
    return 0;
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_corpus_part *p = &r->corpus->unlabelled;
    if (p->count == NB_CORPUS_DOCUMENTS_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d documents without a label",
                            NB_CORPUS_DOCUMENTS_MOST);
    return add_document(r, p, entry, error);
}

/* Visits the model's documents with a label, or those without, a few hundred in a snapshot. */
static int walk(struct reading *r, enum nb_ledger_only only, nb_ledger_visit *visit,
                struct nb_error *error)
{
    struct nb_ledger_steps steps = {.store = r->engine->store,
                                    .model = r->live->number,
                                    .only = only,
                                    .most = SLICE_DOCUMENTS,
                                    .visit = visit,
                                    .user = r};
    return nb_ledger_steps_all(&steps, r->stop, r->user, error);
}

/* Adds one document of the sample, if it still exists and has a label of the corpus. */
static int read_labelled(struct reading *r, uint64_t number, struct nb_error *error)
{
    bool is_current;
    int rc = nb_ledger_read(&r->view, number, &r->entry, error);
    if (rc == 0)
        rc = nb_ledger_is_current(&r->view, &r->entry, &is_current, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    if (!is_current || r->entry.change.kind != NB_CHANGE_TRAIN ||
        nb_corpus_place(r->corpus, r->entry.change.label) == UINT32_MAX)
        return 0;
    return add_document(r, &r->corpus->labelled, &r->entry, error);
}

struct drawn {
    uint64_t order, number;
};

static int read_sample(struct reading *r, const struct drawn *drawn, size_t count,
                       struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count;) {
        rc = nb_step_check(r->stop, r->user, error);
        if (rc == 0)
            rc = nb_store_snapshot(r->engine->store, &r->view, error);
        if (rc != 0)
            return rc;
        for (unsigned k = 0; rc == 0 && k < SLICE_DOCUMENTS && i < count; k++, i++)
            rc = read_labelled(r, drawn[i].number, error);
        nb_store_snapshot_end(&r->view);
    }
    return rc;
}

static int compare_drawn(const void *a, const void *b)
{
    const struct drawn *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static int draw(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    const struct drawn drawn = {order_of(entry), entry->number};
    (void)error;
    nb_heap_add(&r->heap, &drawn);
    return 0;
}

static int draw_sample(struct reading *r, size_t sample, struct nb_error *error)
{
    struct drawn *drawn = calloc(sample + 1, sizeof *drawn);
    if (drawn == NULL)
        return nb_error_no_memory(error);
    r->heap = (struct nb_heap){
        .items = drawn, .most = sample, .item_size = sizeof *drawn, .compare = compare_drawn};
    int rc = walk(r, NB_LEDGER_LABELLED, draw, error);
    nb_heap_sort(&r->heap);
    if (rc == 0)
        rc = read_sample(r, drawn, r->heap.count, error);
    free(drawn);
    return rc;
}

struct placed {
    uint64_t order, number;
    size_t begin, end;
    uint32_t label;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->order != other->order)
        return one->order < other->order ? -1 : 1;
    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* Sorts the documents by the hash of their id. Their features are not moved. */
static int sort_documents(struct nb_corpus_part *p)
{
    struct placed *placed = calloc(p->count + 1, sizeof *placed);
    if (placed == NULL)
        return NB_NO_MEMORY;
    for (size_t d = 0; d < p->count; d++)
        placed[d] =
            (struct placed){p->orders[d], p->numbers[d], p->begin[d], p->end[d], p->labels[d]};
    qsort(placed, p->count, sizeof *placed, compare_placed);
    for (size_t d = 0; d < p->count; d++) {
        p->orders[d] = placed[d].order;
        p->numbers[d] = placed[d].number;
        p->begin[d] = placed[d].begin;
        p->end[d] = placed[d].end;
        p->labels[d] = placed[d].label;
    }
    free(placed);
    return 0;
}

/* Reads all documents without a label and up to `sample` of the others, both in the order of the
 * hashes of their ids. Their features are rows of the model. The corpus has its labels already.
 * Returns 0, NB_TOO_LARGE, NB_STOPPING, NB_NO_MEMORY or what reading the store can return. */
static int read_documents(struct reading *r, size_t sample, struct nb_error *error)
{
    int rc = walk(r, NB_LEDGER_UNLABELLED, take, error);
    if (rc == 0 && sort_documents(&r->corpus->unlabelled) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = draw_sample(r, sample, error);
    nb_rows_deinit(&r->bag);
    nb_entry_deinit(&r->entry);
    return rc == NB_STOPPING ? nb_error_set(error, rc, "the fit was broken off") : rc;
}

static int list_own_labels(struct nb_corpus *c, const struct nb_model *counts)
{
    uint32_t all = nb_model_label_count(counts);
    c->numbers = calloc((size_t)all + 1, sizeof *c->numbers);
    c->documents = calloc((size_t)all + 1, sizeof *c->documents);
    bool good = c->numbers != NULL && c->documents != NULL;
    for (uint32_t v = 0; good && v < all; v++) {
        if (nb_model_documents(counts, v) == 0)
            continue;
        c->numbers[c->labels] = v;
        c->documents[c->labels++] = (double)nb_model_documents(counts, v);
    }
    return good ? 0 : NB_NO_MEMORY;
}

/* The labels of the model and its parents. */
static int list_all_labels(struct nb_corpus *c, struct nb_parent_chain *chain)
{
    int rc = nb_viewed_read(&c->viewed, chain);
    c->labels = c->viewed.count;
    c->numbers = calloc((size_t)c->labels + 1, sizeof *c->numbers);
    c->documents = calloc((size_t)c->labels + 1, sizeof *c->documents);
    if (rc != 0 || c->numbers == NULL || c->documents == NULL)
        return NB_NO_MEMORY;
    if (c->labels > 0) {
        memcpy(c->numbers, c->viewed.numbers, c->labels * sizeof *c->numbers);
        memcpy(c->documents, c->viewed.documents, c->labels * sizeof *c->documents);
    }
    return 0;
}

/* Under the model's read lock. */
static int list_parts(struct nb_corpus *c, const struct nb_model *counts,
                      const struct nb_settings *settings)
{
    unsigned parts = 2 * (unsigned)settings->attribute_count;
    c->attributes = (unsigned)settings->attribute_count;
    if (parts == 0)
        return 0;
    c->part_vocabulary = calloc(parts, sizeof *c->part_vocabulary);
    for (unsigned part = 0; c->part_vocabulary != NULL && part < parts; part++)
        c->part_vocabulary[part] = nb_model_vocabulary(counts, NB_FIRST_PART + part);
    return c->part_vocabulary != NULL ? 0 : NB_NO_MEMORY;
}

static int list_labels(struct nb_corpus *c, struct nb_parent_chain *chain)
{
    const struct nb_model *counts = chain->live[0]->counts;
    int rc = chain->count > 1 ? list_all_labels(c, chain) : 0;
    nb_model_read_lock(counts);
    if (rc == 0)
        rc = list_parts(c, counts, &chain->published[0]->settings);
    if (rc == 0 && chain->count == 1)
        rc = list_own_labels(c, counts);
    for (unsigned field = 0; field <= NB_FIELDS; field++)
        c->vocabulary[field] = nb_model_vocabulary(counts, field);
    nb_model_unlock(counts);
    return rc;
}

int nb_corpus_read(struct nb_engine *engine, struct nb_parent_chain *chain, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error)
{
    struct reading r = {
        .engine = engine, .live = chain->live[0], .stop = stop, .user = user, .corpus = corpus};
    *corpus = (struct nb_corpus){.words = 0};
    int rc = list_labels(corpus, chain) == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0)
        rc = read_documents(&r, sample, error);
    if (rc == 0)
        rc = nb_corpus_make_columns(corpus, chain->live[0]->counts, &chain->published[0]->settings,
                                    is_binary, error);
    if (rc == 0 && corpus->viewed.count > 0 &&
        nb_viewed_counts(&corpus->viewed, chain, is_binary, corpus->ids, corpus->words,
                         corpus->word_counts) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

static int take_labelled(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    if (r->part->count == NB_CORPUS_DOCUMENTS_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "there are more than %d documents",
                            NB_CORPUS_DOCUMENTS_MOST);
    return add_document(r, r->part, entry, error);
}

int nb_corpus_read_labelled(struct nb_engine *engine, struct nb_live *live,
                            bool (*stop)(void *user), void *user, struct nb_corpus_part *part,
                            struct nb_error *error)
{
    struct reading r = {.engine = engine, .live = live, .stop = stop, .user = user, .part = part};
    int rc = walk(&r, NB_LEDGER_LABELLED, take_labelled, error);
    if (rc == 0 && sort_documents(part) != 0)
        rc = nb_error_no_memory(error);
    nb_rows_deinit(&r.bag);
    return rc == NB_STOPPING ? nb_error_set(error, rc, "the fit was broken off") : rc;
}
