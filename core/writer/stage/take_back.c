/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/stage/staging.h"

#include "core/ledger/entries/twins.h"

/* memory->restored, decoded into delta.add. *found: the ledger has it. */
static int find_restored(struct nb_stage *s, bool *found, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    struct nb_entry *restored = &s->memory->restored;
    struct nb_error why;
    int rc = nb_ledger_read(s->view, submitted->restored, restored, &why);
    const struct nb_change *c = &restored->change;
    *found = rc == 0 && c->kind == NB_CHANGE_TRAIN && c->model == s->live->number &&
             nb_string_same(c->id, nb_buffer_string(&submitted->id)) &&
             nb_stage_is_label(s, c->label);
    if (*found)
        rc = nb_bag_decode(c->bag, nb_model_rows(s->live->counts), &submitted->delta.add, &why);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == NB_CORRUPT)
        return nb_stage_refuse_damaged(s, &why);
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* The document as the restored entry had it, in place of the living one. */
static int restore(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    const struct nb_entry *old = &s->memory->old;
    const struct nb_change *back = &s->memory->restored.change;
    submitted->label_number = back->label;
    submitted->delta.add_label = nb_delta_label(back->label);
    bool is_labelled_again = nb_stage_is_first_label(s);
    int rc = nb_stage_check_room(s);
    if (rc != 0 || s->refused)
        return rc;
    submitted->receipt.status = old->change.label != back->label ? NB_RELABELLED : NB_UPDATED;
    submitted->receipt.tokens = submitted->positions = back->tokens;
    submitted->truncated = back->truncated;
    rc = nb_stage_take_out_old(s, error);
    if (rc == 0 && !s->refused && !is_labelled_again)
        rc = nb_stage_keep_score(s, error);
    if (rc != 0 || s->refused)
        return rc;
    if (nb_stage_touch_label(s, back->label) != 0)
        return nb_error_no_memory(error);
    nb_twins_free(&s->live->twins); /* it is made again when it is needed */
    struct nb_change change = {.kind = NB_CHANGE_TRAIN,
                               .time = back->time,
                               .source = back->source,
                               .label = back->label,
                               .truncated = back->truncated,
                               .tokens = back->tokens,
                               .replaced = old->number,
                               .first = is_labelled_again ? nb_stage_first_of(&s->memory->restored)
                                                          : nb_stage_first_of(old),
                               .score = is_labelled_again ? back->score
                                                          : nb_buffer_string(&s->memory->score),
                               .bag = back->bag};
    rc = nb_stage_append(s, &change, error);
    return rc != 0 ? rc : nb_stage_apply(s, &change, error);
}

int nb_stage_take_back(struct nb_stage *s, struct nb_error *error)
{
    struct nb_submitted *submitted = s->change;
    bool found;
    int rc = nb_stage_find_old(s, &found);
    if (rc != 0 || s->refused)
        return rc;
    if (!found || s->memory->old.number != submitted->taken)
        return nb_stage_refuse(s, NB_CONFLICT, "the document was changed meanwhile");
    submitted->untrain = submitted->restored == 0;
    if (!submitted->untrain) {
        rc = find_restored(s, &found, error);
        if (rc != 0 || s->refused)
            return rc;
        submitted->untrain = !found;
    }
    return submitted->untrain ? nb_stage_untrain(s, error) : restore(s, error);
}
