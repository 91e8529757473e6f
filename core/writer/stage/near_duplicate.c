/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include "core/ledger/entries/twins.h"

static void sign(const struct nb_stage *s, struct nb_signature *signature)
{
    const struct nb_rows *rows = &s->change->delta.add;
    struct nb_signature_maker maker;
    nb_signature_begin(&maker);
    for (size_t i = 0; i < rows->size; i++)
        nb_signature_add(&maker, nb_model_row_id(s->live->counts, rows->counts[i].row));
    nb_signature_end(&maker, signature);
}

int nb_stage_have_twins(struct nb_stage *s, struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    struct nb_twins **twins = &s->live->twins;
    if (*twins != NULL && (settings->near_duplicates == 0 ||
                           nb_twins_window(*twins) != settings->near_duplicate_window))
        nb_twins_free(twins);
    if (settings->near_duplicates == 0 || *twins != NULL)
        return 0;
    return nb_twins_load(s->view, s->live->number, s->live->counts, settings->near_duplicate_window,
                         twins, error);
}

static int note_twin(struct nb_stage *s, const struct nb_twin *twin, struct nb_error *error)
{
    struct nb_receipt *receipt = &s->change->receipt;
    struct nb_entry *entry = &s->memory->restored;
    receipt->status = NB_NEAR_DUPLICATE;
    receipt->similarity = twin->similarity;
    s->change->twin.length = 0;
    if (nb_ledger_read(s->view, twin->number, entry, NULL) == 0 &&
        nb_buffer_append(&s->change->twin, entry->change.id.bytes, entry->change.id.length) != 0)
        return nb_error_no_memory(error);
    receipt->twin = nb_buffer_string(&s->change->twin);
    return 0;
}

int nb_stage_check_twins(struct nb_stage *s, bool found, struct nb_signature *signature,
                         struct nb_error *error)
{
    const struct nb_settings *settings = &s->live->published->settings;
    sign(s, signature);
    if (found || s->change->receipt.status != NB_LEARNED || s->new_label)
        return 0;
    struct nb_twin twin = nb_twins_find(s->live->twins, s->change->label_number, signature,
                                        settings->near_duplicate_similarity);
    return twin.count >= settings->near_duplicates ? note_twin(s, &twin, error) : 0;
}
