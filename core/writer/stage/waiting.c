/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/standing.h"
#include "core/writer/stage/staging.h"

#include <assert.h>

#include "core/ledger/entries/quarantine.h"

/* The change as it is stored, in memory->entry. */
static int write_quarantined(struct nb_stage *s)
{
    const struct nb_submitted *submitted = s->change;
    struct nb_buffer *features = &s->memory->features;
    int rc = 0;
    assert(submitted->known_count == 0);
    for (size_t i = 0; rc == 0 && i < submitted->other_count; i++) {
        struct nb_quarantined_feature f = {submitted->others[i].id, submitted->others[i].count,
                                           nb_submitted_text(submitted, i)};
        rc = nb_quarantined_add(features, &f);
    }
    struct nb_quarantined q = {.untrain = submitted->untrain,
                               .truncated = submitted->truncated,
                               .time = nb_standing_time(s->group->engine),
                               .source = nb_buffer_string(&submitted->source),
                               .label = nb_buffer_string(&submitted->label),
                               .fields = submitted->fields,
                               .positions = submitted->positions,
                               .features = nb_buffer_string(features)};
    return rc != 0 ? rc : nb_quarantined_write(&q, &s->memory->entry);
}

static int refuse_full(struct nb_stage *s)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_receipt *receipt = &s->change->receipt;
    s->refused = true;
    receipt->code = nb_error_set(&receipt->error, NB_TOO_LARGE,
                                 "the quarantine of the model is full (quarantine_documents %llu, "
                                 "quarantine_bytes %llu): an administrator has to apply or drop",
                                 (unsigned long long)settings->quarantine_documents,
                                 (unsigned long long)settings->quarantine_bytes);
    return 0;
}

int nb_stage_quarantine(struct nb_stage *s, struct nb_error *error)
{
    const struct nb_engine_settings *settings = &s->group->engine->settings;
    struct nb_quarantine_sums sums;
    struct nb_string id = nb_buffer_string(&s->change->id);
    if (s->live->number == 0)
        return nb_stage_refuse(s, NB_NOT_FOUND, "there is no such model yet");
    if (write_quarantined(s) != 0)
        return nb_error_no_memory(error);
    struct nb_string stored = nb_buffer_string(&s->memory->entry);
    struct nb_error why;
    int rc = nb_quarantine_sums_without(s->view, s->live->number, id, &sums, &why);
    if (rc == NB_CORRUPT)
        return nb_stage_refuse(s, NB_DAMAGED,
                               "the quarantine of the model is damaged: drop all of it");
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    if (sums.documents >= settings->quarantine_documents ||
        sums.bytes + stored.length > settings->quarantine_bytes)
        return refuse_full(s);
    s->change->receipt.status = NB_QUARANTINED;
    s->change->receipt.tokens = s->change->positions;
    return nb_quarantine_put(s->view, s->live->number, id, stored, error);
}

int nb_stage_check_released(struct nb_stage *s, struct nb_error *error)
{
    bool has = false;
    int rc = nb_quarantine_has(s->view, s->live->number, nb_buffer_string(&s->change->id),
                               nb_buffer_string(&s->change->released), &has, error);
    if (rc == 0 && !has)
        s->change->receipt.status = NB_QUARANTINED;
    if (rc == 0 && !has)
        return nb_stage_refuse(s, NB_CONFLICT,
                               "the change does not wait in the quarantine any more");
    return rc;
}

int nb_stage_leave_quarantine(struct nb_stage *s, struct nb_error *error)
{
    if (s->live->number == 0)
        return 0;
    return nb_quarantine_remove(s->view, s->live->number, nb_buffer_string(&s->change->id), error);
}
