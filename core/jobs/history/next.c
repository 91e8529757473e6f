/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/history/next.h"

#include <stdlib.h>

#include "core/jobs/history/next_pool.h"
#include "core/ledger/entries/row_texts.h"

void nb_next_deinit(struct nb_next *next)
{
    for (size_t i = 0; i < next->count; i++)
        nb_next_document_deinit(&next->documents[i]);
    free(next->documents);
    *next = (struct nb_next){.documents = NULL};
}

/* Reads the words of a stored document. A row may have another feature by now, or none. */
static int read_words(struct nb_next_pool *s, struct nb_next_candidate *c,
                      struct nb_row_texts *texts, struct nb_error *error)
{
    const struct nb_model *counts = s->reading.live->counts;
    int rc = 0;
    nb_bag_reset(&s->bag);
    for (size_t i = 0; rc == 0 && i < c->row_count; i++) {
        struct nb_string text;
        nb_model_read_lock(counts);
        bool is_there = c->rows[i] < nb_model_rows(counts);
        uint64_t id = is_there ? nb_model_row_id(counts, c->rows[i]) : 0;
        nb_model_unlock(counts);
        rc = is_there ? nb_row_texts_get(texts, c->rows[i], id, &text, NULL, error) : NB_NOT_FOUND;
        if (rc == 0 && nb_bag_add_id(&s->bag, id, text.bytes, text.length) != 0)
            rc = nb_error_no_memory(error);
        rc = rc == NB_NOT_FOUND ? 0 : rc;
    }
    free(c->document.words);
    c->document.words = nb_next_words(&s->bag);
    if (rc == 0 && c->document.words == NULL)
        rc = nb_error_no_memory(error);
    return rc;
}

/* Takes the best out of the candidates, and lowers the worth of those that are like it. */
static struct nb_next_candidate choose(struct nb_next_pool *s)
{
    struct nb_next_candidate *best = s->kept;
    for (size_t i = 1; i < s->kept_count; i++)
        best = s->kept[i].worth > best->worth ? &s->kept[i] : best;
    const struct nb_next_candidate chosen = *best;
    *best = s->kept[--s->kept_count];
    for (size_t i = 0; i < s->kept_count; i++) {
        struct nb_next_candidate *c = &s->kept[i];
        double likeness = nb_signature_similarity(&c->signature, &chosen.signature);
        double worth = (1 - c->document.margin) * (1 - likeness);
        c->worth = worth < c->worth ? worth : c->worth;
    }
    return chosen;
}

static int choose_all(struct nb_next_pool *s, size_t count, struct nb_next *next,
                      struct nb_error *error)
{
    struct nb_row_texts texts;
    const struct nb_reading *r = &s->reading;
    next->documents = calloc(count + 1, sizeof *next->documents);
    if (next->documents == NULL)
        return nb_error_no_memory(error);
    struct nb_error why = {0};
    int rc = nb_row_texts_begin(&texts, r->engine->store, r->live->number, r->live->key, &why);
    while (rc == 0 && next->count < count) {
        struct nb_next_candidate chosen = choose(s);
        if (!chosen.document.is_remembered)
            rc = read_words(s, &chosen, &texts, &why);
        next->documents[next->count++] = chosen.document;
    }
    nb_row_texts_end(&texts);
    return nb_live_note(r->live, rc, &why, error);
}

int nb_engine_next(struct nb_engine *engine, struct nb_string model, size_t count, size_t most,
                   bool (*stop)(void *user), void *user, struct nb_next *next,
                   struct nb_error *error)
{
    struct nb_next_pool pool;
    *next = (struct nb_next){.documents = NULL};
    int rc = nb_next_pool_begin(&pool, engine, model, error);
    if (rc != 0)
        return rc;
    rc = nb_next_pool_fill(&pool, most, &(struct nb_next_stop){stop, user}, error);
    next->looked_at = pool.looked_at;
    if (rc == 0)
        rc = choose_all(&pool, count < pool.kept_count ? count : pool.kept_count, next, error);
    nb_next_pool_end(&pool);
    return rc;
}
