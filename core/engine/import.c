/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: a dump becomes a model under a number of its own. The number is listed among the orphans
 * until the model is complete; the last transaction gives the model its name. After a crash the
 * next start finds the number among the orphans and deletes its data.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/clock.h"
#include "core/base/pack.h"
#include "core/engine/engine.h"
#include "core/engine/importing.h"
#include "core/engine/writer.h"
#include "core/family/parents.h"
#include "core/live/apply.h"
#include "core/live/checkpoint.h"
#include "core/live/dirty.h"
#include "core/live/order.h"
#include "core/live/records.h"
#include "core/live/refit.h"
#include "core/live/registry.h"
#include "core/live/stored_score.h"
#include "core/live/transaction.h"
#include "core/live/twin_log.h"
#include "core/model/model_pairs.h"
#include "core/store/ledger.h"
#include "core/store/quarantine.h"

enum { FLUSH_BYTES = 4 << 20 }; /* collected before the writer is asked to store them */

struct nb_import {
    struct nb_importing listed; /* in engine->importing */
    struct nb_engine *engine;
    struct nb_buffer name, source;
    struct nb_live *live;  /* NULL until the header came */
    bool other_key;        /* the dump's ids were made under another key than the store's */
    bool rehash;           /* its features get ids under the store's key, by their texts */
    bool only_new;         /* no model is replaced */
    bool has_stack;        /* the dump brought what a stack has learned */
    struct nb_slots slots; /* of the twin, by ids under slots_key; none: they need no change */
    struct nb_key slots_key;
    struct nb_buffer entries; /* changes to be appended, each with its length */
    struct nb_buffer bytes, features, bag;
    uint64_t *ids; /* owned */
    size_t id_room;
    struct nb_features_coder *coder;
    struct nb_rows rows;
    struct nb_dump_totals totals;
    struct nb_ledger_totals begun; /* with the entry that began it */
    bool created;
    uint64_t dropped; /* changes in the quarantine that could not be kept */
};

static struct nb_string string_of(const struct nb_buffer *buffer)
{
    return (struct nb_string){buffer->bytes, buffer->length};
}

/* ---- storing --------------------------------------------------------------------------------- */

static int collect(struct nb_import *import, struct nb_change *change)
{
    struct nb_packer p = {.out = &import->entries};
    assert(import->listed.number != 0);
    change->model = import->listed.number;
    change->source = string_of(&import->source);
    import->bytes.length = 0;
    if (nb_change_write(change, &import->bytes) != 0)
        return NB_NO_MEMORY;
    nb_pack_string(&p, string_of(&import->bytes));
    return p.code;
}

