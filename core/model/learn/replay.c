/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/learn/replay.h"

#include <assert.h>
#include <inttypes.h>

#include "core/base/pack.h"
#include "core/ledger/entries/current_entries.h"
#include "core/model/learn/learner.h"

void nb_replay_deinit(struct nb_replay *replay)
{
    nb_delta_deinit(&replay->delta);
    nb_entry_deinit(&replay->replaced);
    nb_buffer_deinit(&replay->score);
}

/* ---- settings and weights -------------------------------------------------------------------- */

static int take_settings(struct nb_replay *r, struct nb_string stored, struct nb_error *error)
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

static int complete_import(struct nb_replay *r, const struct nb_change *change,
                           struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(change->weights.bytes, change->weights.length);
    r->is_import = false;
    r->has_weights = change->weights.length > 0;
    int rc = take_settings(r, change->settings, error);
    if (rc == 0 && change->weights.length > 0 &&
        nb_stack_weights_read(r->live->published->weights, &u) != 0)
        rc = nb_error_set(error, NB_CORRUPT, "the weights of an import do not read back");
    return rc;
}

/* Applies an entry to the settings and to the weights as a whole. */
static int take_state(struct nb_replay *r, const struct nb_change *change, struct nb_error *error)
{
    switch (change->kind) {
    case NB_CHANGE_CREATE:
    case NB_CHANGE_SETTINGS:
        return take_settings(r, change->settings, error);
    case NB_CHANGE_IMPORT:
        r->is_import = true;
        return 0;
    case NB_CHANGE_COMPLETE:
        return complete_import(r, change, error);
    case NB_CHANGE_TRAIN:
    case NB_CHANGE_UNTRAIN:
    case NB_CHANGE_REFIT:
        if (!r->is_import && nb_published_is_stacked(r->live->published))
            r->has_weights = true;
        return 0;
    case NB_CHANGE_FEATURES:
        /* A remnant: its document was learned and dropped, so what the weights learned from it is
         * lost. */
        if (!r->is_import)
            r->is_partial = true;
        return 0;
    case NB_CHANGE_RENAME_LABEL:
    case NB_CHANGE_DELETE:
    case NB_CHANGE_STORE:
    case NB_CHANGE_UNDO:
    case NB_CHANGE_KINDS:
        break;
    }
    return 0;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Finds the entry that is replaced, if it still has its document. After a checkpoint it must have
 * it: entries that a start needs are not dropped. */
static int find_replaced(struct nb_replay *r, const struct nb_entry *entry,
                         const struct nb_change **found, struct nb_error *error)
{
    *found = NULL;
    if (entry->change.replaced == 0)
        return 0;
    assert(r->view != NULL);
    int rc = nb_ledger_read(r->view, entry->change.replaced, &r->replaced, error);
    if (rc == 0 && r->replaced.change.kind == NB_CHANGE_TRAIN) {
        *found = &r->replaced.change;
        return 0;
    }
    r->is_partial = true;
    if (r->is_behind && (rc == 0 || rc == NB_NOT_FOUND))
        return nb_error_set(error, NB_CORRUPT,
                            "the store is damaged: entry %" PRIu64 " replaces one that is missing",
                            entry->number);
    bool is_passed_over = rc == NB_NOT_FOUND || (rc == NB_CORRUPT && r->skipped != NULL);
    return is_passed_over ? 0 : rc;
}

/* Scores a new document before the model learns it, for the weights. */
static int score(struct nb_replay *r, const struct nb_change *change, struct nb_error *error)
{
    if (change->kind != NB_CHANGE_TRAIN || change->label == NB_NO_LABEL || change->first != 0)
        return 0;
    r->score.length = 0;
    return nb_learner_score(r->learner, r->live->published, r->live->counts, &r->delta.add,
                            change->label, &r->score) != 0
               ? nb_error_no_memory(error)
               : 0;
}

/* Reads the bags that a change of a document adds to the counts and removes from them. */
static int prepare(struct nb_replay *r, const struct nb_entry *entry, bool learns,
                   struct nb_error *error)
{
    const struct nb_change *change = &entry->change;
    const struct nb_change *replaced;
    if (change->kind != NB_CHANGE_TRAIN && change->kind != NB_CHANGE_UNTRAIN)
        return 0;
    int rc = find_replaced(r, entry, &replaced, error);
    if (rc == 0)
        rc = nb_delta_read(&r->delta, change, replaced, nb_model_rows(r->live->counts), error);
    if (rc != 0 || !learns)
        return rc;
    nb_learner_reset(r->learner);
    return score(r, change, error);
}

/* ---- entries --------------------------------------------------------------------------------- */

int nb_replay_entry(struct nb_replay *replay, const struct nb_entry *entry, struct nb_error *error)
{
    static const uint64_t no_marks[1];
    struct nb_replay *r = replay;
    struct nb_applying how = {
        .view = r->view, .marks = r->marks, .mark_count = r->mark_count, .number = entry->number};
    if (r->is_behind && how.marks == NULL)
        how.marks = no_marks;
    assert(!r->is_behind || r->learner == NULL);
    r->last = entry->number;
    int rc = nb_apply_new(r->live, &entry->change, &how, r->coder, error);
    if (rc == 0 && r->learner != NULL)
        rc = take_state(r, &entry->change, error);
    how.learner = r->is_import ? NULL : r->learner;
    if (rc == 0)
        rc = prepare(r, entry, how.learner != NULL, error);
    return rc != 0 ? rc : nb_apply(r->live, &entry->change, &r->delta, &how, NULL, error);
}

static int visit(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct nb_replay *r = user;
    struct nb_error why = {0};
    int rc = nb_replay_entry(r, entry, &why);
    if (rc == NB_CORRUPT && r->skipped != NULL) {
        r->skipped(r->user, entry->number, &why);
        r->is_partial = true;
        return 0;
    }
    return rc == 0 ? 0 : nb_error_set(error, rc, "%s", why.text);
}

int nb_replay_from(struct nb_replay *replay, uint64_t from, struct nb_error *error)
{
    assert(replay->live->number != 0);
    return nb_ledger_walk(replay->view, replay->live->number, from, visit, replay, error);
}

/* ---- a whole model --------------------------------------------------------------------------- */

static struct nb_live *new_model(struct nb_engine *engine, uint32_t number, struct nb_string name,
                                 const struct nb_own_key *own)
{
    struct nb_settings settings;
    struct nb_live *live = nb_live_new(name, number, own, &engine->key);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    bool good = live != NULL && nb_live_begin(live, &settings) == 0;
    nb_settings_deinit(&settings);
    /* The list has the entries that were current at the replayed entry. */
    if (good)
        good = (live->current = nb_current_entries_new()) != NULL;
    if (!good && live != NULL)
        nb_live_free(live);
    return good ? live : NULL;
}

int nb_replay_model(struct nb_engine *engine, const struct nb_view *view, uint32_t number,
                    struct nb_string name, const struct nb_own_key *own,
                    void (*skipped)(void *user, uint64_t entry, const struct nb_error *why),
                    void *user, struct nb_replay *replay, struct nb_error *error)
{
    *replay = (struct nb_replay){.live = new_model(engine, number, name, own),
                                 .view = view,
                                 .coder = engine->coder,
                                 .learner = engine->learner,
                                 .skipped = skipped,
                                 .user = user};
    if (replay->live == NULL)
        return nb_error_no_memory(error);
    int rc = nb_replay_from(replay, 0, error);
    if (rc != 0) {
        nb_live_free(replay->live);
        replay->live = NULL;
    }
    return rc;
}
