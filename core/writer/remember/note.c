/* SPDX-License-Identifier: Apache-2.0 */
#include "core/writer/remember/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/string.h"

enum {
    TEXT_MOST = 512, /* bytes of a Message-ID or Subject */
    ID_TEXT = 18,    /* '#', 16 digits, NUL */
};

bool nb_remember_keeps_texts(const struct nb_engine *engine, const struct nb_live *live)
{
    return engine->settings.keep_words || live->key != live->id_key;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_features(const struct nb_bag *bag, bool with_texts,
                          struct nb_features_coder *coder, struct nb_buffer *out)
{
    if (bag->size == 0) /* a document without words: there are no features to encode */
        return 0;
    uint64_t *ids = malloc(bag->size * sizeof *ids);
    if (ids == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < bag->size; i++)
        ids[i] = bag->features[i].id;
    int rc = nb_features_encode(coder, ids, with_texts ? bag->texts : NULL, bag->size, out);
    free(ids);
    return rc;
}

/* Most features occur once. */
static int write_repeats(const struct nb_bag *bag, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    size_t place = 0;
    for (size_t i = 0; i < bag->size; i++) {
        if (bag->features[i].count == 1)
            continue;
        nb_pack_varint(&p, i + 1 - place);
        nb_pack_varint(&p, bag->features[i].count - 1);
        place = i + 1;
    }
    return p.code;
}

static int write_record(const struct nb_remember_note *note, const struct nb_bag *bag,
                        struct nb_string features, struct nb_string repeats, struct nb_buffer *out)
{
    struct nb_history_record record = {.id = note->id,
                                       .message_id = nb_utf8_cut(note->message_id, TEXT_MOST),
                                       .subject = nb_utf8_cut(note->subject, TEXT_MOST),
                                       .source = note->source,
                                       .verdict = note->verdict,
                                       .probability = note->probability,
                                       .time = nb_clock_now(),
                                       .truncated = bag->truncated,
                                       .fields = note->fields,
                                       .positions = bag->positions,
                                       .feature_count = bag->size,
                                       .features = features,
                                       .repeats = repeats};
    return nb_history_write(&record, out);
}

int nb_remember_note(struct nb_engine *engine, struct nb_live *live,
                     const struct nb_remember_note *note, const struct nb_bag *bag,
                     struct nb_features_coder *coder)
{
    struct nb_buffer features = {0}, repeats = {0}, stored = {0};
    int rc = write_features(bag, nb_remember_keeps_texts(engine, live), coder, &features);
    if (rc == 0)
        rc = write_repeats(bag, &repeats);
    if (rc == 0)
        rc = write_record(note, bag, (struct nb_string){features.bytes, features.length},
                          (struct nb_string){repeats.bytes, repeats.length}, &stored);
    rc = rc == 0
             ? nb_remember(engine, live, note->id, (struct nb_string){stored.bytes, stored.length})
             : nb_remember_miss(engine);
    nb_buffer_deinit(&features);
    nb_buffer_deinit(&repeats);
    nb_buffer_deinit(&stored);
    return rc;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A feature whose text was not kept is shown as its id. */
static int add_feature(struct nb_bag *bag, uint64_t id, struct nb_string text)
{
    char name[ID_TEXT];
    if (text.length > 0)
        return nb_bag_add_id(bag, id, text.bytes, text.length);
    int length = snprintf(name, sizeof name, "#%016" PRIx64, id);
    return nb_bag_add_id(bag, id, name, (size_t)length);
}

static bool read_repeats(struct nb_string stored, struct nb_bag *bag)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    size_t place = 0;
    while (u.at < u.end && !u.failed) {
        place += (size_t)nb_unpack_bounded(&u, bag->size - place);
        uint32_t more = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX - 1);
        if (place == 0)
            return false;
        bag->features[place - 1].count = more + 1;
    }
    return !u.failed;
}

int nb_remember_bag(const struct nb_history_record *record, const struct nb_key *key,
                    struct nb_features_coder *coder, struct nb_bag *bag, struct nb_error *error)
{
    const uint64_t *ids = NULL;
    const struct nb_string *texts = NULL;
    int rc = 0;
    nb_bag_reset(bag);
    if (record->feature_count > 0 || record->features.length > 0)
        rc = nb_features_decode(coder, record->features, record->feature_count, key, &ids, &texts,
                                error);
    for (size_t i = 0; rc == 0 && i < record->feature_count; i++)
        rc = add_feature(bag, ids[i], texts != NULL ? texts[i] : (struct nb_string){"", 0});
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc == 0 && (bag->size != record->feature_count || !read_repeats(record->repeats, bag)))
        rc = nb_error_set(error, NB_CORRUPT, "a verdict in the history does not read back");
    bag->positions = record->positions;
    bag->truncated = record->truncated;
    return rc;
}