static int check_fresh_id(const struct nb_view *view, const struct nb_change *change,
                          struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(change->model, change->id);
    struct nb_string value;
    if (change->kind != NB_CHANGE_TRAIN)
        return 0;
    int rc = nb_store_get(view, NB_TABLE_DOCUMENTS, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        return nb_error_set(error, NB_INVALID, "the dump has two documents with the id '%.*s'",
                            (int)change->id.length, change->id.bytes);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

struct flushing {
    struct nb_import *import;
    struct nb_ledger_totals totals; /* before */
    uint64_t last;                  /* number of the newest entry */
};

static int write_entries(struct nb_engine *engine, struct nb_view *view, void *argument,
                         struct nb_error *error)
{
    struct flushing *f = argument;
    struct nb_import *import = f->import;
    struct nb_ledger_totals *totals = &import->live->checkpoint.totals;
    struct nb_unpacker r = nb_unpacker_of(import->entries.bytes, import->entries.length);
    struct nb_change change;
    int rc = 0;
    *totals = f->totals; /* this may be a second try */
    while (rc == 0 && r.at < r.end) {
        rc = nb_change_read(&change, nb_unpack_string(&r), error);
        if (rc == 0)
            rc = check_fresh_id(view, &change, error);
        f->last = nb_numbers_entry(&engine->numbers);
        if (rc == 0)
            rc = nb_ledger_append(view, f->last, &change, totals, &import->bytes, error);
    }
    return rc;
}

static int flush_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_checkpoint *c = &import->live->checkpoint;
    struct flushing f = {.import = import, .totals = c->totals, .last = c->last};
    int rc = nb_transaction(engine, import->entries.length, write_entries, &f, error);
    if (rc == 0)
        c->last = f.last;
    else
        c->totals = f.totals;
    import->entries.length = 0;
    return rc;
}

static int flush(struct nb_import *import, size_t above, struct nb_error *error)
{
    if (import->entries.length <= above)
        return 0;
    return nb_writer_run(import->engine, flush_task, import, error);
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int write_begin(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_ledger_totals *totals = &import->begun;
    *totals = (struct nb_ledger_totals){0}; /* this may be a second try */
    int rc = nb_numbers_model(&engine->numbers, view, &import->listed.number, error);
    struct nb_change change = {.kind = NB_CHANGE_IMPORT,
                               .model = import->listed.number,
                               .time = nb_clock_now(),
                               .source = string_of(&import->source),
                               .name = string_of(&import->name)};
    if (rc == 0)
        rc = nb_ledger_append(view, nb_numbers_entry(&engine->numbers), &change, totals,
                              &import->bytes, error);
    return rc != 0 ? rc : nb_put_orphan(view, import->listed.number, error);
}

static int begin_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = nb_transaction(engine, 0, write_begin, import, error);
    if (rc == 0) {
        import->listed.next = engine->importing;
        engine->importing = &import->listed;
    }
    return rc;
}

static void import_free(struct nb_import *import)
{
    /* A trainer may have found it in the registry before its last transaction failed. */
    nb_registry_release(import->engine, &import->live);
    nb_buffer_deinit(&import->name);
    nb_buffer_deinit(&import->source);
    nb_buffer_deinit(&import->entries);
    nb_buffer_deinit(&import->bytes);
    nb_buffer_deinit(&import->features);
    nb_buffer_deinit(&import->bag);
    nb_features_coder_free(&import->coder);
    nb_rows_deinit(&import->rows);
    nb_slots_deinit(&import->slots);
    free(import->ids);
    free(import);
}

int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_string source,
                    struct nb_import **out, struct nb_error *error)
{
    int rc = nb_check_model_name(model, error);
    if (rc == 0)
        rc = nb_check_source(source, error);
    if (rc != 0)
        return rc;
    struct nb_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return nb_error_no_memory(error);
    import->engine = engine;
    import->coder = nb_features_coder_new();
    bool good = import->coder != NULL &&
                nb_buffer_append(&import->name, model.bytes, model.length) == 0 &&
                nb_buffer_append(&import->source, source.bytes, source.length) == 0;
    rc = good ? nb_writer_run(engine, begin_task, import, error) : nb_error_no_memory(error);
    if (rc == 0)
        *out = import;
    else
        import_free(import);
    return rc;
}

static void forget_import(struct nb_engine *engine, const struct nb_import *import)
{
    struct nb_importing **at = &engine->importing;
    while (*at != NULL && *at != &import->listed)
        at = &(*at)->next;
    if (*at != NULL)
        *at = import->listed.next;
    engine->purge = true;
}

static int abort_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    (void)error;
    forget_import(engine, argument);
    return 0;
}

void nb_import_abort(struct nb_import **import)
{
    if (*import == NULL)
        return;
    /* When the engine closes the orphans are left to the next start. */
    (void)nb_writer_run((*import)->engine, abort_task, *import, NULL);
    import_free(*import);
    *import = NULL;
}

/* ---- header ---------------------------------------------------------------------------------- */

static int add_labels(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    for (size_t i = 0; i < header->label_count; i++) {
        struct nb_string name = {header->labels[i], strlen(header->labels[i])};
        uint32_t label;
        int rc = nb_check_label(name, error);
        if (rc != 0)
            return nb_error_set(error, NB_INVALID, "label %zu of the dump is not a label", i);
        rc = i < import->engine->settings.labels
                 ? nb_model_label(import->live->counts, name, &label)
                 : NB_TOO_LARGE;
        if (rc == NB_NO_MEMORY)
            return nb_error_no_memory(error);
        if (rc != 0)
            return nb_error_set(error, NB_TOO_LARGE,
                                "the dump has more labels than the setting `labels` allows");
        if (label != i)
            return nb_error_set(error, NB_INVALID, "the dump has the label '%s' twice",
                                header->labels[i]);
        struct nb_change change = {.kind = NB_CHANGE_FEATURES, .label = label, .label_name = name};
        if (collect(import, &change) != 0)
            return nb_error_no_memory(error);
    }
    return 0;
}

