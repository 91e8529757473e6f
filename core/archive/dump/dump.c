/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/dump.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"

/* ---- writing --------------------------------------------------------------------------------- */

static int write_record(struct nb_packer *w, struct nb_buffer *out)
{
    struct nb_packer record = {.out = out, .code = w->code};
    if (record.code == 0)
        nb_pack_string(&record, nb_buffer_string(w->out));
    nb_buffer_deinit(w->out);
    return record.code;
}

int nb_dump_write_header(const struct nb_dump_header *h, struct nb_buffer *out)
{
    struct nb_buffer settings = {0}, bytes = {0};
    struct nb_packer w = {.out = &bytes, .code = nb_settings_write(&h->settings, &settings)};
    nb_pack_u8(&w, NB_DUMP_HEADER);
    nb_pack_string(&w, nb_buffer_string(&settings));
    nb_pack_bytes(&w, h->key, NB_KEY_BYTES);
    nb_pack_varint(&w, h->label_count);
    for (size_t i = 0; i < h->label_count; i++)
        nb_pack_string(&w, nb_string_of(h->labels[i]));
    nb_pack_u8(&w, h->has_texts);
    nb_pack_string(&w, h->stack);
    nb_buffer_deinit(&settings);
    return write_record(&w, out);
}

int nb_dump_write_words(const struct nb_dump_words *words, struct nb_buffer *out)
{
    struct nb_buffer bytes = {0};
    struct nb_packer w = {.out = &bytes};
    nb_pack_u8(&w, NB_DUMP_WORDS);
    nb_pack_varint(&w, words->first_row);
    nb_pack_varint(&w, words->count);
    nb_pack_u8(&w, words->texts != NULL);
    for (size_t i = 0; i < words->count; i++)
        nb_pack_u64(&w, words->ids[i]);
    for (size_t i = 0; words->texts != NULL && i < words->count; i++)
        nb_pack_string(&w, words->texts[i]);
    return write_record(&w, out);
}

int nb_dump_write_document(const struct nb_dump_document *d, struct nb_buffer *out)
{
    struct nb_buffer bytes = {0};
    struct nb_packer w = {.out = &bytes};
    nb_pack_u8(&w, NB_DUMP_DOCUMENT);
    nb_pack_string(&w, d->id);
    nb_pack_varint(&w, d->label);
    nb_pack_u64(&w, (uint64_t)d->learned);
    nb_pack_string(&w, d->source);
    nb_pack_varint(&w, d->tokens);
    nb_pack_varint(&w, d->size);
    for (size_t i = 0; i < d->size; i++) {
        nb_pack_varint(&w, d->rows[i]);
        nb_pack_varint(&w, d->counts[i]);
    }
    nb_pack_string(&w, d->score);
    nb_pack_u8(&w, d->is_reviewed);
    return write_record(&w, out);
}

