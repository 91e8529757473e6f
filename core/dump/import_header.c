/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a dump: settings, labels, what a stack has learned, and under which key the ids of
 * features are.
 */
#include <string.h>

#include "core/dump/entries.h"
#include "core/dump/import.h"
#include "core/live/order.h"
#include "core/live/registry.h"

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
        if (nb_import_collect(import, &change) != 0)
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

/* Whether the dump's weights are those with which the model begins. Out of memory they are not. */
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

/* Reads what the stack had learned. It fits only the settings of the same dump. */
static int take_stack(struct nb_import *import, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    if (header->stack.length == 0)
        return 0;
    import->has_stack = true;
    bool has_learned = !are_of_start(import, header);
    struct nb_unpacker r = nb_unpacker_of(header->stack.bytes, header->stack.length);
    int rc = nb_stack_weights_read(import->live->published->weights, &r);
    /* Weights of a program that does not say for which constants they are are trusted, such as
     * those for documents that stand for a list of words: what a refit learns of these is not what
     * mails are like. The twin begins with what the stack says. */
    struct nb_weights *order = nb_stack_weights_order(import->live->published->weights);
    if (rc == 0 && has_learned && nb_weights_places(order) == 0)
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
 * keeps those that it has, and the key for them, as does a child of such a model. */
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
    import->live = nb_live_new(nb_buffer_string(&import->name), import->listed.number, &own,
                               &import->engine->key);
    if (import->live == NULL || nb_live_begin(import->live, &header->settings) != 0)
        return nb_error_no_memory(error);
    import->live->checkpoint.totals = import->begun;
    rc = take_stack(import, header, error);
    return rc != 0 ? rc : add_labels(import, header, error);
}