/* The dump's twin may have learned under another key than that under which the features will be:
 * then its slots are taken over feature by feature, by their texts. */
static int take_slots(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    struct nb_slots *slots = nb_stack_twin_slots(import->live->published->weights);
    if (memcmp(header->stack_key, import->live->key->bytes, NB_KEY_BYTES) == 0 ||
        nb_slots_count(slots) == 0)
        return 0;
    nb_key_restore(&import->slots_key, header->stack_key);
    nb_slots_exchange(slots, &import->slots);
    return nb_slots_grow(slots, nb_slots_count(&import->slots), NULL) != 0
               ? nb_error_no_memory(error)
               : 0;
}

/* Reads what the stack had learned. It fits only the settings of the same dump. */
static int take_stack(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    if (header->stack.length == 0)
        return 0;
    import->has_stack = true;
    struct nb_unpacker r = nb_unpacker_of(header->stack.bytes, header->stack.length);
    int rc = nb_stack_weights_read(import->live->published->weights, &r);
    /* Weights of a program that does not say for which constants they are are trusted, such as
     * those for documents that stand for a list of words: what a refit learns of these is not what
     * mails are like. The twin begins with what the stack says. */
    struct nb_weights *order = nb_stack_weights_order(import->live->published->weights);
    if (rc == 0 && nb_weights_places(order) == 0)
        rc = nb_order_set_fingerprint(order,
                                      nb_stack_fingerprint(import->live->published->stack, true));
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0 || !nb_unpacker_done(&r))
        return nb_error_set(error, NB_INVALID, "the dump's stack does not read back");
    return take_slots(import, header, error);
}

/* A dump of another store has another key. Ids of documents stay as they are, so that the key goes
 * with the model. Features get ids under the store's key, by their texts; without texts the model
 * keeps those that it has, and the key for them. */
static struct nb_own_key own_key(struct nb_import *import, const struct nb_dump_header *header)
{
    const struct nb_engine *engine = import->engine;
    struct nb_own_key own = {0};
    import->other_key = memcmp(header->key, engine->key.bytes, NB_KEY_BYTES) != 0;
    import->rehash = import->other_key && header->has_texts && engine->settings.keep_words;
    own.present = import->other_key;
    own.hashes_features = import->other_key && !import->rehash;
    memcpy(own.bytes, header->key, NB_KEY_BYTES);
    return own;
}

int nb_import_header(struct nb_import *import, const struct nb_dump_header *header,
                     struct nb_error *error)
{
    if (import->live != NULL)
        return nb_error_set(error, NB_INVALID, "the dump has two headers");
    int rc = nb_settings_check(&header->settings, error);
    if (rc == 0)
        rc = nb_settings_check_tokenizer(&header->settings, error);
    if (rc != 0)
        return rc;
    struct nb_own_key own = own_key(import, header);
    import->live =
        nb_live_new(string_of(&import->name), import->listed.number, &own, &import->engine->key);
    if (import->live == NULL || nb_live_begin(import->live, &header->settings) != 0)
        return nb_error_no_memory(error);
    import->live->checkpoint.totals = import->begun;
    rc = take_stack(import, header, error);
    return rc != 0 ? rc : add_labels(import, header, error);
}

static int needs_header(const struct nb_import *import, struct nb_error *error)
{
    if (import->live != NULL)
        return 0;
    return nb_error_set(error, NB_INVALID, "the dump does not begin with its header");
}

/* ---- words ----------------------------------------------------------------------------------- */

/* What the twin knows of a feature goes to its slot here. */
static int carry(struct nb_import *import, uint64_t id, struct nb_string text)
{
    struct nb_slots *slots = nb_stack_twin_slots(import->live->published->weights);
    uint64_t dumped =
        nb_feature_id_like(id, nb_key_hash(&import->slots_key, text.bytes, text.length));
    return nb_slots_carry(slots, id, &import->slots, dumped);
}

/* Whether the text of a number, from which a store makes its id again, is that of the id. */
static bool text_fits(uint64_t id, struct nb_string text)
{
    uint64_t number;
    return !nb_feature_is_number(id) || (nb_decimal_of_feature(text, &number) &&
                                         id == nb_feature_number_id(nb_feature_part(id), number));
}

