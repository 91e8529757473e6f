/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of a dump: checks each, turns it into ledger entries, and applies them to the model.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/archive/dump/dump.h"
#include "core/archive/dump/import.h"
#include "core/archive/dump/import_private.h"
#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "core/base/label_set.h"
#include "core/base/names.h"
#include "core/counts/pairs.h"
#include "core/model/checkpoint.h"
#include "core/model/learner.h"
#include "core/model/order.h"
#include "core/model/registry.h"

/* Applies a change to the model, and collects it for appending, with the model's number and, if it
 * has no source, that of the import. Returns 0 or as nb_replay_entry does; after a failure the
 * import can only be aborted. */
static int import_collect(struct nb_import *import, struct nb_change *change,
                          struct nb_error *error)
{
    struct nb_packer p = {.out = &import->entries};
    assert(import->listed.number != 0);
    change->model = import->listed.number;
    if (change->source.length == 0)
        change->source = nb_buffer_string(&import->source);
    struct nb_entry entry = {.change = *change};
    int rc = nb_replay_entry(&import->replay, &entry, error);
    if (rc != 0)
        return rc;
    import->bytes.length = 0;
    if (nb_change_write(change, &import->bytes) != 0)
        return nb_error_no_memory(error);
    nb_pack_string(&p, nb_buffer_string(&import->bytes));
    return p.code != 0 ? nb_error_no_memory(error) : 0;
}

/* ---- the header: settings, labels, weights, key ---------------------------------------------- */

