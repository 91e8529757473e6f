/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes rows of the model from the words of a dump.
 */
#include <assert.h>

#include "core/archive/dump/entries.h"
#include "core/archive/dump/import.h"
#include "core/base/feature_hash.h"
#include "core/model/live/dirty.h"

/* Copies the twin's weights of a feature to the feature's slot here. */
static int carry(struct nb_import *import, uint64_t id, struct nb_string text)
{
    struct nb_slots *slots = nb_stack_twin_slots(import->live->published->weights);
    uint64_t dumped =
        nb_feature_id_like(id, nb_feature_hash(&import->slots_key, text.bytes, text.length));
    return nb_slots_carry(slots, id, &import->slots, dumped);
}

/* Whether the text of a number gives its id: a rebuild makes the id from the text again. */
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
    bool carries = nb_slots_count(&import->slots) > 0 && words->texts != NULL;
    for (size_t i = 0; i < words->count; i++) {
        uint64_t id = words->ids[i];
        if (words->texts != NULL && !text_fits(id, words->texts[i]))
            return nb_error_set(error, NB_INVALID,
                                "feature %llu of the dump is a number, and its text another",
                                (unsigned long long)words->first_row + i);
        if (rehashes && nb_feature_has_field(id))
            id = nb_feature_id_like(id, nb_feature_hash(&import->engine->key, words->texts[i].bytes,
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
    /* Rows without counts must be stored, too. */
    if (nb_dirty_mark(&import->live->checkpoint, &import->rows, nb_model_rows(counts)) != 0)
        return nb_error_no_memory(error);
    assert(import->rows.size == words->count);
    import->totals.features += words->count;
    return 0;
}

int nb_import_words(struct nb_import *import, const struct nb_dump_words *words,
                    struct nb_error *error)
{
    if (import->is_sent)
        return nb_sending_words(&import->sending, words, error);
    int rc = nb_import_needs_header(import, error);
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
                               .features = nb_buffer_string(&import->features)};
    return nb_import_collect(import, &change) != 0
               ? nb_error_no_memory(error)
               : nb_import_flush(import, NB_IMPORT_FLUSH_BYTES, error);
}