/* The ids that the rows get: those of the dump, or under the store's key. */
static int take_ids(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    bool rehashes = import->rehash;
    if (rehashes && words->texts == NULL)
        return nb_error_set(error, NB_INVALID,
                            "the dump says that all features have texts, and %u has none",
                            words->first_row);
    if (nb_array_reserve(&import->ids, &import->id_room, words->count + 1, sizeof *import->ids) !=
        0)
        return nb_error_no_memory(error);
    bool carries = nb_slots_count(&import->slots) > 0 && words->texts != NULL;
    for (size_t i = 0; i < words->count; i++) {
        uint64_t id = words->ids[i];
        if (words->texts != NULL && !text_fits(id, words->texts[i]))
            return nb_error_set(error, NB_INVALID,
                                "feature %llu of the dump is a number, and its text another",
                                (unsigned long long)words->first_row + i);
        if (rehashes && nb_feature_has_field(id))
            id = nb_feature_id_like(id, nb_key_hash(&import->engine->key, words->texts[i].bytes,
                                                    words->texts[i].length));
        if (carries && carry(import, id, words->texts[i]) != 0)
            return nb_error_no_memory(error);
        import->ids[i] = id;
    }
    return 0;
}

static int add_rows(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    struct nb_model *counts = import->live->counts;
    import->rows.size = 0;
    for (size_t i = 0; i < words->count; i++) {
        uint64_t id = import->ids[i];
        uint32_t row;
        if (!nb_feature_has_field(id) || nb_model_find(counts, id) != NB_NO_ROW)
            return nb_error_set(error, NB_INVALID,
                                "feature %llu of the dump is of an unknown field, or there twice",
                                (unsigned long long)words->first_row + i);
        if (nb_model_append(counts, id, &row) != 0 || nb_rows_add(&import->rows, row, 1) != 0)
            return nb_error_no_memory(error);
    }
    /* Rows without counts have to reach the store, too. */
    if (nb_dirty_mark(&import->live->checkpoint, &import->rows, nb_model_rows(counts)) != 0)
        return nb_error_no_memory(error);
    assert(import->rows.size == words->count);
    import->totals.features += words->count;
    return 0;
}

int nb_import_words(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    int rc = needs_header(import, error);
    if (rc == 0 && words->first_row != nb_model_rows(import->live->counts))
        rc = nb_error_set(error, NB_INVALID,
                          "the dump's features are not in order: %u comes after %u",
                          words->first_row, nb_model_rows(import->live->counts));
    if (rc == 0)
        rc = take_ids(import, words, error);
    if (rc == 0)
        rc = add_rows(import, words, error);
    if (rc != 0 || words->count == 0)
        return rc;
    bool keeps = import->engine->settings.keep_words;
    import->features.length = 0;
    if (nb_features_encode(import->coder, import->ids, keeps ? words->texts : NULL, words->count,
                           &import->features) != 0)
        return nb_error_no_memory(error);
    struct nb_change change = {.kind = NB_CHANGE_FEATURES,
                               .first_row = words->first_row,
                               .new_count = (uint32_t)words->count,
                               .features = string_of(&import->features)};
    return collect(import, &change) != 0 ? nb_error_no_memory(error)
                                         : flush(import, FLUSH_BYTES, error);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The bag, checked; *tokens is the sum over the rows that are tokens. */
static int take_bag(struct nb_import *import, const struct nb_dump_document *document,
                    uint64_t *tokens, struct nb_error *error)
{
    const struct nb_model *counts = import->live->counts;
    import->rows.size = 0;
    *tokens = 0;
    for (size_t i = 0; i < document->size; i++) {
        uint32_t row = document->rows[i];
        if (row >= nb_model_rows(counts) || document->counts[i] == 0 ||
            (i > 0 && row <= document->rows[i - 1]))
            return nb_error_set(error, NB_INVALID,
                                "a document's rows must ascend, be known and have counts above 0");
        if (nb_rows_add(&import->rows, row, document->counts[i]) != 0)
            return nb_error_no_memory(error);
        import->totals.occurrences += document->counts[i];
        if (nb_feature_is_token(nb_model_row_id(counts, row)))
            *tokens += document->counts[i];
    }
    return 0;
}

/* A score must be of labels that the dump has, and its numbers such as a score can have. */
static int check_score(const struct nb_import *import, struct nb_string stored,
                       struct nb_error *error)
{
    struct nb_stored_score_lists lists = {0};
    struct nb_stored_score scored;
    if (stored.length == 0)
        return 0;
    int rc = nb_stored_score_read(stored, &lists, &scored, error);
    bool good = rc == 0 && isfinite(scored.log_odds) &&
                scored.label < nb_model_label_count(import->live->counts);
    for (uint32_t i = 0; good && i < scored.size; i++)
        good = scored.labels[i] < nb_model_label_count(import->live->counts) &&
               scored.probabilities[i] >= 0 && scored.probabilities[i] <= 1;
    nb_stored_score_lists_deinit(&lists);
    if (rc == NB_NO_MEMORY || good)
        return good ? 0 : rc;
    return nb_error_set(error, NB_INVALID, "a document's score does not read back");
}

/* Into the counts, by the one function that the writer uses, too. */
static int apply(struct nb_import *import, const struct nb_change *change, struct nb_error *error)
{
    static const struct nb_applying how;
    struct nb_delta delta = {
        .add_label = nb_delta_label(change->label), .take_label = UINT32_MAX, .add = import->rows};
    int rc = nb_apply(import->live, change, &delta, &how, NULL, error);
    import->rows = delta.add;
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "a feature of the dump is counted over 4 billion times");
    if (rc == 0 && !nb_model_pairs_fit(import->live->counts, NULL, 0))
        return nb_error_set(
            error, NB_TOO_LARGE,
            "the dump has more pairs of values than \"structure\": \"tan\" has room "
            "for");
    return rc;
}

