/* SPDX-License-Identifier: Apache-2.0
 *
 * Import: a dump becomes a model under a number of its own, listed among the orphans until it is
 * complete; the last transaction gives it its name. A failed import, or one that a crash cut off,
 * is deleted like a model that is gone.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/prequential.h"

enum { FLUSH_BYTES = 4 << 20 }; /* collected before the writer is asked to store them */

struct nb_import {
    struct nb_engine *engine;
    struct nb_import *next; /* in engine->importing */
    struct nb_buffer name;
    uint32_t number;
    struct nb_live *live;  /* NULL until the header came */
    struct nb_buffer puts; /* table, key, value ... to be stored */
    struct nb_buffer scratch;
    struct nb_rows rows;
    uint64_t documents;
    bool created;
};

/* ---- storing --------------------------------------------------------------------------------- */

static int collect(struct nb_import *import, enum nb_table table, const struct nb_store_key *key,
                   const struct nb_buffer *value)
{
    struct nb_packer w = {.out = &import->puts};
    nb_pack_u8(&w, (uint8_t)table);
    nb_pack_string(&w, nb_store_key_string(key));
    nb_pack_string(&w, (struct nb_string){value->bytes, value->length});
    return w.code;
}

static int write_puts(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_unpacker r = nb_unpacker_of(import->puts.bytes, import->puts.length);
    struct nb_string old;
    int rc = 0;
    (void)engine;
    while (rc == 0 && r.at < r.end) {
        enum nb_table table = (enum nb_table)nb_unpack_u8(&r);
        struct nb_string key = nb_unpack_string(&r);
        struct nb_string value = nb_unpack_string(&r);
        if (table == NB_TABLE_DOCUMENTS &&
            nb_store_get(view, table, key, &old, error) != NB_NOT_FOUND)
            return nb_error_set(error, NB_INVALID, "the dump has two documents with the id '%.*s'",
                                (int)(key.length - sizeof(uint32_t)), key.bytes + sizeof(uint32_t));
        rc = nb_store_put(view, table, key, value, error);
    }
    return rc;
}

static int flush_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = nb_writer_transaction(engine, import->puts.length, write_puts, import, error);
    import->puts.length = 0;
    return rc;
}

static int flush(struct nb_import *import, size_t above, struct nb_error *error)
{
    if (import->puts.length <= above)
        return 0;
    return nb_writer_run(import->engine, flush_task, import, error);
}

/* ---- begin and end --------------------------------------------------------------------------- */

bool nb_import_is_running(const struct nb_engine *engine, uint32_t number)
{
    for (const struct nb_import *i = engine->importing; i != NULL; i = i->next)
        if (i->number == number)
            return true;
    return false;
}

static int write_begin(struct nb_engine *engine, struct nb_view *view, void *argument,
                       struct nb_error *error)
{
    const struct nb_import *import = argument;
    (void)engine;
    return nb_writer_put_orphan(view, import->number, error);
}

static int begin_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    int rc = nb_writer_transaction(engine, 0, write_begin, import, error);
    if (rc == 0) {
        import->next = engine->importing;
        engine->importing = import;
    }
    return rc;
}

static void import_free(struct nb_import *import)
{
    /* A trainer may have found it in the registry before its last transaction failed. */
    nb_registry_release(import->engine, &import->live);
    nb_buffer_deinit(&import->name);
    nb_buffer_deinit(&import->puts);
    nb_buffer_deinit(&import->scratch);
    nb_rows_deinit(&import->rows);
    free(import);
}

int nb_import_begin(struct nb_engine *engine, struct nb_string model, struct nb_import **out,
                    struct nb_error *error)
{
    int rc = nb_check_model_name(model, error);
    if (rc != 0)
        return rc;
    struct nb_import *import = calloc(1, sizeof *import);
    if (import == NULL)
        return nb_error_no_memory(error);
    import->engine = engine;
    import->number = (uint32_t)atomic_fetch_add(&engine->next_number, 1);
    rc = nb_buffer_append(&import->name, model.bytes, model.length) != 0
             ? nb_error_no_memory(error)
             : nb_writer_run(engine, begin_task, import, error);
    if (rc == 0)
        *out = import;
    else
        import_free(import);
    return rc;
}

