/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/corpus_read.h"

#include <stdlib.h>
#include <string.h>

#include "core/counts/counts.h"
#include "core/em/corpus.h"
#include "core/em/corpus_columns.h"
#include "core/em/corpus_documents.h"
#include "core/model/live/state.h"

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
static int list_all_labels(struct nb_corpus *c, struct nb_family *family)
{
    int rc = nb_viewed_read(&c->viewed, family);
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

static int list_labels(struct nb_corpus *c, struct nb_family *family)
{
    const struct nb_model *counts = family->live[0]->counts;
    int rc = family->count > 1 ? list_all_labels(c, family) : 0;
    nb_model_read_lock(counts);
    if (rc == 0)
        rc = list_parts(c, counts, &family->published[0]->settings);
    if (rc == 0 && family->count == 1)
        rc = list_own_labels(c, counts);
    for (unsigned field = 0; field <= NB_FIELDS; field++)
        c->vocabulary[field] = nb_model_vocabulary(counts, field);
    nb_model_unlock(counts);
    return rc;
}

int nb_corpus_read(struct nb_engine *engine, struct nb_family *family, bool is_binary,
                   size_t sample, bool (*stop)(void *user), void *user, struct nb_corpus *corpus,
                   struct nb_error *error)
{
    const struct nb_corpus_source source = {
        .engine = engine, .live = family->live[0], .stop = stop, .user = user};
    *corpus = (struct nb_corpus){.words = 0};
    int rc = list_labels(corpus, family) == 0 ? 0 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_corpus_read_documents(&source, sample, corpus, error);
    if (rc == 0)
        rc = nb_corpus_make_columns(corpus, family->live[0]->counts,
                                    &family->published[0]->settings, is_binary, error);
    if (rc == 0 && corpus->viewed.count > 0 &&
        nb_viewed_counts(&corpus->viewed, family, is_binary, corpus->ids, corpus->words,
                         corpus->word_counts) != 0)
        rc = nb_error_no_memory(error);
    return rc;
}