/* A document keeps its own source; if it has none, it gets that of the import. */
static int collect_document(struct nb_import *import, struct nb_change *change,
                            struct nb_string source)
{
    struct nb_buffer own = import->source;
    struct nb_buffer theirs = {(char *)(uintptr_t)source.bytes, source.length, 0};
    if (source.length > 0)
        import->source = theirs;
    int rc = collect(import, change);
    import->source = own;
    return rc;
}

int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error)
{
    uint64_t tokens;
    int rc = needs_header(import, error);
    if (rc == 0 && nb_check_id(document->id, error) != 0)
        rc = nb_error_set(error, NB_INVALID, "a document's id is not 1 to 256 bytes of UTF-8");
    if (rc == 0 && document->label != NB_NO_LABEL &&
        document->label >= nb_model_label_count(import->live->counts))
        rc = nb_error_set(error, NB_INVALID,
                          "a document has label number %u, the dump has %u labels", document->label,
                          nb_model_label_count(import->live->counts));
    if (rc == 0 && document->learned < 0)
        rc = nb_error_set(error, NB_INVALID, "a document was learned before 1970");
    if (rc == 0 && nb_check_source(document->source, error) != 0)
        rc = nb_error_set(error, NB_INVALID, "a document's source is over %d bytes of UTF-8",
                          NB_SOURCE_MOST);
    if (rc == 0)
        rc = check_score(import, document->score, error);
    if (rc == 0)
        rc = take_bag(import, document, &tokens, error);
    if (rc == 0 && tokens != document->tokens)
        rc = nb_error_set(error, NB_INVALID, "a document says %llu tokens, its counts sum to %llu",
                          (unsigned long long)document->tokens, (unsigned long long)tokens);
    if (rc != 0)
        return rc;
    import->bag.length = 0;
    if (nb_bag_encode(&import->rows, &import->bag) != 0)
        return nb_error_no_memory(error);
    struct nb_change change = {.kind = NB_CHANGE_TRAIN,
                               .id = document->id,
                               .label = document->label,
                               .time = document->learned,
                               .tokens = document->tokens,
                               .score = document->score,
                               .bag = string_of(&import->bag)};
    rc = apply(import, &change, error);
    if (rc != 0)
        return rc;
    import->totals.documents++;
    return collect_document(import, &change, document->source) != 0
               ? nb_error_no_memory(error)
               : flush(import, FLUSH_BYTES, error);
}

