/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/live/records.h"

#include <assert.h>

#include "core/base/pack.h"

int nb_put_model(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                 const struct nb_settings *settings, struct nb_error *error)
{
    struct nb_buffer stored = {0};
    struct nb_buffer key = {0};
    struct nb_buffer *out = &engine->scratch;
    assert(live->number != 0);
    out->length = 0;
    int rc = nb_settings_write(settings, &stored);
    if (rc == 0)
        rc = nb_live_write_key(live, &key);
    struct nb_model_record record = {.number = live->number,
                                     .settings = nb_buffer_string(&stored),
                                     .key = nb_buffer_string(&key)};
    if (rc == 0)
        rc = nb_model_record_write(&record, out);
    nb_buffer_deinit(&stored);
    nb_buffer_deinit(&key);
    if (rc != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_MODELS, nb_live_name(live), nb_buffer_string(out), error);
}

int nb_put_label(struct nb_engine *engine, const struct nb_view *view, const struct nb_live *live,
                 uint32_t label, struct nb_error *error)
{
    struct nb_buffer *out = &engine->scratch;
    struct nb_store_key key = nb_store_key_number(live->number, label);
    struct nb_label_record record = {.name = nb_model_label_name(live->counts, label),
                                     .documents = nb_model_documents(live->counts, label),
                                     .tokens =
                                         nb_model_occurrences(live->counts, label, NB_ALL_TOKENS)};
    assert(live->number != 0 && label < nb_model_label_count(live->counts));
    out->length = 0;
    if (nb_label_write(&record, out) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_LABELS, nb_store_key_string(&key), nb_buffer_string(out),
                        error);
}

static int put_weights_record(const struct nb_view *view, struct nb_live *live, uint32_t record,
                              struct nb_string value, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_number(live->number, record);
    struct nb_string before;
    int rc = nb_store_get(view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), &before, error);
    if (rc != 0 && rc != NB_NOT_FOUND && rc != NB_CORRUPT)
        return rc;
    live->checkpoint.weights += rc == NB_NOT_FOUND; /* a damaged record is overwritten */
    return nb_store_put(view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), value, error);
}

int nb_put_weights(struct nb_engine *engine, const struct nb_view *view, struct nb_live *live,
                   struct nb_error *error)
{
    const struct nb_stack_weights *weights = live->published->weights;
    struct nb_buffer *out = &engine->scratch;
    assert(live->number != 0);
    int rc = 0;
    uint32_t record = nb_stack_weights_changed(weights, 0);
    for (; rc == 0 && record != NB_STACK_NO_RECORD;
         record = nb_stack_weights_changed(weights, record + 1)) {
        struct nb_packer p = {.out = out};
        out->length = 0;
        nb_stack_weights_write_record(weights, record, &p);
        rc = p.code != 0 ? nb_error_no_memory(error)
                         : put_weights_record(view, live, record, nb_buffer_string(out), error);
    }
    return rc;
}

int nb_put_orphan(const struct nb_view *view, uint32_t number, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(number);
    assert(number != 0);
    return nb_store_put(view, NB_TABLE_ORPHANS, nb_store_key_string(&key),
                        (struct nb_string){"", 0}, error);
}
