/* SPDX-License-Identifier: Apache-2.0
 *
 * A challenger learns what its champion has learned.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "core/jobs/challenger/challenger.h"
#include "core/jobs/challenger/challenger_private.h"
#include "core/ledger/ledger_features.h"
#include "core/model/registry.h"
#include "core/writer/remember.h"
#include "core/writer/submit.h"

enum {
    TAKEN_MOST = 500,   /* entries that one step takes over ... */
    LOOKED_MOST = 2000, /* ... and looks at, in one snapshot */
};

/* Reading all documents of both takes some 20 us for each. */
static const uint64_t MEND_EVERY = UINT64_C(60000000000); /* ns */

struct nb_challenger {
    struct nb_engine *engine; /* borrowed */
    char *champion, *name;    /* owned */
    /* Numbers of both models when they were last seen; 0: begin a pass over all documents. */
    uint32_t number, own_number;
    uint64_t next;    /* number of the champion's entry to look at next */
    uint64_t newest;  /* the champion's newest entry when the pass over all documents began */
    bool compares;    /* this pass looks at documents that the challenger may have already */
    uint64_t mend_at; /* nb_clock_monotonic from which on both may be compared as a whole again */
};

/* Texts of features that documents of this step bring, by their ids: later documents of the step
 * have them, too, before the challenger does. Open addressing; a slot with an id of 0 is free. */
struct new_texts {
    struct new_text {
        uint64_t id;
        size_t offset, length; /* in `texts` */
    } * slots;                 /* owned; `room` is a power of 2 */
    size_t count, room;
    struct nb_buffer texts;
};

/* A step. */
struct step {
    struct nb_challenger *c;
    struct nb_live *champion, *challenger; /* referenced and loaded */
    struct nb_batch *pin;                  /* as long as it lives, the champion drops no rows */
    const struct nb_view *view;
    struct nb_challenger_pair pair;
    struct nb_entry *taken; /* owned, TAKEN_MOST: entries to take over, in their order */
    size_t taken_count, looked;
    uint64_t next; /* where the next step begins */
    /* For making a bag. */
    struct nb_bag bag;
    struct nb_features_coder *coder;
    struct nb_row_texts texts;
    struct nb_rows rows;
    uint32_t *found;
    bool *unused;
    struct nb_feature *features;
    size_t room;
    struct new_texts brought;
};

struct nb_challenger *nb_challenger_new(struct nb_engine *engine, const char *model)
{
    struct nb_challenger *c = calloc(1, sizeof *c);
    char name[NB_MODEL_NAME_MOST + 1];
    if (c == NULL)
        return NULL;
    (void)nb_challenger_name(nb_string_of(model), name); /* there is one of the name */
    c->engine = engine;
    c->champion = strdup(model);
    c->name = strdup(name);
    if (c->champion == NULL || c->name == NULL)
        nb_challenger_free(&c);
    return c;
}

void nb_challenger_free(struct nb_challenger **challenger)
{
    struct nb_challenger *c = *challenger;
    if (c == NULL)
        return;
    free(c->champion);
    free(c->name);
    free(c);
    *challenger = NULL;
}

/* ---- documents of both ----------------------------------------------------------------------- */

void nb_challenger_pair_deinit(struct nb_challenger_pair *pair)
{
    nb_entry_deinit(&pair->other);
    nb_rows_deinit(&pair->rows);
    nb_rows_deinit(&pair->other_rows);
}

/* Sums up a content, whatever rows its features have. */
static int sum_up(const struct nb_live *live, struct nb_string bag, struct nb_rows *rows,
                  uint64_t *sum, struct nb_error *error)
{
    static const uint64_t mix = UINT64_C(0x9E3779B97F4A7C15);
    *sum = 0;
    int rc = nb_bag_decode(bag, nb_model_rows(live->counts), rows, error);
    nb_model_read_lock(live->counts);
    for (size_t i = 0; rc == 0 && i < rows->size; i++) {
        uint64_t id = nb_model_row_id(live->counts, rows->counts[i].row);
        *sum += (id ^ (rows->counts[i].count * mix)) * (mix | 1);
    }
    nb_model_unlock(live->counts);
    return rc;
}

static bool are_same_labels(const struct nb_live *a, uint32_t label, const struct nb_live *b,
                            uint32_t other)
{
    struct nb_string x = {"", 0}, y = {"", 0};
    if (label == NB_NO_LABEL || other == NB_NO_LABEL)
        return label == other;
    nb_model_read_lock(a->counts);
    nb_model_read_lock(b->counts);
    if (label < nb_model_label_count(a->counts))
        x = nb_model_label_name(a->counts, label);
    if (other < nb_model_label_count(b->counts))
        y = nb_model_label_name(b->counts, other);
    bool are_same = x.length > 0 && nb_string_same(x, y);
    nb_model_unlock(b->counts);
    nb_model_unlock(a->counts);
    return are_same;
}