/* ---- commit ---------------------------------------------------------------------------------- */

struct naming {
    struct nb_import *import;
    struct nb_live *old;
    struct nb_buffer settings, weights, key;
    struct nb_ledger_totals totals; /* before */
    uint64_t number;                /* of the entry */
};

static int write_records(struct nb_engine *engine, struct nb_view *view, struct nb_live *live,
                         bool weights, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_put_model(engine, view, live, &live->published->settings, error);
    for (uint32_t i = 0; rc == 0 && i < nb_model_label_count(live->counts); i++)
        rc = nb_put_label(engine, view, live, i, error);
    if (rc == 0 && weights)
        rc = nb_put_weights(engine, view, live, error);
    if (rc == 0 && weights)
        rc = nb_twin_log_put(engine, view, live, error);
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_ORPHANS, nb_store_key_string(&key), error);
}

/* What waits is judged by the new model then. Its features are found by their ids. */
static int keep_waiting(const struct nb_view *view, struct naming *naming, struct nb_error *error)
{
    const struct nb_live *old = naming->old;
    const struct nb_live *live = naming->import->live;
    struct nb_quarantine_sums sums = {.documents = 0};
    uint64_t *dropped = &naming->import->dropped;
    *dropped = 0;
    if (old == NULL || old->number == 0)
        return 0;
    if (memcmp(old->key->bytes, live->key->bytes, NB_KEY_BYTES) == 0)
        return nb_quarantine_move(view, old->number, live->number, dropped, error);
    int rc = nb_quarantine_sums(view, old->number, &sums, error);
    *dropped = sums.documents;
    return rc == NB_CORRUPT ? 0 : rc;
}

static int write_name(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct naming *naming = argument;
    struct nb_import *import = naming->import;
    struct nb_live *live = import->live;
    uint32_t old = naming->old != NULL ? naming->old->number : 0;
    struct nb_change change = {.kind = NB_CHANGE_COMPLETE,
                               .model = live->number,
                               .time = nb_clock_now(),
                               .source = string_of(&import->source),
                               .name = string_of(&import->name),
                               .settings = string_of(&naming->settings),
                               .key = string_of(&naming->key),
                               .weights = string_of(&naming->weights),
                               .other = old};
    assert(live->number == import->listed.number && live->number != old);
    live->checkpoint.totals = naming->totals; /* this may be a second try */
    live->checkpoint.weights = 0;
    live->checkpoint.twin = (struct nb_twin_log){.bytes = 0};
    int rc = write_records(engine, view, live, naming->weights.length > 0, error);
    naming->number = nb_numbers_entry(&engine->numbers);
    if (rc == 0)
        rc = nb_ledger_append(view, naming->number, &change, &live->checkpoint.totals,
                              &import->bytes, error);
    struct nb_state_record state = nb_checkpoint_state(live, naming->number);
    if (rc == 0)
        rc = nb_put_state(engine, view, live, &state, error);
    if (rc == 0)
        rc = keep_waiting(view, naming, error);
    return rc == 0 && old != 0 ? nb_put_orphan(view, old, error) : rc;
}

/* Adds the unborn model to the registry. The import keeps a reference of its own, because an unborn
 * model leaves the registry when its last user releases it. */
static int list(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    assert(!atomic_load(&live->persisted));
    atomic_fetch_add(&live->references, 1);
    int rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        atomic_fetch_sub(&live->references, 1);
    return rc;
}

/* Finds the model of the name. If there is none, the imported model is listed before its last
 * transaction, still unborn: then a full list of models is an error in time. */
static int find_place(struct nb_engine *engine, struct naming *naming, struct nb_error *error)
{
    struct nb_string name = string_of(&naming->import->name);
    int rc;
    /* A trainer may make a model of the name between the two. */
    do {
        rc = nb_registry_find(engine, name, true, &naming->old, error);
        if (rc == NB_NOT_FOUND)
            rc = list(engine, naming->import->live, error);
    } while (rc == NB_EXISTS);
    return rc;
}

static int describe(struct naming *naming)
{
    const struct nb_live *live = naming->import->live;
    struct nb_packer p = {.out = &naming->weights};
    if (naming->import->has_stack)
        nb_stack_weights_write(live->published->weights, &p);
    int rc =
        p.code != 0 ? p.code : nb_settings_write(&live->published->settings, &naming->settings);
    return rc == 0 && live->own != NULL ? nb_own_key_write(live->own, &naming->key) : rc;
}

