/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/entries/row_texts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "core/ledger/entries/ledger_features.h"

int nb_row_texts_begin(struct nb_row_texts *texts, struct nb_store *store, uint32_t model,
                       const struct nb_key *key, struct nb_error *error)
{
    *texts = (struct nb_row_texts){.store = store, .model = model, .key = key};
    texts->coder = nb_features_coder_new();
    if (texts->coder == NULL)
        return nb_error_no_memory(error);
    return nb_store_snapshot(store, &texts->view, error);
}

void nb_row_texts_end(struct nb_row_texts *texts)
{
    nb_store_snapshot_end(&texts->view);
    nb_features_coder_free(&texts->coder);
    nb_entry_deinit(&texts->entry);
}

void nb_row_texts_rest(struct nb_row_texts *texts)
{
    nb_store_snapshot_end(&texts->view);
    texts->is_resting = true;
}

static int renew(struct nb_row_texts *t, struct nb_error *error)
{
    nb_store_snapshot_end(&t->view);
    t->is_resting = false;
    return nb_store_snapshot(t->store, &t->view, error);
}

static int look(struct nb_row_texts *t, uint32_t row, uint64_t feature, struct nb_string *text,
                bool *is_kept, struct nb_error *error)
{
    const uint64_t *ids;
    const struct nb_string *texts;
    const struct nb_change *c = &t->entry.change;
    size_t index = 0;
    int rc = nb_ledger_entry_of_row(&t->view, t->model, row, &t->entry, &index, error);
    if (rc == 0)
        rc = nb_features_decode(t->coder, c->features, c->new_count, t->key, &ids, &texts, error);
    if (rc != 0)
        return rc;
    assert(index < c->new_count);
    if (ids[index] != feature)
        return NB_NOT_FOUND;
    int digits = snprintf(t->id, sizeof t->id, "#%016" PRIx64, feature);
    *text = texts != NULL ? texts[index] : (struct nb_string){t->id, (size_t)digits};
    if (is_kept != NULL)
        *is_kept = texts != NULL;
    return 0;
}

/* A snapshot that stays open keeps the store from growing: reading goes on in the next one. */
int nb_row_texts_get(struct nb_row_texts *texts, uint32_t row, uint64_t feature,
                     struct nb_string *text, bool *is_kept, struct nb_error *error)
{
    bool is_due = texts->is_resting || nb_store_wanted(&texts->view);
    int rc = is_due ? renew(texts, error) : 0;
    if (rc == 0)
        rc = look(texts, row, feature, text, is_kept, error);
    if (rc != NB_NOT_FOUND)
        return rc;
    rc = renew(texts, error); /* it may be older than the row */
    return rc != 0 ? rc : look(texts, row, feature, text, is_kept, error);
}
