/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/base/pack.h"
#include "core/ledger/features_coding.h"

static int corrupt(struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: the new features of an entry do not read back");
}

static int make_room(struct nb_features_coder *c, size_t count)
{
    if (count <= c->room)
        return 0;
    free(c->ids);
    free(c->texts);
    c->ids = malloc(count * sizeof *c->ids);
    c->texts = malloc(count * sizeof *c->texts);
    c->room = c->ids == NULL || c->texts == NULL ? 0 : count;
    return c->room == 0 ? NB_NO_MEMORY : 0;
}

/* Decompresses the texts, and lets `r` read from the result. */
static int decompress(struct nb_features_coder *c, struct nb_unpacker *r, struct nb_error *error)
{
    size_t length = (size_t)nb_unpack_bounded(r, RAW_MOST);
    c->raw.length = 0;
    if (c->decompressor == NULL)
        c->decompressor = ZSTD_createDCtx();
    if (c->decompressor == NULL || nb_buffer_reserve(&c->raw, length + 1) != 0)
        return nb_error_no_memory(error);
    size_t size =
        ZSTD_decompressDCtx(c->decompressor, c->raw.bytes, length, r->at, (size_t)(r->end - r->at));
    if (ZSTD_isError(size) || size != length)
        return corrupt(error);
    *r = nb_unpacker_of(c->raw.bytes, length);
    return 0;
}

/* Decodes short texts, and lets `r` read from the result. */
static int lengthen(struct nb_features_coder *c, struct nb_unpacker *r, struct nb_error *error)
{
    struct nb_string stored;
    size_t length = (size_t)nb_unpack_bounded(r, SHORT_MOST);
    c->raw.length = 0;
    if (c->code == NULL)
        c->code = nb_text_code_new();
    if (c->code == NULL || nb_buffer_reserve(&c->raw, length + 1) != 0)
        return nb_error_no_memory(error);
    stored = (struct nb_string){(const char *)r->at, (size_t)(r->end - r->at)};
    if (!nb_text_code_read(c->code, stored, c->raw.bytes, length))
        return corrupt(error);
    *r = nb_unpacker_of(c->raw.bytes, length);
    return 0;
}

static bool read_ids(struct nb_features_coder *c, struct nb_unpacker *r, size_t count)
{
    for (size_t i = 0; i < count; i++)
        c->ids[i] = nb_unpack_u64(r);
    return nb_unpacker_done(r);
}

/* The stored form of a text: without `name` (and a colon), and without the tail of the previous
 * text, unless these are empty. */
struct part {
    unsigned head, field;
    unsigned part; /* stored part number, if the text is a value of an attribute */
    struct nb_string name;
    size_t tail_length; /* length of the previous text's tail, at the end of c->whole */
    struct nb_string rest;
    bool goes_on; /* the next text begins with this one's tail */
};

/* Reads the number of a value's part, with which part->rest begins. */
static bool unpack_value(const struct nb_unpacker *r, struct part *part)
{
    if (r->failed || part->rest.length < PART_BYTES)
        return false;
    const unsigned char *at = (const unsigned char *)part->rest.bytes;
    part->part = at[0] | (unsigned)at[1] << 8;
    part->rest = nb_string_from(part->rest, PART_BYTES);
    return (part->part & ~(unsigned)IS_NUMBER) < NB_PARTS_MOST;
}

static struct nb_string unpack_marked(struct nb_unpacker *r, bool *goes_on)
{
    const unsigned char *start = r->at;
    const unsigned char *at = start;
    while (at != r->end && *at > MARK_GOES_ON)
        at++;
    if (r->failed || at == r->end) {
        r->failed = true;
        return (struct nb_string){"", 0};
    }
    *goes_on = *at == MARK_GOES_ON;
    r->at = at + 1;
    return (struct nb_string){(const char *)start, (size_t)(at - start)};
}

/* Reads the stored form of a text. `before`: the previous text, with the length of its tail. */
static bool unpack_part(const struct nb_features_coder *c, struct nb_unpacker *r,
                        const struct part *before, struct part *part)
{
    unsigned head = before->goes_on ? before->head : nb_unpack_u8(r);
    *part = (struct part){.head = head, .field = head & FIELD, .name = {"", 0}};
    part->rest = (head & MARKED) != 0 ? unpack_marked(r, &part->goes_on) : nb_unpack_string(r);
    if (head == NB_FIELD_VALUE)
        return unpack_value(r, part);
    if (part->field >= NB_FIELDS || (head & ~(unsigned)(FIELD | WITHOUT_NAME | MARKED)) != 0)
        return false;
    if ((head & WITHOUT_NAME) != 0)
        part->name = c->names[part->field];
    if (before->goes_on)
        part->tail_length = before->tail_length;
    return !r->failed && (!before->goes_on || before->tail_length > 0);
}

