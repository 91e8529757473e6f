/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/receipt.h"

#include "server/json/emit.h"
#include "server/json/problem.h"

static const char *const status_names[] = {
    [NB_LEARNED] = "learned",
    [NB_UNCHANGED] = "unchanged",
    [NB_RELABELLED] = "relabelled",
    [NB_UPDATED] = "updated",
    [NB_FORGOTTEN] = "forgotten",
    [NB_QUARANTINED] = "quarantined",
    [NB_NEAR_DUPLICATE] = "near_duplicate",
};

const char *nb_json_status_name(enum nb_status status)
{
    return status_names[status];
}

static void emit_receipt_labels(struct nb_emitter *e, const struct nb_receipt *receipt)
{
    nb_emit_key(e, "labels");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < receipt->label_count; i++) {
        nb_emit_name(e, nb_string_of(receipt->labels[i].label));
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", receipt->labels[i].documents);
        nb_emit_close(e, '}');
    }
    nb_emit_close(e, '}');
}

static void emit_receipt(struct nb_emitter *e, struct nb_string model,
                         const struct nb_receipt *receipt)
{
    if (receipt->code != 0) {
        nb_emit_error(e, &receipt->error);
        return;
    }
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "model", model);
    nb_emit_member_string(e, "id", receipt->id);
    if (receipt->label.length > 0) /* one that waits to be forgotten has none */
        nb_emit_member_string(e, "label", receipt->label);
    nb_emit_member_text(e, "status", status_names[receipt->status]);
    if (receipt->status == NB_RELABELLED)
        nb_emit_member_string(e, "previous_label", receipt->previous_label);
    if (receipt->status == NB_NEAR_DUPLICATE) {
        if (receipt->twin.length > 0)
            nb_emit_member_string(e, "near_duplicate_of", receipt->twin);
        nb_emit_member_short_double(e, "similarity", receipt->similarity);
    }
    nb_emit_member_u64(e, "tokens", receipt->tokens);
    if (receipt->status != NB_FORGOTTEN && receipt->status != NB_QUARANTINED)
        nb_emit_member_u64(e, "new_tokens", receipt->new_tokens);
    nb_emit_flag(e, "truncated", receipt->truncated);
    emit_receipt_labels(e, receipt);
    nb_emit_close(e, '}');
}

int nb_json_receipt(struct nb_buffer *out, struct nb_string model, const struct nb_receipt *receipt)
{
    struct nb_emitter e = nb_emit_begin(out);
    emit_receipt(&e, model, receipt);
    return nb_emit_end(&e);
}

int nb_json_results_end(struct nb_buffer *out, enum nb_verb verb,
                        const uint64_t totals[NB_STATUSES], uint64_t failed)
{
    enum nb_status first = verb == NB_VERB_UNTRAIN ? NB_FORGOTTEN : NB_LEARNED;
    enum nb_status last = verb == NB_VERB_UNTRAIN ? NB_FORGOTTEN : NB_UPDATED;
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "]");
    if (verb == NB_VERB_TRAIN || verb == NB_VERB_UNTRAIN)
        for (enum nb_status s = first; s <= last; s++)
            nb_emit_member_u64(&e, status_names[s], totals[s]);
    if (totals[NB_NEAR_DUPLICATE] > 0)
        nb_emit_member_u64(&e, status_names[NB_NEAR_DUPLICATE], totals[NB_NEAR_DUPLICATE]);
    if (totals[NB_QUARANTINED] > 0)
        nb_emit_member_u64(&e, status_names[NB_QUARANTINED], totals[NB_QUARANTINED]);
    nb_emit_member_u64(&e, "failed", failed);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
