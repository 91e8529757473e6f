/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that need no document: of labels, of documents that are forgotten, of weights.
 */
#include <assert.h>

#include "core/model/live/names.h"
#include "core/writer/submit/batch_private.h"
#include "core/writer/submit/recall.h"

static int add_label(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                     struct nb_string label, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.is_label = true, .labelled = entry};
    if (batch->quarantined) /* a change in the quarantine needs the document's content */
        return nb_error_set(error, NB_UNUSABLE,
                            "a change of the label alone cannot wait in the quarantine: send the "
                            "document, too");
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = nb_check_id(id, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_append(&change.label, label.bytes, label.length) != 0)
        return nb_error_no_memory(error);
    return nb_batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_label(struct nb_batch *batch, struct nb_string id, struct nb_string label,
                   struct nb_string source, struct nb_error *error)
{
    int rc = nb_batch_recall(batch, id, label, source, error);
    return rc == NB_NOT_FOUND ? add_label(batch, id, 0, label, source, error) : rc;
}

int nb_batch_label_entry(struct nb_batch *batch, struct nb_string id, uint64_t entry,
                         struct nb_string label, struct nb_string source, struct nb_error *error)
{
    assert(entry != 0);
    return add_label(batch, id, entry, label, source, error);
}

int nb_batch_forget(struct nb_batch *batch, struct nb_string id, struct nb_string source,
                    struct nb_error *error)
{
    struct nb_submitted change = {
        .untrain = true, .forgets = true, .quarantined = batch->quarantined};
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : nb_batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_take_back(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                       uint64_t restored, struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.untrain = restored == 0, .taken = taken, .restored = restored};
    assert(taken != 0 && restored < taken);
    int rc = nb_check_id(id, error);
    return rc != 0 ? rc : nb_batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_age(struct nb_batch *batch, struct nb_string id, uint64_t taken,
                 struct nb_error *error)
{
    struct nb_submitted change = {.untrain = true, .taken = taken, .is_aged = true};
    static const struct nb_string source = {NB_SOURCE_AGEING, sizeof NB_SOURCE_AGEING - 1};
    assert(taken != 0);
    return nb_batch_add_bare(batch, &change, id, source, error);
}

int nb_batch_note(struct nb_batch *batch, struct nb_string asked, uint32_t documents,
                  struct nb_string source, struct nb_error *error)
{
    struct nb_submitted change = {.is_note = true, .note_documents = documents};
    assert(asked.length <= 1024);
    if (nb_buffer_append(&change.label, asked.bytes, asked.length) != 0)
        return nb_error_no_memory(error);
    int rc = nb_batch_add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
    return rc;
}

int nb_batch_refit(struct nb_batch *batch, enum nb_refit_part part, struct nb_string source,
                   struct nb_error *error)
{
    struct nb_submitted change = {.is_refit = true, .part = part};
    return nb_batch_add_bare(batch, &change, (struct nb_string){"", 0}, source, error);
}