static void forget_import(struct nb_engine *engine, const struct nb_import *import)
{
    struct nb_import **at = &engine->importing;
    while (*at != NULL && *at != import)
        at = &(*at)->next;
    if (*at != NULL)
        *at = import->next;
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

/* ---- records --------------------------------------------------------------------------------- */

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
    }
    return 0;
}

/* What the stack had learned; a stack of other settings than those of the dump does not fit. */
static int take_stack(struct nb_import *import, struct nb_string stack, struct nb_error *error)
{
    if (stack.length == 0)
        return 0;
    struct nb_unpacker r = nb_unpacker_of(stack.bytes, stack.length);
    int rc = nb_stack_weights_read(import->live->published->weights, &r);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0 && nb_unpacker_done(&r))
        return 0;
    return nb_error_set(error, NB_INVALID, "the dump's stack does not read back");
}

int nb_import_header(struct nb_import *import, const struct nb_dump_header *header,
                     struct nb_error *error)
{
    if (import->live != NULL)
        return nb_error_set(error, NB_INVALID, "the dump has two headers");
    int rc = nb_settings_check(&header->settings, error);
    if (rc != 0)
        return rc;
    struct nb_key key;
    nb_key_restore(&key, header->key);
    struct nb_string name = {import->name.bytes, import->name.length};
    import->live = nb_live_new(name, import->number, &key, &header->settings);
    if (import->live == NULL)
        return nb_error_no_memory(error);
    import->live->counts = nb_model_new();
    if (import->live->counts == NULL)
        return nb_error_no_memory(error);
    atomic_store(&import->live->loaded, true);
    rc = take_stack(import, header->stack, error);
    return rc != 0 ? rc : add_labels(import, header, error);
}

static int needs_header(const struct nb_import *import, struct nb_error *error)
{
    if (import->live != NULL)
        return 0;
    return nb_error_set(error, NB_INVALID, "the dump does not begin with its header");
}

static int add_rows(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    struct nb_model *counts = import->live->counts;
    import->rows.size = 0;
    for (size_t i = 0; i < words->count; i++) {
        uint64_t id = words->ids[i];
        uint32_t row;
        if (nb_feature_field(id) >= NB_FIELDS || nb_model_find(counts, id) != NB_NO_ROW)
            return nb_error_set(error, NB_INVALID,
                                "feature %llu of the dump is of an unknown field, or there twice",
                                (unsigned long long)words->first_row + i);
        if (nb_model_append(counts, id, &row) != 0 || nb_rows_add(&import->rows, row, 1) != 0)
            return nb_error_no_memory(error);
    }
    /* Rows without counts have to reach the store too. */
    if (nb_checkpoint_touch(&import->live->checkpoint, &import->rows, nb_model_rows(counts)) != 0)
        return nb_error_no_memory(error);
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
        rc = add_rows(import, words, error);
    if (rc != 0 || words->texts == NULL || words->count == 0 ||
        !import->engine->settings.keep_words)
        return rc;
    struct nb_packer w = {.out = &import->scratch};
    struct nb_store_key key = nb_store_key_number(import->number, words->first_row);
    import->scratch.length = 0;
    for (size_t i = 0; i < words->count; i++)
        nb_pack_string(&w, words->texts[i]);
    if (w.code != 0 || collect(import, NB_TABLE_WORDS, &key, &import->scratch) != 0)
        return nb_error_no_memory(error);
    return flush(import, FLUSH_BYTES, error);
}

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
        if (nb_field_is_token(nb_feature_field(nb_model_row_id(counts, row))))
            *tokens += document->counts[i];
    }
    return 0;
}