int nb_dump_write_end(const struct nb_dump_totals *totals, struct nb_buffer *out)
{
    struct nb_buffer bytes = {0};
    struct nb_packer w = {.out = &bytes};
    nb_pack_u8(&w, NB_DUMP_END);
    nb_pack_varint(&w, totals->documents);
    nb_pack_varint(&w, totals->features);
    nb_pack_varint(&w, totals->occurrences);
    return write_record(&w, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int malformed(struct nb_error *error)
{
    return nb_error_set(error, NB_INVALID, "a piece of an import does not read back");
}

/* Reads a number of items. Each takes at least a byte, so a larger number is an error. */
static size_t count_of(struct nb_unpacker *u)
{
    return (size_t)nb_unpack_bounded(u, (uint64_t)(u->end - u->at));
}

static int finish(struct nb_unpacker *u, struct nb_error *error)
{
    return nb_unpacker_done(u) ? 0 : malformed(error);
}

static void take_key(struct nb_unpacker *u, unsigned char key[NB_KEY_BYTES])
{
    struct nb_string bytes = nb_unpack_bytes(u, NB_KEY_BYTES);
    if (!u->failed)
        memcpy(key, bytes.bytes, NB_KEY_BYTES);
}

/* Reads the labels, each with a NUL; the caller frees them and the array, also after a failure. */
static char **read_labels(struct nb_unpacker *u, size_t count)
{
    char **labels = calloc(count + 1, sizeof *labels);
    for (size_t i = 0; labels != NULL && i < count; i++) {
        struct nb_string label = nb_unpack_string(u);
        labels[i] = nb_string_copy(label);
        u->failed |= labels[i] == NULL || strlen(labels[i]) != label.length;
    }
    return labels;
}

static int read_header(struct nb_unpacker *u, const struct nb_dump_sink *sink,
                       struct nb_error *error)
{
    struct nb_dump_header h = {.label_count = 0};
    struct nb_string settings = nb_unpack_string(u);
    take_key(u, h.key);
    h.label_count = count_of(u);
    char **labels = read_labels(u, h.label_count);
    h.labels = (const char *const *)labels;
    h.has_texts = nb_unpack_u8(u) != 0;
    h.stack = nb_unpack_string(u);
    int rc = labels == NULL ? nb_error_no_memory(error) : finish(u, error);
    if (rc == 0) {
        rc = nb_settings_read(&h.settings, settings, error);
        rc = rc == NB_CORRUPT ? malformed(error) : rc;
        if (rc == 0) {
            rc = sink->header(sink->user, &h);
            nb_settings_deinit(&h.settings);
        }
    }
    nb_strings_free(labels, h.label_count);
    return rc;
}

static int read_words(struct nb_unpacker *u, const struct nb_dump_sink *sink,
                      struct nb_error *error)
{
    struct nb_dump_words words = {.first_row = (uint32_t)nb_unpack_bounded(u, UINT32_MAX)};
    words.count = count_of(u);
    bool has_texts = nb_unpack_u8(u) != 0;
    uint64_t *ids = malloc((words.count + 1) * sizeof *ids);
    struct nb_string *texts = malloc((words.count + 1) * sizeof *texts);
    int rc = ids == NULL || texts == NULL ? nb_error_no_memory(error) : 0;
    for (size_t i = 0; rc == 0 && i < words.count; i++)
        ids[i] = nb_unpack_u64(u);
    for (size_t i = 0; rc == 0 && has_texts && i < words.count; i++)
        texts[i] = nb_unpack_string(u);
    words.ids = ids;
    words.texts = has_texts ? texts : NULL;
    if (rc == 0)
        rc = finish(u, error);
    if (rc == 0)
        rc = sink->words(sink->user, &words);
    free(ids);
    free(texts);
    return rc;
}

static int read_document(struct nb_unpacker *u, const struct nb_dump_sink *sink,
                         struct nb_error *error)
{
    struct nb_dump_document d = {.id = nb_unpack_string(u)};
    d.label = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    d.learned = (int64_t)nb_unpack_u64(u);
    d.source = nb_unpack_string(u);
    d.tokens = nb_unpack_varint(u);
    d.size = count_of(u);
    uint32_t *rows = malloc((d.size + 1) * sizeof *rows);
    uint32_t *counts = malloc((d.size + 1) * sizeof *counts);
    int rc = rows == NULL || counts == NULL ? nb_error_no_memory(error) : 0;
    for (size_t i = 0; rc == 0 && i < d.size; i++) {
        rows[i] = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
        counts[i] = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    }
    d.rows = rows;
    d.counts = counts;
    d.score = nb_unpack_string(u);
    d.is_reviewed = nb_unpack_u8(u) != 0;
    if (rc == 0)
        rc = finish(u, error);
    if (rc == 0)
        rc = sink->document(sink->user, &d);
    free(rows);
    free(counts);
    return rc;
}

static int read_end(struct nb_unpacker *u, const struct nb_dump_sink *sink, struct nb_error *error)
{
    struct nb_dump_totals totals = {.documents = nb_unpack_varint(u)};
    totals.features = nb_unpack_varint(u);
    totals.occurrences = nb_unpack_varint(u);
    int rc = finish(u, error);
    return rc != 0 ? rc : sink->end(sink->user, &totals);
}

static int read_record(struct nb_string record, const struct nb_dump_sink *sink,
                       struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(record.bytes, record.length);
    switch (nb_unpack_u8(&u)) {
    case NB_DUMP_HEADER:
        return read_header(&u, sink, error);
    case NB_DUMP_WORDS:
        return read_words(&u, sink, error);
    case NB_DUMP_DOCUMENT:
        return read_document(&u, sink, error);
    case NB_DUMP_END:
        return read_end(&u, sink, error);
    default:
        return malformed(error);
    }
}

int nb_dump_read(struct nb_dump_reading *reading, struct nb_string bytes,
                 const struct nb_dump_sink *sink, struct nb_error *error)
{
    struct nb_buffer *rest = &reading->rest;
    int rc = 0;
    if (nb_buffer_append(rest, bytes.bytes, bytes.length) != 0)
        return nb_error_no_memory(error);
    struct nb_unpacker u = nb_unpacker_of(rest->bytes, rest->length);
    const unsigned char *done = u.at;
    while (rc == 0 && u.at < u.end) {
        struct nb_string record = nb_unpack_string(&u);
        if (u.failed) /* the rest of the record is still to come */
            break;
        rc = read_record(record, sink, error);
        done = u.at;
    }
    size_t left = (size_t)(u.end - done);
    if (left > 0 && left < rest->length)
        memmove(rest->bytes, done, left);
    rest->length = left;
    return rc;
}

void nb_dump_reading_deinit(struct nb_dump_reading *reading)
{
    nb_buffer_deinit(&reading->rest);
}
