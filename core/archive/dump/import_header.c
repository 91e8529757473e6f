/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a dump: settings, labels, weights of the stack, and the key of the features' ids.
 */
#include <string.h>

#include "core/archive/dump/entries.h"
#include "core/archive/dump/import.h"
#include "core/model/learn/order.h"
#include "core/model/registry/registry.h"

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

/* If the dump's twin has learned under another key than the features have here, its slots are kept
 * aside and carried over feature by feature, by their texts (import_words.c). */
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
    /* Weights from another program, without the constants that they were fitted for, are trusted
     * and not fitted again. An example are weights for a list of words, stored as documents: a
     * refit to these would not suit mails. The twin starts from the scores of the stack. */
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

/* The key that the model keeps. A dump of another store has another key. The ids of documents stay
 * as they are, so the model keeps that key for them. Ids of features are made again under the
 * store's key, from their texts. Without texts the features keep their ids, and the model the key
 * for them; so does a child of such a model. */
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
    if (import->is_sent)
        return nb_sending_header(&import->sending, header, error);
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