static int collect_document(struct nb_import *import, const struct nb_dump_document *document)
{
    struct nb_live *live = import->live;
    struct nb_store_key key = nb_store_key_sequence(import->number, ++live->checkpoint.last);
    struct nb_store_key id = nb_store_key_id(import->number, document->id);
    struct nb_buffer bag = {0};
    struct nb_packer w = {.out = &import->scratch};
    int rc = nb_bag_encode(&import->rows, &bag);
    struct nb_entry entry = {.kind = NB_ENTRY_LEARNED,
                             .id = document->id,
                             .label = document->label,
                             .time = document->learned,
                             .tokens = document->tokens,
                             .bag = {bag.bytes, bag.length}};
    import->scratch.length = 0;
    if (rc == 0)
        rc = nb_entry_write(&entry, &import->scratch);
    if (rc == 0)
        rc = collect(import, NB_TABLE_LEDGER, &key, &import->scratch);
    nb_buffer_deinit(&bag);
    import->scratch.length = 0;
    nb_pack_varint(&w, live->checkpoint.last);
    if (rc == 0)
        rc = w.code;
    if (rc == 0)
        rc = collect(import, NB_TABLE_DOCUMENTS, &id, &import->scratch);
    import->scratch.length = 0;
    nb_pack_bytes(&w, document->score.bytes, document->score.length);
    if (rc != 0 || document->score.length == 0)
        return rc;
    return w.code != 0 ? w.code : collect(import, NB_TABLE_SCORES, &key, &import->scratch);
}

/* A score must be of labels that the dump has, and its numbers such as a score can have. */
static int check_score(const struct nb_import *import, struct nb_string stored,
                       struct nb_error *error)
{
    struct nb_scored_lists lists = {0};
    struct nb_scored scored;
    if (stored.length == 0)
        return 0;
    int rc = nb_scored_read(stored, &lists, &scored, error);
    bool good = rc == 0 && isfinite(scored.log_odds) &&
                scored.label < nb_model_label_count(import->live->counts);
    for (uint32_t i = 0; good && i < scored.size; i++)
        good = scored.labels[i] < nb_model_label_count(import->live->counts) &&
               scored.probabilities[i] >= 0 && scored.probabilities[i] <= 1;
    nb_scored_lists_deinit(&lists);
    if (rc == NB_NO_MEMORY || good)
        return good ? 0 : rc;
    return nb_error_set(error, NB_INVALID, "a document's score does not read back");
}

int nb_import_document(struct nb_import *import, const struct nb_dump_document *document,
                       struct nb_error *error)
{
    uint64_t tokens;
    size_t fresh;
    int rc = needs_header(import, error);
    if (rc == 0 && nb_check_id(document->id, error) != 0)
        rc = nb_error_set(error, NB_INVALID, "a document's id is not 1 to 256 bytes of UTF-8");
    if (rc == 0 && document->label >= nb_model_label_count(import->live->counts))
        rc = nb_error_set(error, NB_INVALID,
                          "a document has label number %u, the dump has %u labels", document->label,
                          nb_model_label_count(import->live->counts));
    if (rc == 0 && document->learned < 0)
        rc = nb_error_set(error, NB_INVALID, "a document was learned before 1970");
    if (rc == 0)
        rc = check_score(import, document->score, error);
    if (rc == 0)
        rc = take_bag(import, document, &tokens, error);
    if (rc == 0 && tokens != document->tokens)
        rc = nb_error_set(error, NB_INVALID, "a document says %llu tokens, its counts sum to %llu",
                          (unsigned long long)document->tokens, (unsigned long long)tokens);
    if (rc != 0)
        return rc;
    struct nb_model_change change = {.add_label = document->label,
                                     .add = import->rows.counts,
                                     .add_size = import->rows.size,
                                     .take_label = UINT32_MAX};
    rc = nb_model_change(import->live->counts, &change, &fresh);
    if (rc == NB_TOO_LARGE)
        return nb_error_set(error, rc, "a feature of the dump is counted over 4 billion times");
    if (rc != 0 || collect_document(import, document) != 0)
        return nb_error_no_memory(error);
    import->documents++;
    return flush(import, FLUSH_BYTES, error);
}