int nb_challenger_has(const struct nb_view *view, const struct nb_live *champion,
                      const struct nb_live *challenger, const struct nb_entry *entry,
                      struct nb_challenger_pair *pair, bool *is_same, struct nb_error *error)
{
    uint64_t sum, other;
    const struct nb_change *c = &entry->change, *o = &pair->other.change;
    *is_same = false;
    int rc = nb_ledger_find(view, challenger->number, c->id, &pair->other, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    if (c->tokens != o->tokens || !are_same_labels(champion, c->label, challenger, o->label))
        return 0;
    rc = sum_up(champion, c->bag, &pair->rows, &sum, error);
    if (rc == 0)
        rc = sum_up(challenger, o->bag, &pair->other_rows, &other, error);
    *is_same = rc == 0 && sum == other;
    return rc;
}

/* ---- looking at the champion's entries ------------------------------------------------------- */

static int take(struct step *s, const struct nb_entry *entry, struct nb_error *error)
{
    return nb_ledger_read(s->view, entry->number, &s->taken[s->taken_count++], error);
}

/* Takes a document that is current, and that the challenger lacks. */
static int look_at_train(struct step *s, const struct nb_entry *entry, struct nb_error *error)
{
    bool is_current, is_there = false;
    int rc = nb_ledger_is_current(s->view, entry, &is_current, error);
    if (rc == 0 && is_current && s->c->compares)
        rc = nb_challenger_has(s->view, s->champion, s->challenger, entry, &s->pair, &is_there,
                               error);
    return rc == 0 && is_current && !is_there ? take(s, entry, error) : rc;
}

/* Takes a document that was forgotten, unless it was learned again since. */
static int look_at_untrain(struct step *s, const struct nb_entry *entry, struct nb_error *error)
{
    int rc = nb_ledger_find(s->view, s->champion->number, entry->change.id, &s->pair.other, error);
    return rc == NB_NOT_FOUND ? take(s, entry, error) : rc;
}

static int look(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct step *s = user;
    int rc = 0;
    if (s->taken_count == TAKEN_MOST || s->looked == LOOKED_MOST ||
        (s->looked > 0 && nb_store_wanted(s->view)))
        return NB_STEP_ENDS;
    s->looked++;
    if (entry->change.kind == NB_CHANGE_TRAIN)
        rc = look_at_train(s, entry, error);
    else if (entry->change.kind == NB_CHANGE_UNTRAIN)
        rc = look_at_untrain(s, entry, error);
    else if (entry->change.kind == NB_CHANGE_RENAME_LABEL && entry->number > s->c->newest)
        s->c->number = 0; /* then all documents are compared, and get the new label */
    s->next = entry->number + 1;
    return rc;
}

/* ---- taking over ----------------------------------------------------------------------------- */

static int make_room(struct step *s, size_t size)
{
    if (size <= s->room)
        return 0;
    free(s->found);
    free(s->unused);
    free(s->features);
    s->room = size + size / 2;
    s->found = malloc(s->room * sizeof *s->found);
    s->unused = malloc(s->room * sizeof *s->unused);
    s->features = malloc(s->room * sizeof *s->features);
    if (s->found != NULL && s->unused != NULL && s->features != NULL)
        return 0;
    s->room = 0;
    return NB_NO_MEMORY;
}

/* Finds the ids of the entry's features, and which of them no document of the challenger has. */
static int find_features(struct step *s, const struct nb_change *change, struct nb_error *error)
{
    const struct nb_model *from = s->champion->counts, *to = s->challenger->counts;
    int rc = nb_bag_decode(change->bag, nb_model_rows(from), &s->rows, error);
    if (rc == 0 && make_room(s, s->rows.size + 1) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    nb_model_read_lock(from);
    for (size_t i = 0; i < s->rows.size; i++)
        s->features[i] = (struct nb_feature){.id = nb_model_row_id(from, s->rows.counts[i].row),
                                             .count = s->rows.counts[i].count};
    nb_model_unlock(from);
    nb_model_read_lock(to);
    nb_model_find_use(to, s->features, s->rows.size, s->found, s->unused);
    nb_model_unlock(to);
    return 0;
}

/* Appends a feature to the bag. Without a text, which is then not looked at, it has any. */
static int add_feature(struct step *s, size_t i, struct nb_string text)
{
    static const struct nb_string any = {"#", 1};
    const struct nb_feature *f = &s->features[i];
    text = text.length > 0 ? text : any;
    if (nb_bag_add_id(&s->bag, f->id, text.bytes, text.length) != 0)
        return NB_NO_MEMORY;
    s->bag.features[s->bag.size - 1].count = f->count;
    return 0;
}

static struct new_text *find_slot(struct new_text *slots, size_t room, uint64_t id)
{
    size_t at = (size_t)(id * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (room - 1);
    while (slots[at].id != 0 && slots[at].id != id)
        at = (at + 1) & (room - 1);
    return &slots[at];
}

static int grow(struct new_texts *t)
{
    enum { LEAST = 4096 };
    size_t room = t->room == 0 ? LEAST : t->room * 2;
    struct new_text *slots = calloc(room, sizeof *slots);
    if (slots == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < t->room; i++)
        if (t->slots[i].id != 0)
            *find_slot(slots, room, t->slots[i].id) = t->slots[i];
    free(t->slots);
    t->slots = slots;
    t->room = room;
    return 0;
}

/* Notes the texts of the features that an entry brought. */
static int note_texts(struct new_texts *t, const uint64_t *ids, const struct nb_string *texts,
                      size_t count)
{
    for (size_t i = 0; texts != NULL && i < count; i++) {
        if ((t->count + 1) * 2 > t->room && grow(t) != 0)
            return NB_NO_MEMORY;
        struct new_text *slot = find_slot(t->slots, t->room, ids[i]);
        t->count += slot->id == 0;
        *slot = (struct new_text){ids[i], t->texts.length, texts[i].length};
        if (nb_buffer_append(&t->texts, texts[i].bytes, texts[i].length) != 0)
            return NB_NO_MEMORY;
    }
    return 0;
}

/* Finds the text of a feature that the challenger lacks, and that another entry brought. */
static int find_text(struct step *s, size_t i, struct nb_string *text, struct nb_error *error)
{
    bool is_kept = false;
    const struct new_texts *t = &s->brought;
    const struct new_text *slot =
        t->room > 0 ? find_slot(t->slots, t->room, s->features[i].id) : NULL;
    if (slot != NULL && slot->id != 0) {
        *text = (struct nb_string){t->texts.bytes + slot->offset, slot->length};
        return 0;
    }
    if (!nb_remember_keeps_texts(s->c->engine, s->challenger))
        return 0;
    int rc = nb_row_texts_get(&s->texts, s->rows.counts[i].row, s->features[i].id, text, &is_kept,
                              error);
    if (rc != 0 || is_kept)
        return rc;
    return nb_error_set(error, NB_CONFLICT,
                        "the words of some documents were not kept, and now are (keep_words)");
}

/* Makes the bag of a document. The texts of features are needed only where the challenger lacks
 * them; most of these are new with this document or with one before, and stand in its entry. */
static int make_bag(struct step *s, const struct nb_change *change, struct nb_error *error)
{
    const uint64_t *ids = NULL;
    const struct nb_string *texts = NULL;
    int rc = find_features(s, change, error);
    if (rc == 0 && change->new_count > 0)
        rc = nb_features_decode(s->coder, change->features, change->new_count, s->champion->key,
                                &ids, &texts, error);
    if (rc == 0 && note_texts(&s->brought, ids, texts, change->new_count) != 0)
        rc = nb_error_no_memory(error);
    nb_bag_reset(&s->bag);
    for (size_t i = 0; rc == 0 && i < s->rows.size; i++) {
        struct nb_string text = {"", 0};
        if (s->unused[i])
            rc = find_text(s, i, &text, error);
        if (rc == 0 && add_feature(s, i, text) != 0)
            rc = nb_error_no_memory(error);
    }
    s->bag.positions = change->tokens;
    s->bag.truncated = change->truncated;
    return rc;
}

static int add_train(struct step *s, struct nb_batch *batch, const struct nb_change *change,
                     struct nb_error *error)
{
    struct nb_string label = {"", 0};
    int rc = make_bag(s, change, error);
    if (rc != 0)
        return rc;
    if (change->label != NB_NO_LABEL) {
        nb_model_read_lock(s->champion->counts);
        if (change->label < nb_model_label_count(s->champion->counts))
            label = nb_model_label_name(s->champion->counts, change->label);
        nb_model_unlock(s->champion->counts);
    }
    const struct nb_bag_document document = {.id = change->id,
                                             .source = change->source,
                                             .label = label,
                                             .bag = &s->bag,
                                             .judged = change->judged};
    return nb_batch_train_bag(batch, &document, error);
}

/* Returns the first failure that may pass. Others, as of a document that is not there any more, are
 * no reason to stop: the documents of both are compared again later. */
static int check_receipts(const struct nb_batch *batch, struct nb_error *error)
{
    for (size_t i = 0; i < nb_batch_size(batch); i++) {
        const struct nb_receipt *receipt = nb_batch_receipt(batch, i);
        if (receipt->code == 0 || !nb_error_is_passing(receipt->code))
            continue;
        *error = receipt->error;
        return receipt->code;
    }
    return 0;
}

/* Applies what was taken. No snapshot may be open, because the writer may wait for its end. */
static int apply(struct step *s, struct nb_error *error)
{
    struct nb_batch *batch = NULL;
    int rc = nb_batch_new_of(s->c->engine, s->challenger, &batch, error);
    for (size_t i = 0; rc == 0 && i < s->taken_count; i++) {
        const struct nb_change *change = &s->taken[i].change;
        rc = change->kind == NB_CHANGE_TRAIN
                 ? add_train(s, batch, change, error)
                 : nb_batch_untrain(batch, NULL, change->id, change->source, error);
    }
    nb_row_texts_rest(&s->texts);
    if (rc == 0 && nb_batch_size(batch) > 0) {
        nb_engine_apply(s->c->engine, batch);
        rc = check_receipts(batch, error);
    }
    nb_batch_free(&batch);
    return rc;
}

/* ---- documents that the champion has no more ------------------------------------------------- */

struct sweep {
    struct step *step;
    struct nb_ledger_steps steps;
};

static int look_for_superfluous(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct sweep *sweep = user;
    struct step *s = sweep->step;
    if (s->taken_count == TAKEN_MOST)
        return NB_STEP_ENDS;
    int rc = nb_ledger_find(&sweep->steps.view, s->champion->number, entry->change.id,
                            &s->pair.other, error);
    return rc == NB_NOT_FOUND ? nb_ledger_read(&sweep->steps.view, entry->number,
                                               &s->taken[s->taken_count++], error)
                              : rc;
}

/* Removes the documents that the champion does not have. */
static int remove_superfluous(struct step *s, struct nb_error *error)
{
    struct sweep sweep = {.step = s,
                          .steps = {.store = s->c->engine->store,
                                    .model = s->challenger->number,
                                    .only = NB_LEDGER_LIVING,
                                    .most = LOOKED_MOST,
                                    .visit = look_for_superfluous,
                                    .user = &sweep}};
    int rc = 0;
    while (rc == 0 && !sweep.steps.is_done) {
        s->taken_count = 0;
        rc = nb_ledger_step(&sweep.steps, error);
        for (size_t i = 0; rc == 0 && i < s->taken_count; i++)
            s->taken[i].change.kind = NB_CHANGE_UNTRAIN;
        if (rc == 0 && s->taken_count > 0)
            rc = apply(s, error);
    }
    return rc;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static int read_state(const struct nb_view *view, const struct nb_live *live,
                      struct nb_state_record *state, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_STATE, nb_store_key_string(&key), &value, error);
    return rc == 0 ? nb_state_read(state, value, error) : rc;
}

/* Lets a pass over all documents begin. */
static void begin_pass(struct nb_challenger *c, uint64_t newest, bool compares)
{
    c->next = 0;
    c->newest = newest;
    c->compares = compares;
}

/* What is left to do. MEND: the number of documents differs. */
enum left { NOTHING, ENTRIES, MEND };

/* Finds out what is left, from the records of both alone. */
static int find_left(struct step *s, enum left *left, uint64_t *newest, struct nb_error *error)
{
    struct nb_challenger *c = s->c;
    struct nb_state_record of_champion, of_challenger;
    struct nb_view view;
    int rc = nb_store_snapshot(c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = read_state(&view, s->champion, &of_champion, error);
    if (rc == 0)
        rc = read_state(&view, s->challenger, &of_challenger, error);
    nb_store_snapshot_end(&view);
    if (rc != 0)
        return rc;
    if (c->number != s->champion->number || c->own_number != s->challenger->number) {
        c->number = s->champion->number;
        c->own_number = s->challenger->number;
        c->mend_at = 0;
        begin_pass(c, of_champion.last, of_challenger.totals.current > 0);
    }
    bool differ = of_champion.totals.current != of_challenger.totals.current;
    *newest = of_champion.last;
    *left = c->next <= of_champion.last                    ? ENTRIES
            : differ && nb_clock_monotonic() >= c->mend_at ? MEND
                                                           : NOTHING;
    return 0;
}

/* Fields that the champion got by itself, from documents that have them, are added. */
static int keep_fields(struct step *s, struct nb_error *error)
{
    struct nb_published *from = nb_live_settings(s->champion),
                        *to = nb_live_settings(s->challenger);
    int rc = 0;
    if (from->settings.tokenizer_fields != to->settings.tokenizer_fields)
        rc = nb_error_set(error, NB_CONFLICT, "the model has another `tokenizer` by now");
    else if (from->settings.attribute_count > to->settings.attribute_count)
        rc = nb_engine_put_fields(s->c->engine, nb_string_of(s->c->name), &from->settings,
                                  (struct nb_string){"", 0}, error);
    nb_published_release(&from);
    nb_published_release(&to);
    return rc;
}

/* `newest`: the champion's newest entry, which the ledger may not have any more. */
static int take_entries(struct step *s, uint64_t newest, struct nb_error *error)
{
    struct nb_view view;
    int rc = nb_store_snapshot(s->c->engine->store, &view, error);
    if (rc != 0)
        return rc;
    s->view = &view;
    s->next = s->c->next;
    rc = nb_ledger_walk(&view, s->champion->number, s->c->next, look, s, error);
    s->view = NULL;
    nb_store_snapshot_end(&view);
    if (rc == 0 && s->next <= newest)
        s->next = newest + 1;
    rc = rc == NB_STEP_ENDS ? 0 : rc;
    if (rc == 0 && s->taken_count > 0)
        rc = apply(s, error);
    if (rc == 0)
        s->c->next = s->next;
    return rc;
}

static int run(struct step *s, enum left left, uint64_t newest, struct nb_error *error)
{
    struct nb_challenger *c = s->c;
    int rc = nb_registry_load(c->engine, s->champion, error);
    if (rc == 0)
        rc = nb_registry_load(c->engine, s->challenger, error);
    if (rc == 0)
        rc = keep_fields(s, error);
    if (rc == 0)
        rc = nb_batch_new_of(c->engine, s->champion, &s->pin, error);
    if (rc != 0)
        return rc;
    if (left == ENTRIES) {
        rc = take_entries(s, newest, error);
        c->compares = c->compares && (rc != 0 || c->next <= newest);
        return rc;
    }
    rc = remove_superfluous(s, error);
    if (rc == 0) { /* and what the challenger lacks is looked for once more */
        begin_pass(c, newest, true);
        c->mend_at = nb_clock_monotonic() + MEND_EVERY;
    }
    return rc;
}

static void step_deinit(struct step *s)
{
    for (size_t i = 0; s->taken != NULL && i < TAKEN_MOST; i++)
        nb_entry_deinit(&s->taken[i]);
    free(s->taken);
    nb_batch_free(&s->pin);
    nb_challenger_pair_deinit(&s->pair);
    nb_bag_deinit(&s->bag);
    nb_rows_deinit(&s->rows);
    free(s->brought.slots);
    nb_buffer_deinit(&s->brought.texts);
    nb_features_coder_free(&s->coder);
    free(s->found);
    free(s->unused);
    free(s->features);
    nb_registry_release(s->c->engine, &s->champion);
    nb_registry_release(s->c->engine, &s->challenger);
    free(s);
}

int nb_challenger_step(struct nb_challenger *c, bool *is_idle, struct nb_error *error)
{
    enum left left = NOTHING;
    uint64_t newest = 0;
    struct step *s = calloc(1, sizeof *s);
    *is_idle = true;
    if (s == NULL)
        return nb_error_no_memory(error);
    s->c = c;
    nb_bag_init(&s->bag);
    int rc = nb_registry_find(c->engine, nb_string_of(c->champion), false, &s->champion, error);
    if (rc == 0)
        rc = nb_registry_find(c->engine, nb_string_of(c->name), false, &s->challenger, error);
    if (rc == 0)
        rc = find_left(s, &left, &newest, error);
    if (rc == 0 && left != NOTHING) {
        s->coder = nb_features_coder_new();
        s->taken = calloc(TAKEN_MOST, sizeof *s->taken);
        rc = s->coder == NULL || s->taken == NULL
                 ? nb_error_no_memory(error)
                 : nb_row_texts_begin(&s->texts, c->engine->store, s->champion->number,
                                      s->champion->key, error);
        nb_row_texts_rest(&s->texts);
        if (rc == 0)
            rc = run(s, left, newest, error);
        nb_row_texts_end(&s->texts);
        *is_idle = rc != 0;
    }
    step_deinit(s);
    return rc;
}
