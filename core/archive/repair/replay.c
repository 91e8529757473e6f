/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/repair/replay.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/pack.h"
#include "core/ledger/entries/living.h"
#include "core/model/learn/apply.h"
#include "core/model/learn/learner.h"

struct replay {
    struct nb_engine *engine;
    const struct nb_view *view;
    struct nb_replayed *replayed;
    struct nb_live *live;
    struct nb_delta delta;
    struct nb_entry replaced;
    struct nb_buffer score;
    bool learns; /* an import does not teach the weights: they come with its end */
    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why);
    void *user;
};

void nb_replayed_deinit(struct nb_replayed *replayed)
{
    if (replayed->live != NULL)
        nb_live_free(replayed->live);
    replayed->live = NULL;
}

/* ---- settings and weights -------------------------------------------------------------------- */

static int replay_settings(struct replay *r, struct nb_string stored, struct nb_error *error)
{
    struct nb_settings settings;
    int rc = nb_settings_read(&settings, stored, error);
    if (rc != 0)
        return rc;
    struct nb_published *published = nb_published_next(&settings, r->live->key, r->live->published);
    nb_settings_deinit(&settings);
    if (published == NULL)
        return nb_error_no_memory(error);
    nb_live_publish_others(r->live, published);
    return 0;
}

static int replay_complete(struct replay *r, const struct nb_change *change, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(change->weights.bytes, change->weights.length);
    r->learns = true;
    r->replayed->has_weights = change->weights.length > 0;
    int rc = replay_settings(r, change->settings, error);
    if (rc == 0 && change->weights.length > 0 &&
        nb_stack_weights_read(r->live->published->weights, &u) != 0)
        rc = nb_error_set(error, NB_CORRUPT, "the weights of an import do not read back");
    return rc;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The entry that is replaced, if it still holds its document. */
static int find_replaced(struct replay *r, const struct nb_change *change, bool *found,
                         struct nb_error *error)
{
    *found = false;
    if (change->replaced == 0)
        return 0;
    int rc = nb_ledger_read(r->view, change->replaced, &r->replaced, error);
    *found = rc == 0 && r->replaced.change.kind == NB_CHANGE_TRAIN;
    if (rc == NB_CORRUPT && r->skipped != NULL)
        return 0;
    return rc == NB_NOT_FOUND ? 0 : rc;
}

static int replay_document(struct replay *r, const struct nb_entry *entry, struct nb_error *error)
{
    const struct nb_change *change = &entry->change;
    struct nb_applying how = {.view = r->view, .number = entry->number};
    bool found;
    nb_learner_reset(r->engine->learner);
    if (r->learns && nb_published_is_stacked(r->live->published))
        r->replayed->has_weights = true;
    int rc = find_replaced(r, change, &found, error);
    if (rc == 0)
        rc = nb_delta_read(&r->delta, change, found ? &r->replaced.change : NULL,
                           nb_model_rows(r->live->counts), error);
    if (change->replaced != 0 && !found)
        r->replayed->is_whole = false;
    if (rc == 0 && change->kind == NB_CHANGE_TRAIN && change->label != NB_NO_LABEL &&
        change->first == 0 && r->learns) {
        r->score.length = 0;
        if (nb_learner_score(r->engine->learner, r->live->published, r->live->counts, &r->delta.add,
                             change->label, &r->score) != 0)
            return nb_error_no_memory(error);
    }
    if (r->learns)
        how.learner = r->engine->learner;
    return rc != 0 ? rc : nb_apply(r->live, change, &r->delta, &how, NULL, error);
}

static int replay_refit(struct replay *r, const struct nb_entry *entry, struct nb_error *error)
{
    struct nb_applying how = {
        .learner = r->engine->learner, .view = r->view, .number = entry->number};
    if (nb_published_is_stacked(r->live->published))
        r->replayed->has_weights = true;
    return nb_apply(r->live, &entry->change, &r->delta, &how, NULL, error);
}

static int replay_change(struct replay *r, const struct nb_entry *entry, struct nb_error *error)
{
    static const struct nb_applying how;
    const struct nb_change *change = &entry->change;
    int rc = nb_apply_new(r->live, change, &how, r->engine->coder, error);
    if (rc != 0)
        return rc;
    switch (change->kind) {
    case NB_CHANGE_TRAIN:
    case NB_CHANGE_UNTRAIN:
        return replay_document(r, entry, error);
    case NB_CHANGE_RENAME_LABEL:
        return nb_apply(r->live, change, &r->delta, &how, NULL, error);
    case NB_CHANGE_REFIT:
        return replay_refit(r, entry, error);
    case NB_CHANGE_CREATE:
    case NB_CHANGE_SETTINGS:
        return replay_settings(r, change->settings, error);
    case NB_CHANGE_IMPORT:
        r->learns = false;
        return 0;
    case NB_CHANGE_COMPLETE:
        return replay_complete(r, change, error);
    case NB_CHANGE_FEATURES:
    case NB_CHANGE_DELETE:
    case NB_CHANGE_STORE:
    case NB_CHANGE_UNDO:
    case NB_CHANGE_KINDS:
        break;
    }
    return 0;
}

/* A remnant means that a document was learned and dropped: what it taught the weights is lost. */
static int replay_entry(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct replay *r = user;
    struct nb_error why;
    r->replayed->last = entry->number;
    if (entry->change.kind == NB_CHANGE_FEATURES && r->learns)
        r->replayed->is_whole = false;
    int rc = replay_change(r, entry, &why);
    if (rc == NB_CORRUPT && r->skipped != NULL) {
        r->skipped(r->user, entry->number, &why);
        r->replayed->is_whole = false;
        return 0;
    }
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

/* ---- one model ------------------------------------------------------------------------------- */

static int begin(struct replay *r, uint32_t number, struct nb_string name,
                 const struct nb_own_key *own, struct nb_error *error)
{
    struct nb_settings settings;
    r->live = r->replayed->live = nb_live_new(name, number, own, &r->engine->key);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    bool good = r->live != NULL && nb_live_begin(r->live, &settings) == 0;
    nb_settings_deinit(&settings);
    /* What is living is what was so at the entry that is replayed. */
    if (good)
        good = (r->live->living = nb_living_new()) != NULL;
    return good ? 0 : nb_error_no_memory(error);
}

int nb_replay(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
              struct nb_string name, const struct nb_own_key *own,
              void (*skipped)(void *user, uint64_t entry, const struct nb_error *why), void *user,
              struct nb_replayed *replayed, struct nb_error *error)
{
    assert(number != 0);
    *replayed = (struct nb_replayed){.is_whole = true};
    struct replay r = {.engine = engine,
                       .view = view,
                       .replayed = replayed,
                       .learns = true,
                       .skipped = skipped,
                       .user = user};
    int rc = begin(&r, number, name, own, error);
    if (rc == 0)
        rc = nb_ledger_walk(view, number, 0, replay_entry, &r, error);
    nb_delta_deinit(&r.delta);
    nb_entry_deinit(&r.replaced);
    nb_buffer_deinit(&r.score);
    if (rc != 0)
        nb_replayed_deinit(replayed);
    return rc;
}