/* ---- commit ---------------------------------------------------------------------------------- */

static int collect_labels(struct nb_import *import)
{
    const struct nb_model *counts = import->live->counts;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < nb_model_label_count(counts); i++) {
        struct nb_store_key key = nb_store_key_number(import->number, i);
        import->scratch.length = 0;
        rc = nb_label_write(nb_model_label_name(counts, i), nb_model_documents(counts, i),
                            &import->scratch);
        if (rc == 0)
            rc = collect(import, NB_TABLE_LABELS, &key, &import->scratch);
    }
    return rc;
}

struct naming {
    struct nb_import *import;
    struct nb_live *old;
};

static int write_name(struct nb_engine *engine, struct nb_view *view, void *argument,
                      struct nb_error *error)
{
    const struct naming *naming = argument;
    struct nb_live *live = naming->import->live;
    struct nb_store_key key = nb_store_key_model(live->number);
    int rc = nb_writer_put_model(engine, view, live, &live->published->settings, error);
    if (rc == 0)
        rc = nb_writer_put_stack(engine, view, live, error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_ORPHANS, nb_store_key_string(&key), error);
    if (rc == 0 && naming->old != NULL && atomic_load(&naming->old->persisted))
        rc = nb_writer_put_orphan(view, naming->old->number, error);
    return rc;
}

/* Adds the unborn model to the registry. The import keeps a reference of its own: whoever else
 * looks at an unborn model and is the last to hold it takes it out again. */
static int list(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    atomic_fetch_add(&live->references, 1);
    int rc = nb_registry_insert(engine, live, error);
    if (rc != 0)
        atomic_fetch_sub(&live->references, 1);
    return rc;
}

/* Puts the complete model in its place. If there was none of the name, it is listed before the last
 * transaction, unborn, so that a full list of models is found out in time. */
static int take_place(struct nb_engine *engine, struct nb_import *import, struct nb_error *error)
{
    struct nb_live *live = import->live;
    struct naming naming = {.import = import};
    struct nb_string name = {import->name.bytes, import->name.length};
    int rc;
    /* A trainer may make a model of the name between the two. */
    do {
        rc = nb_registry_acquire(engine, name, true, &naming.old, error);
        if (rc == NB_NOT_FOUND)
            rc = list(engine, live, error);
    } while (rc == NB_EXISTS);
    if (rc == 0)
        rc = nb_writer_transaction(engine, 0, write_name, &naming, error);
    if (rc == 0) {
        import->created = naming.old == NULL || !atomic_load(&naming.old->persisted);
        atomic_store(&live->persisted, true);
        nb_writer_number_stored(engine, live);
    }
    if (rc == 0 && naming.old != NULL) {
        struct nb_live *replaced = nb_registry_replace(engine, live);
        import->live = NULL;                    /* our reference is the registry's now */
        nb_registry_release(engine, &replaced); /* the registry's reference */
    } else if (rc != 0 && naming.old == NULL) {
        nb_registry_remove(engine, live);
    }
    nb_registry_release(engine, &naming.old);
    return rc;
}

static int commit_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct nb_import *import = argument;
    struct nb_live *live = import->live;
    if (live->checkpoint.last == 0)
        live->checkpoint.last = 1; /* so that features without documents are stored as well */
    int rc = nb_checkpoint_all(engine, live, error);
    if (rc == 0) {
        live->labels_stored = nb_model_label_count(live->counts);
        rc = take_place(engine, import, error);
    }
    forget_import(engine, import);
    return rc;
}

int nb_import_commit(struct nb_import **out, bool *created, struct nb_error *error)
{
    struct nb_import *import = *out;
    int rc = needs_header(import, error);
    if (rc == 0 && collect_labels(import) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = flush(import, 0, error);
    if (rc != 0) {
        nb_import_abort(out);
        return rc;
    }
    rc = nb_writer_run(import->engine, commit_task, import, error);
    if (rc == 0)
        *created = import->created;
    import_free(import);
    *out = NULL;
    return rc;
}
