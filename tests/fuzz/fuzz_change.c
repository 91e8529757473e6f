/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that the store reads back: changes, features, bags, ranges of rows, records. The first
 * byte says which. What reads back is written again and has to read back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/ledger/bag_coding.h"
#include "core/ledger/change.h"
#include "core/ledger/features_coding.h"
#include "core/ledger/quarantine_entries.h"
#include "core/ledger/record.h"
#include "core/model/learner.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good_so_far)
{
    if (!good_so_far)
        abort();
}

static int is_known_code(int rc, const struct nb_error *error)
{
    return rc == 0 || ((rc == NB_CORRUPT || rc == NB_VERSION) && error->text[0] != '\0');
}

static void try_change(struct nb_string stored)
{
    struct nb_change change;
    struct nb_change again;
    struct nb_change remnant;
    struct nb_error error = {0};
    struct nb_buffer out = {0};
    int rc = nb_change_read(&change, stored, &error);
    must(is_known_code(rc, &error));
    if (rc != 0)
        return;
    must(nb_change_write(&change, &out) == 0);
    must(nb_change_read(&again, (struct nb_string){out.bytes, out.length}, NULL) == 0);
    must(again.kind == change.kind && again.bag.length == change.bag.length &&
         again.other == change.other);
    out.length = 0;
    if (change.kind <= NB_CHANGE_UNTRAIN && nb_change_remnant(&change, &remnant))
        must(nb_change_write(&remnant, &out) == 0);
    nb_buffer_deinit(&out);
}

/* The second byte says how many there are said to be. */
static void try_features(struct nb_string stored)
{
    static const unsigned char bytes[NB_KEY_BYTES];
    struct nb_features_coder *coder = nb_features_coder_new();
    struct nb_key *key = malloc(sizeof *key);
    const uint64_t *ids;
    const struct nb_string *texts;
    struct nb_error error = {0};
    must(coder != NULL && key != NULL);
    nb_key_restore(key, bytes);
    if (stored.length > 0) {
        size_t count = (unsigned char)stored.bytes[0];
        int rc = nb_features_decode(coder, (struct nb_string){stored.bytes + 1, stored.length - 1},
                                    count, key, &ids, &texts, &error);
        must(is_known_code(rc, &error));
        uint64_t sum = 0; /* reads all of it */
        for (size_t i = 0; rc == 0 && i < count; i++)
            sum += ids[i];
        for (size_t i = 0; rc == 0 && texts != NULL && i < count; i++)
            sum += texts[i].length > 0 ? (unsigned char)texts[i].bytes[texts[i].length - 1] : 0;
        must(rc == 0 || sum == 0);
    }
    nb_features_coder_free(&coder);
    free(key);
}

static void try_bag(struct nb_string stored)
{
    struct nb_rows rows = {0};
    struct nb_rows again = {0};
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    int rc = nb_bag_decode(stored, 1000000, &rows, &error);
    must(is_known_code(rc, &error));
    if (rc == 0) {
        must(nb_bag_encode(&rows, &out) == 0);
        must(nb_bag_decode((struct nb_string){out.bytes, out.length}, 1000000, &again, NULL) == 0);
        must(again.size == rows.size);
    }
    nb_rows_deinit(&rows);
    nb_rows_deinit(&again);
    nb_buffer_deinit(&out);
}

static void try_range(struct nb_string stored)
{
    struct nb_model *model = nb_model_new();
    struct nb_buffer out = {0};
    struct nb_error error = {0};
    uint64_t mark;
    uint32_t label;
    must(model != NULL);
    must(nb_model_label(model, (struct nb_string){"a", 1}, &label) == 0);
    must(nb_model_label(model, (struct nb_string){"b", 1}, &label) == 0);
    int rc = nb_range_read(model, 0, stored, &mark, &error);
    must(is_known_code(rc, &error));
    if (rc == 0)
        must(nb_range_write(model, 0, nb_model_rows(model), mark, &out) == 0);
    nb_model_free(&model);
    nb_buffer_deinit(&out);
}

static void try_records(struct nb_string stored)
{
    struct nb_state_record state;
    struct nb_label_record label;
    struct nb_own_key key;
    struct nb_model_record record;
    struct nb_stored_score scored;
    struct nb_stored_score_lists lists = {0};
    struct nb_error error = {0};
    must(is_known_code(nb_state_read(&state, stored, &error), &error));
    must(is_known_code(nb_label_read(&label, stored, &error), &error));
    must(is_known_code(nb_own_key_read(&key, stored, &error), &error));
    must(is_known_code(nb_model_record_read(&record, stored, &error), &error));
    must(is_known_code(nb_stored_score_read(stored, &lists, &scored, &error), &error));
    nb_stored_score_lists_deinit(&lists);
}

static void try_quarantined(struct nb_string stored)
{
    struct nb_quarantined q;
    struct nb_error error = {0};
    struct nb_buffer out = {0};
    int rc = nb_quarantined_read(&q, stored, &error);
    must(is_known_code(rc, &error));
    if (rc != 0)
        return;
    struct nb_unpacker u = nb_unpacker_of(q.features.bytes, q.features.length);
    for (size_t i = 0; i < q.feature_count; i++) {
        struct nb_quarantined_feature f = nb_quarantined_next(&u);
        must(nb_quarantined_add(&out, &f) == 0);
    }
    must(nb_unpacker_done(&u));
    q.features = (struct nb_string){out.bytes, out.length};
    struct nb_buffer again = {0};
    must(nb_quarantined_write(&q, &again) == 0);
    must(nb_quarantined_read(&q, (struct nb_string){again.bytes, again.length}, NULL) == 0);
    nb_buffer_deinit(&again);
    nb_buffer_deinit(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const tries[])(struct nb_string stored) = {
        try_change, try_features, try_bag, try_range, try_records, try_quarantined};
    if (size == 0)
        return 0;
    struct nb_string stored = {(const char *)data + 1, size - 1};
    tries[data[0] % (sizeof tries / sizeof *tries)](stored);
    return 0;
}