static int add_labels(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    for (size_t i = 0; i < header->label_count; i++) {
        struct nb_string name = {header->labels[i], strlen(header->labels[i])};
        int rc = nb_check_label_or_set(name, error);
        if (rc != 0)
            return nb_error_set(error, NB_INVALID, "label %zu of the dump is not a label", i);
        if (i >= import->engine->settings.labels && !nb_label_is_set(name))
            return nb_error_set(error, NB_TOO_LARGE,
                                "the dump has more labels than the setting `labels` allows");
        if (nb_model_find_label(import->live->counts, name) != UINT32_MAX)
            return nb_error_set(error, NB_INVALID, "the dump has the label '%s' twice",
                                header->labels[i]);
        struct nb_change change = {
            .kind = NB_CHANGE_FEATURES, .label = (uint32_t)i, .label_name = name};
        rc = import_collect(import, &change, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Whether the dump's weights are the start values. Returns false if out of memory. */
static bool are_of_start(const struct nb_import *import, const struct nb_dump_header *header)
{
    struct nb_buffer start = {0};
    struct nb_packer w = {.out = &start};
    nb_stack_weights_write(import->live->published->weights, &w);
    bool are = w.code == 0 && start.length == header->stack.length &&
               memcmp(start.bytes, header->stack.bytes, start.length) == 0;
    nb_buffer_deinit(&start);
    return are;
}

/* Reads the weights of the stack. They fit only the settings of the same dump. */
static int take_stack(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    if (header->stack.length == 0)
        return 0;
    import->has_stack = true;
    bool has_learned = !are_of_start(import, header);
    struct nb_unpacker r = nb_unpacker_of(header->stack.bytes, header->stack.length);
    int rc = nb_stack_weights_read(import->live->published->weights, &r);
    /* Weights from another program, without the constants for which they were fitted, are trusted
     * and not fitted again. For example, if a list of words was stored as documents, a refit to
     * these would not suit mails. The twin starts from the scores of the stack. */
    struct nb_weights *order = nb_stack_weights_order(import->live->published->weights);
    const struct nb_weights *known =
        nb_stack_weights_known(import->live->published->weights); /* a model by the book has it */
    if (rc == 1) { /* of an older form: they are those of the start, from which a refit is due */
        import->has_stack = false;
        rc = 0;
    } else if (rc == 0 && has_learned && nb_weights_places(order) == 0 &&
               nb_weights_places(known) == 0) {
        rc = nb_order_set_fingerprint(order,
                                      nb_stack_fingerprint(import->live->published->stack, true));
    }
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0 || !nb_unpacker_done(&r))
        return nb_error_set(error, NB_INVALID, "the dump's stack does not read back");
    return 0;
}

/* Returns the own key of the model. A dump of another store has another key. Documents keep their
 * ids, so the model keeps that key for them. Ids of features are computed again under the store's
 * key, from their texts. Without texts the features keep their ids, too, and the model uses its own
 * key for features; so does a child of such a model. */
static struct nb_own_key own_key(struct nb_import *import, const struct nb_dump_header *header)
{
    struct nb_engine *engine = import->engine;
    struct nb_own_key own = {0};
    struct nb_own_key of_parent;
    nb_registry_key_of(engine, header->settings.parent, &of_parent);
    bool has_parents = of_parent.present && memcmp(header->key, of_parent.bytes, NB_KEY_BYTES) == 0;
    import->other_key = memcmp(header->key, engine->key.bytes, NB_KEY_BYTES) != 0;
    import->rehash =
        import->other_key && header->has_texts && engine->settings.keep_words && !has_parents;
    own.present = import->other_key;
    own.hashes_features = import->other_key && !import->rehash;
    memcpy(own.bytes, header->key, NB_KEY_BYTES);
    return own;
}

/* Refuses a dump that the tokenizer of a later bayesd counted, with NB_UNUSABLE: the dump can't be
   used, which says nothing about the store. */
static int check_counted_here(const struct nb_settings *settings, struct nb_error *error)
{
    if (nb_settings_check_tokenizer(settings, error) == 0)
        return 0;
    if (error != NULL)
        error->code = NB_UNUSABLE;
    return NB_UNUSABLE;
}

int nb_import_header(struct nb_import *import, const struct nb_dump_header *header,
                     struct nb_error *error)
{
    if (import->is_sent)
        return nb_sending_written(&import->sending,
                                  nb_dump_write_header(header, &import->sending.rest), error);
    if (import->live != NULL)
        return nb_error_set(error, NB_INVALID, "the dump has two headers");
    int rc = nb_settings_check(&header->settings, error);
    if (rc == 0)
        rc = check_counted_here(&header->settings, error);
    if (rc != 0)
        return rc;
    struct nb_own_key own = own_key(import, header);
    import->live = nb_live_new(nb_buffer_string(&import->name), import->listed.number, &own,
                               &import->engine->key);
    if (import->live == NULL || nb_live_begin(import->live, &header->settings) != 0)
        return nb_error_no_memory(error);
    import->live->checkpoint.totals = import->begun;
    import->replay = (struct nb_replay){.live = import->live, .coder = import->coder};
    rc = take_stack(import, header, error);
    return rc != 0 ? rc : add_labels(import, header, error);
}

/* ---- words: rows of the model ---------------------------------------------------------------- */

/* Whether the text of a number gives its id: a rebuild computes the id from the text. */
static bool text_fits(uint64_t id, struct nb_string text)
{
    uint64_t number;
    return !nb_feature_is_number(id) || (nb_decimal_of_feature(text, &number) &&
                                         id == nb_feature_number_id(nb_feature_part(id), number));
}

/* Sets the ids of the rows: those of the dump, or new ones under the store's key. */
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
    for (size_t i = 0; i < words->count; i++) {
        uint64_t id = words->ids[i];
        if (words->texts != NULL && !text_fits(id, words->texts[i]))
            return nb_error_set(error, NB_INVALID,
                                "feature %llu of the dump is a number, and its text another",
                                (unsigned long long)words->first_row + i);
        if (rehashes && nb_feature_has_field(id))
            id = nb_feature_id_like(id, nb_feature_hash(&import->engine->key, words->texts[i].bytes,
                                                        words->texts[i].length));
        import->ids[i] = id;
    }
    return 0;
}

/* Marks rows as changed, so that those without counts are stored, too. */
static int mark_rows(struct nb_import *import, uint32_t first, uint32_t count)
{
    import->rows.size = 0;
    for (uint32_t i = 0; i < count; i++)
        if (nb_rows_add(&import->rows, first + i, 1) != 0)
            return NB_NO_MEMORY;
    return nb_dirty_mark(&import->live->checkpoint, &import->rows, first + count);
}

int nb_import_words(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    if (import->is_sent)
        return nb_sending_written(&import->sending,
                                  nb_dump_write_words(words, &import->sending.rest), error);
    int rc = nb_import_needs_header(import, error);
    if (rc == 0 && words->first_row != nb_model_rows(import->live->counts))
        rc = nb_error_set(error, NB_INVALID,
                          "the dump's features are not in order: %u comes after %u",
                          words->first_row, nb_model_rows(import->live->counts));
    if (rc == 0)
        rc = take_ids(import, words, error);
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
                               .features = nb_buffer_string(&import->features)};
    rc = import_collect(import, &change, error);
    if (rc == NB_CORRUPT)
        return nb_error_set(error, NB_INVALID,
                            "of the features of the dump from %u on one is of an unknown field, or "
                            "there twice",
                            words->first_row);
    if (rc == 0 && mark_rows(import, words->first_row, (uint32_t)words->count) != 0)
        return nb_error_no_memory(error);
    import->totals.features += words->count;
    return rc != 0 ? rc : nb_import_flush(import, NB_IMPORT_FLUSH_BYTES, error);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* Checks and copies the bag. Sets *tokens to the sum of the counts of rows that are tokens. */
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

/* Checks that a score has labels of the dump, a finite log odds, and probabilities between 0 and 1.
 */
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

/* Collects the change of a document. It keeps its own source; if it has none, it gets that of the
 * import. */
static int collect_document(struct nb_import *import, struct nb_change *change,
                            struct nb_string source, struct nb_error *error)
{
    if (source.length > 0)
        change->source = source;
    int rc = import_collect(import, change, error);
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "a feature of the dump is counted over 4 billion times");
    if (rc == 0 && !nb_model_pairs_fit(import->live->counts, NULL, 0))
        return nb_error_set(
            error, NB_TOO_LARGE,
            "the dump has more pairs of values than \"structure\": \"tan\" has room "
            "for");
    return rc;
}

int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error)
{
    uint64_t tokens;
    if (import->is_sent)
        return nb_sending_written(&import->sending,
                                  nb_dump_write_document(document, &import->sending.rest), error);
    int rc = nb_import_needs_header(import, error);
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
                               .is_reviewed = document->is_reviewed,
                               .score = document->score,
                               .bag = nb_buffer_string(&import->bag)};
    rc = collect_document(import, &change, document->source, error);
    import->totals.documents++;
    return rc != 0 ? rc : nb_import_flush(import, NB_IMPORT_FLUSH_BYTES, error);
}
