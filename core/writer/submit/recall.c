/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/submit/recall.h"

#include <assert.h>
#include <stdlib.h>

#include "core/ledger/entries/ledger.h"
#include "core/ledger/entries/quarantine.h"
#include "core/model/live/names.h"
#include "core/writer/remember/note.h"
#include "core/writer/submit/batch_private.h"
#include "core/writer/submit/features.h"

/* ---- the quarantine -------------------------------------------------------------------------- */

/* Reads the features, without rows, in the order in which they were stored. */
static int unpack_features(const struct nb_quarantined *q, struct nb_submitted *change)
{
    struct nb_unpacker u = nb_unpacker_of(q->features.bytes, q->features.length);
    change->others = malloc((q->feature_count + 1) * sizeof *change->others);
    if (change->others == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < q->feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        if (nb_submitted_add(change, f.id, f.count, f.text) != 0)
            return NB_NO_MEMORY;
    }
    assert(nb_unpacker_done(&u));
    return 0;
}

int nb_batch_release(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                     struct nb_error *error)
{
    struct nb_quarantined q;
    int rc = nb_quarantined_read(&q, stored, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.untrain = q.untrain,
                                  .truncated = q.truncated,
                                  .fields = q.fields,
                                  .positions = q.positions};
    if (nb_buffer_append(&change.released, stored.bytes, stored.length) != 0 ||
        nb_buffer_append(&change.label, q.label.bytes, q.label.length) != 0 ||
        unpack_features(&q, &change) != 0)
        return nb_batch_end_change(batch, &change, NB_NO_MEMORY, error);
    return nb_batch_add_bare(batch, &change, id, q.source, error);
}

/* ---- the history ----------------------------------------------------------------------------- */

bool nb_batch_is_in_ledger(const struct nb_batch *batch, struct nb_string id)
{
    struct nb_view view;
    struct nb_entry entry = {0};
    if (nb_store_snapshot(batch->engine->store, &view, NULL) != 0)
        return true;
    int rc = nb_ledger_find(&view, batch->live->number, id, &entry, NULL);
    nb_store_snapshot_end(&view);
    nb_entry_deinit(&entry);
    return rc != NB_NOT_FOUND;
}

/* Finds the history's record of a document that is neither learned nor stored. Returns 0,
 * NB_NOT_FOUND without an error text, or a code. */
static int find_remembered(struct nb_batch *batch, struct nb_string id, struct nb_buffer *stored,
                           struct nb_error *error)
{
    int rc = nb_check_id(id, error);
    if (rc == 0)
        rc = nb_batch_acquire(batch, NULL, false, error);
    if (rc != 0)
        return rc;
    if (nb_remember_limits(batch->live).records == 0 || nb_batch_is_in_ledger(batch, id))
        return NB_NOT_FOUND;
    rc = nb_remember_find(batch->engine, batch->live, id, stored, error);
    return rc == NB_CORRUPT ? NB_NOT_FOUND : rc;
}

/* Reads the features of a record into the batch's bag. A record without the texts of words is
 * refused if the store keeps them now. */
static int read_features(struct nb_batch *batch, const struct nb_history_record *record,
                         struct nb_error *error)
{
    struct nb_features_coder *coder = nb_features_coder_new();
    if (coder == NULL)
        return nb_error_no_memory(error);
    int rc = nb_remember_bag(record, batch->live->key, coder, &batch->scratch, error);
    nb_features_coder_free(&coder);
    if (rc == 0 && record->feature_count > 0 && !nb_features_have_texts(record->features) &&
        nb_remember_keeps_texts(batch->engine, batch->live))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the history has the document without its words, which are kept now");
    return rc == NB_CORRUPT ? nb_error_set(error, NB_DAMAGED, "the history is damaged") : rc;
}

/* Adds a change that trains a document with its record in the history. */
static int recall(struct nb_batch *batch, struct nb_string id, struct nb_string stored,
                  struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_history_record record;
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = nb_history_read(&record, stored, error);
    if (rc != 0)
        return rc;
    rc = read_features(batch, &record, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {
        .is_recalled = true, .quarantined = batch->quarantined, .fields = record.fields};
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0 ||
        nb_submitted_features(batch, &change) != 0)
        return nb_batch_end_change(batch, &change, NB_NO_MEMORY, error);
    return nb_batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_recall(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                    struct nb_string source, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    int rc = find_remembered(batch, id, &stored, error);
    if (rc == 0)
        rc = recall(batch, id, (struct nb_string){stored.bytes, stored.length}, label, source,
                    error);
    nb_buffer_deinit(&stored);
    return rc;
}