/* Puts the complete model in its place. */
static int take_place(struct nb_engine *engine, struct nb_import *import, struct nb_error *error)
{
    struct nb_live *live = import->live;
    struct naming naming = {.import = import, .totals = live->checkpoint.totals};
    const char *name = live->published->settings.parent;
    char *parent = name != NULL ? strdup(name) : NULL;
    int rc = describe(&naming) != 0 || (name != NULL && parent == NULL)
                 ? nb_error_no_memory(error)
                 : nb_parents_check(engine, live, &live->published->settings, error);
    if (rc == 0)
        rc = find_place(engine, &naming, error);
    bool listed = rc == 0 && naming.old == NULL;
    if (rc == 0 && import->only_new && !listed && atomic_load(&naming.old->persisted))
        rc = nb_error_set(error, NB_CONFLICT, "the model '%s' exists", naming.old->name);
    if (rc == 0)
        rc = nb_transaction(engine, 0, write_name, &naming, error);
    if (rc == 0) {
        import->created = naming.old == NULL || !atomic_load(&naming.old->persisted);
        live->checkpoint.last = naming.number;
        live->labels_stored = nb_model_label_count(live->counts);
        atomic_store(&live->unlabelled, live->checkpoint.totals.unlabelled);
        if (naming.weights.length > 0)
            nb_stack_weights_commit(live->published->weights);
        atomic_store(&live->persisted, true);
        nb_refit_note(live);
        if (atomic_load(&live->wants_refit))
            atomic_store(&engine->refits, true);
        nb_checkpoint_note(engine, live, 0);
        nb_parents_note(engine, live, &parent);
    }
    if (rc == 0 && naming.old != NULL) {
        struct nb_live *replaced = nb_registry_replace(engine, live);
        nb_checkpoint_forget(engine, replaced);
        import->live = NULL;                    /* our reference is the registry's now */
        nb_registry_release(engine, &replaced); /* the registry's reference */
    } else if (rc != 0 && listed) {
        nb_registry_remove(engine, live);
    }
    if (rc == 0)
        nb_refining_ask(engine, live);
    nb_registry_release(engine, &naming.old);
    free(parent);
    nb_buffer_deinit(&naming.settings);
    nb_buffer_deinit(&naming.weights);
    nb_buffer_deinit(&naming.key);
    return rc;
}

static int commit_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    /* The rows are written as a checkpoint. Rows that no document has are written, too. */
    int rc = nb_checkpoint_all(engine, import->live, NULL, error);
    if (rc == 0)
        rc = take_place(engine, import, error);
    forget_import(engine, import);
    return rc;
}

static int check_totals(const struct nb_import *import, const struct nb_dump_totals *said,
                        struct nb_error *error)
{
    const struct nb_dump_totals *got = &import->totals;
    if (said == NULL || (said->documents == got->documents && said->features == got->features &&
                         said->occurrences == got->occurrences))
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "the dump's end says %llu documents, %llu features and %llu occurrences; "
                        "%llu, %llu and %llu came: it is damaged, or parts are missing",
                        (unsigned long long)said->documents, (unsigned long long)said->features,
                        (unsigned long long)said->occurrences, (unsigned long long)got->documents,
                        (unsigned long long)got->features, (unsigned long long)got->occurrences);
}

void nb_import_only_new(struct nb_import *import)
{
    import->only_new = true;
}

int nb_import_commit(struct nb_import **out, const struct nb_dump_totals *totals, bool *created,
                     uint64_t *dropped, struct nb_error *error)
{
    struct nb_import *import = *out;
    int rc = needs_header(import, error);
    if (rc == 0)
        rc = check_totals(import, totals, error);
    if (rc == 0)
        rc = flush(import, 0, error);
    if (rc != 0) {
        nb_import_abort(out);
        return rc;
    }
    assert(import->entries.length == 0);
    rc = nb_writer_run(import->engine, commit_task, import, error);
    if (rc == 0) {
        *created = import->created;
        *dropped = import->dropped;
    }
    import_free(import);
    *out = NULL;
    return rc;
}
