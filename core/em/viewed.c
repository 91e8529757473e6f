/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/viewed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/stack/blend_private.h"

enum { SLICE_WORDS = 4096 };

void nb_viewed_deinit(struct nb_viewed *viewed)
{
    for (uint32_t v = 0; v < viewed->count; v++)
        free(viewed->names[v]);
    free(viewed->names);
    free(viewed->numbers);
    free(viewed->documents);
    free(viewed->shares);
    *viewed = (struct nb_viewed){.count = 0};
}

/* Called under the locks; the model must have documents. */
static int begin_view(struct nb_parent_chain *chain)
{
    const struct nb_besides none = {.count = 0};
    return nb_parent_chain_blend_beside(chain, NULL, &none, &chain->blend);
}

static bool speaks(const struct nb_parent_chain *chain)
{
    return chain->contributor_count > 0 && chain->contributors[0] == 0;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int make_room(struct nb_viewed *v, uint32_t size)
{
    v->names = calloc((size_t)size + 1, sizeof *v->names);
    v->numbers = calloc((size_t)size + 1, sizeof *v->numbers);
    v->documents = calloc((size_t)size + 1, sizeof *v->documents);
    v->shares = calloc((size_t)size + 1, sizeof *v->shares);
    bool good = v->names != NULL && v->numbers != NULL && v->documents != NULL && v->shares != NULL;
    return good ? 0 : NB_NO_MEMORY;
}

static int copy_labels(struct nb_viewed *v, const struct nb_blend *b, const struct nb_model *own)
{
    if (make_room(v, b->size) != 0)
        return NB_NO_MEMORY;
    while (v->count < b->size) {
        const struct nb_blend_label *label = &b->labels[v->count];
        v->names[v->count] = nb_string_copy(nb_string_of(label->name));
        if (v->names[v->count] == NULL)
            return NB_NO_MEMORY;
        v->numbers[v->count] = label->numbers[0];
        if (label->numbers[0] != NB_BLEND_NO_LABEL)
            v->documents[v->count] = (double)nb_model_documents(own, label->numbers[0]);
        v->count++;
    }
    return 0;
}

/* The priors are the scores, by the book, of a document without words. */
static int put_priors(struct nb_viewed *viewed, struct nb_blend *b)
{
    struct nb_scores scores = {0};
    int rc = nb_blend_score(b, NULL, 0, &scores, NULL);
    for (uint32_t v = 0; rc == 0 && v < viewed->count; v++)
        viewed->shares[v] = exp(scores.log_scores[v]);
    nb_scores_deinit(&scores);
    return rc;
}

int nb_viewed_read(struct nb_viewed *viewed, struct nb_parent_chain *chain)
{
    int rc = 0;
    *viewed = (struct nb_viewed){.count = 0};
    nb_parent_chain_lock(chain);
    if (speaks(chain)) {
        rc = begin_view(chain);
        if (rc == 0)
            rc = copy_labels(viewed, &chain->blend, chain->live[0]->counts);
        if (rc == 0)
            rc = put_priors(viewed, &chain->blend);
    }
    nb_parent_chain_unlock(chain);
    return rc;
}

uint32_t nb_viewed_label(const struct nb_viewed *viewed, const struct nb_blend *blend,
                         uint32_t place, uint32_t *at)
{
    const char *name = blend->labels[place].name;
    while (*at < viewed->count && strcmp(viewed->names[*at], name) < 0)
        ++*at;
    return *at < viewed->count && strcmp(viewed->names[*at], name) == 0 ? *at : UINT32_MAX;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static void put_word(const struct nb_viewed *viewed, struct nb_blend *b, uint64_t id,
                     bool is_binary, double *counts)
{
    uint32_t rows[NB_BLEND_MOST] = {0};
    uint32_t at = 0;
    memset(counts, 0, viewed->count * sizeof *counts);
    nb_blend_find(b, id, rows);
    if (!nb_blend_read(b, rows))
        return;
    for (uint32_t place = 0; place < b->size; place++) {
        uint32_t v = nb_viewed_label(viewed, b, place, &at);
        if (v != UINT32_MAX)
            counts[v] = is_binary ? b->documents[place] : b->occurrences[place];
    }
}

int nb_viewed_counts(const struct nb_viewed *viewed, struct nb_parent_chain *chain, bool is_binary,
                     const uint64_t *ids, uint32_t words, double *counts)
{
    int rc = 0;
    for (uint32_t word = 0; rc == 0 && word < words;) {
        uint32_t until = words - word < SLICE_WORDS ? words : word + SLICE_WORDS;
        nb_parent_chain_lock(chain);
        if (speaks(chain))
            rc = begin_view(chain);
        for (; rc == 0 && word < until; word++)
            if (speaks(chain))
                put_word(viewed, &chain->blend, ids[word], is_binary,
                         counts + (size_t)word * viewed->count);
        nb_parent_chain_unlock(chain);
    }
    return rc;
}
