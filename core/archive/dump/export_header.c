/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/archive/dump/exporting.h"
#include "core/base/pack.h"
#include "core/model/live/twin_log.h"

struct reading {
    struct nb_stack_weights *weights;
    bool found; /* the store has weights */
};

static int read_weights(void *user, struct nb_string key, struct nb_string value,
                        struct nb_error *error)
{
    struct reading *reading = user;
    int rc =
        nb_stack_weights_read_record(reading->weights, (uint32_t)nb_store_key_tail(key), value);
    reading->found = true;
    return rc == 0 ? 0 : nb_error_set(error, rc, "the weights of the stack do not read back");
}

/* Writes the weights of the stack in the form of a dump; nothing if the model has learned none. */
static int dump_weights(const struct nb_export *e, const struct nb_settings *settings,
                        struct nb_buffer *out, struct nb_error *error)
{
    struct nb_stack_settings stack;
    struct nb_store_key key = nb_store_key_model(e->live->number);
    struct nb_packer p = {.out = out};
    nb_stack_settings_of(settings, &stack);
    struct nb_stack_weights *weights = nb_stack_weights_new(&stack);
    if (weights == NULL)
        return nb_error_no_memory(error);
    struct reading reading = {.weights = weights};
    int rc = nb_store_scan(e->view, NB_TABLE_WEIGHTS, nb_store_key_string(&key), key.length,
                           read_weights, &reading, error);
    if (rc == 0)
        rc = nb_twin_log_load(e->view, e->live->number, &e->state.twin, weights, NULL, error);
    /* Documents without a label teach nothing: without others, the stored weights are the start
     * values. */
    bool has_learned = e->state.totals.current > e->state.totals.unlabelled ||
                       nb_weights_places(nb_stack_weights_order(weights)) > 0;
    if (rc == 0 && reading.found && has_learned)
        nb_stack_weights_write(weights, &p);
    nb_stack_weights_free(&weights);
    if (rc == 0 && p.code != 0)
        rc = nb_error_no_memory(error);
    return rc;
}

int nb_export_header(struct nb_export *export, struct nb_error *error)
{
    struct nb_export *e = export;
    struct nb_string value;
    struct nb_model_record record;
    struct nb_dump_header header = {.label_count = e->label_count,
                                    .labels = (const char *const *)e->labels,
                                    .has_texts = e->has_texts};
    struct nb_buffer weights = {0};
    memcpy(header.key, e->live->id_key->bytes, sizeof header.key);
    const struct nb_key *of_slots = e->state.twin.ranges > 0 ? e->live->key : e->live->id_key;
    memcpy(header.stack_key, of_slots->bytes, sizeof header.stack_key);
    int rc = nb_store_get(e->view, NB_TABLE_MODELS, nb_live_name(e->live), &value, error);
    if (rc == 0)
        rc = nb_model_record_read(&record, value, error);
    if (rc == 0)
        rc = nb_settings_read(&header.settings, record.settings, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND
                   ? nb_error_set(error, NB_CORRUPT,
                                  "the store is damaged: a model's record is missing")
                   : rc;
    rc = dump_weights(e, &header.settings, &weights, error);
    header.stack = (struct nb_string){weights.bytes, weights.length};
    if (rc == 0)
        rc = e->sink->header(e->sink->user, &header);
    nb_settings_deinit(&header.settings);
    nb_buffer_deinit(&weights);
    return rc;
}