static char *put(char *at, const char *bytes, size_t length)
{
    return length == 0 ? at : mempcpy(at, bytes, length);
}

/* Appends the text to c->whole, and sets *length. Sets part->tail_length to the length of the
 * text's own tail. Returns 0 or NB_NO_MEMORY. */
static int put_whole(struct nb_features_coder *c, struct part *part, size_t *length)
{
    size_t most = part->name.length + 1 + part->tail_length + part->rest.length;
    if (nb_buffer_reserve(&c->whole, most) != 0)
        return NB_NO_MEMORY;
    char *start = c->whole.bytes + c->whole.length;
    char *at = put(start, part->name.bytes, part->name.length);
    if (part->name.length > 0)
        *at++ = ':';
    const char *text = at;
    at = put(at, start - part->tail_length, part->tail_length);
    at = put(at, part->rest.bytes, part->rest.length);
    struct nb_string without_name = {text, (size_t)(at - text)};
    part->tail_length = nb_features_tail(part->field, without_name).length;
    *length = (size_t)(at - start);
    c->whole.length += *length;
    return 0;
}

/* Points c->texts into c->whole, by their lengths, once all texts are there: c->whole moves while
 * it grows. */
static void point_to_texts(struct nb_features_coder *c, size_t count)
{
    const char *at = c->whole.bytes;
    for (size_t i = 0; i < count; i++) {
        c->texts[i].bytes = at;
        at += c->texts[i].length;
    }
}

/* Sets the id of a feature. Returns false if the text of a number is not a number. */
static bool set_id(const struct part *part, struct nb_string text, const struct nb_key *key,
                   uint64_t *id)
{
    uint64_t bits;
    if (part->field == NB_FIELD_VALUE && (part->part & IS_NUMBER) != 0) {
        if (!nb_decimal_of_feature(text, &bits))
            return false;
        *id = nb_feature_number_id(part->part & ~(unsigned)IS_NUMBER, bits);
        return true;
    }
    bits = nb_feature_hash(key, text.bytes, text.length);
    *id = part->field == NB_FIELD_VALUE ? nb_feature_value_id(part->part, bits)
                                        : nb_feature_id((enum nb_field)part->field, bits);
    return true;
}

static int read_texts(struct nb_features_coder *c, struct nb_unpacker *r, size_t count,
                      const struct nb_key *key)
{
    struct part before = {.field = NB_FIELDS};
    c->whole.length = 0;
    for (size_t i = 0; i < count; i++) {
        struct part part;
        size_t length;
        if (!unpack_part(c, r, &before, &part))
            return NB_CORRUPT;
        if (put_whole(c, &part, &length) != 0)
            return NB_NO_MEMORY;
        const char *text = c->whole.bytes + c->whole.length - length;
        if (!set_id(&part, (struct nb_string){text, length}, key, &c->ids[i]))
            return NB_CORRUPT;
        c->texts[i].length = length;
        before = part;
    }
    point_to_texts(c, count);
    return nb_unpacker_done(r) && !before.goes_on ? 0 : NB_CORRUPT;
}

int nb_features_decode(struct nb_features_coder *coder, struct nb_string stored, size_t count,
                       const struct nb_key *key, const uint64_t **ids,
                       const struct nb_string **texts, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned coding = nb_unpack_u8(&r);
    /* Every feature takes at least a byte, so that a damaged count cannot request much memory. */
    int rc = coding > CODED_SHORT ? corrupt(error) : 0;
    if (rc == 0 && coding == CODED_COMPRESSED)
        rc = decompress(coder, &r, error);
    if (rc == 0 && coding == CODED_SHORT)
        rc = lengthen(coder, &r, error);
    if (rc == 0 && count > (size_t)(r.end - r.at))
        rc = corrupt(error);
    if (rc == 0 && make_room(coder, count) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    *ids = coder->ids;
    *texts = coding == CODED_IDS ? NULL : coder->texts;
    if (coding == CODED_IDS)
        return read_ids(coder, &r, count) ? 0 : corrupt(error);
    rc = read_texts(coder, &r, count, key);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : corrupt(error);
}
