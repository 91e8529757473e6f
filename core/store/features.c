/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/features.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/feature.h"
#include "core/base/feature_hash.h"
#include "core/base/pack.h"
#include "core/letters/text_code.h"

enum { CODED_IDS = 0, CODED_TEXTS = 1, CODED_COMPRESSED = 2, CODED_SHORT = 3 };

enum {
    LEVEL = 1,             /* level 3 takes a fifth longer and saves 4 % */
    LEAST = 64,            /* fewer bytes are not compressed */
    SHORT_MOST = 32 << 10, /* more bytes repeat each other so much that zstd is worth its time */
    RAW_MOST =
        256 << 20 /* of one entry's texts, which the limits of the tokenizer keep far below */
};

/* Added to the field of a feature: what its text is stored without, and whether a mark ends it. */
enum { WITHOUT_NAME = 32, MARKED = 128, FIELD = WITHOUT_NAME - 1 };
_Static_assert((int)NB_FIELD_VALUE < (int)WITHOUT_NAME && (int)NB_FIELDS <= (int)NB_FIELD_VALUE,
               "a field leaves room for what is added to it");

/* What is behind a text: another feature; or what follows the text's tail in the next text, which
 * is of the same field. */
enum { MARK_END = 0, MARK_GOES_ON = 1 };

/* In front of the text of a value of an attribute: its part, the low byte first. */
enum { PART_BYTES = 2, IS_NUMBER = 0x8000 };
_Static_assert((int)NB_PARTS_MOST <= (int)IS_NUMBER, "a part has a bit to spare");

/* A longer tail is never left out: a damaged store cannot make texts grow without a bound. */
enum { TAIL_MOST = 255 };

struct nb_features_coder {
    struct nb_text_code *code;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    struct nb_string names[NB_FIELDS]; /* of the fields; the same for all coders */
    struct nb_buffer raw;              /* as stored, not compressed */
    struct nb_buffer whole;            /* texts that were read, one after the other */
    uint64_t *ids;
    struct nb_string *texts;
    size_t room; /* of `ids` and `texts` */
};

struct nb_features_coder *nb_features_coder_new(void)
{
    struct nb_features_coder *c = calloc(1, sizeof *c);
    for (unsigned field = 0; c != NULL && field < NB_FIELDS; field++)
        c->names[field] = nb_string_of(nb_field_name((enum nb_field)field));
    return c;
}

void nb_features_coder_free(struct nb_features_coder **coder)
{
    struct nb_features_coder *c = *coder;
    *coder = NULL;
    if (c == NULL)
        return;
    nb_text_code_free(&c->code);
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
    nb_buffer_deinit(&c->raw);
    nb_buffer_deinit(&c->whole);
    free(c->ids);
    free(c->texts);
    free(c);
}

/* ---- what texts share ------------------------------------------------------------------------ */

/* The bytes of the field's name and a colon at the beginning of its text; 0 if it begins otherwise.
 */
static size_t name_length(struct nb_string name, struct nb_string text)
{
    bool begins = text.length > name.length && text.bytes[name.length] == ':' &&
                  memcmp(text.bytes, name.bytes, name.length) == 0;
    return begins ? name.length + 1 : 0;
}

/* How the text after this one may begin. Both are without names. */
static struct nb_string tail_of(unsigned field, struct nb_string text)
{
    size_t from = text.length;
    if (field == NB_FIELD_PAIR) {
        while (from > 0 && text.bytes[from - 1] != ' ')
            from--;
    } else if (field == NB_FIELD_NGRAM && text.length > 0) {
        from = 1;
        while (from < text.length && (text.bytes[from] & 0xC0) == 0x80)
            from++;
    }
    struct nb_string tail = nb_string_from(text, from);
    return tail.length <= TAIL_MOST ? tail : (struct nb_string){"", 0};
}

static bool goes_on(struct nb_string text, struct nb_string tail)
{
    return tail.length > 0 && text.length >= tail.length &&
           memcmp(text.bytes, tail.bytes, tail.length) == 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_ids(const uint64_t *ids, size_t count, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, CODED_IDS);
    for (size_t i = 0; i < count; i++)
        nb_pack_u64(&w, ids[i]);
    return w.code;
}

static unsigned stored_part(uint64_t id)
{
    return nb_feature_part(id) | (nb_feature_is_number(id) ? (unsigned)IS_NUMBER : 0);
}

/* A value of an attribute: nothing of its text is left out. */
static int put_value(struct nb_buffer *raw, unsigned part, struct nb_string text)
{
    if (nb_buffer_reserve(raw, 1 + NB_VARINT_MOST + PART_BYTES + text.length) != 0)
        return NB_NO_MEMORY;
    char *at = raw->bytes + raw->length;
    *at++ = NB_FIELD_VALUE;
    at = nb_put_varint(at, PART_BYTES + text.length);
    *at++ = (char)(part & 0xFF);
    *at++ = (char)(part >> 8);
    if (text.length > 0)
        memcpy(at, text.bytes, text.length);
    raw->length = (size_t)(at - raw->bytes) + text.length;
    return 0;
}

/* A text as it is, with its length. */
static int put_long(struct nb_buffer *raw, unsigned head, struct nb_string text)
{
    struct nb_packer w = {.out = raw};
    nb_pack_u8(&w, (uint8_t)head);
    nb_pack_string(&w, text);
    return w.code;
}

/* Appends the text and a mark; before it the head, unless the text `goes_on` from the one before,
 * whose mark says so then. */
static int put_marked(struct nb_buffer *raw, bool goes_on, unsigned head, struct nb_string text)
{
    if (nb_buffer_reserve(raw, 2 + text.length) != 0)
        return NB_NO_MEMORY;
    char *at = raw->bytes + raw->length;
    if (goes_on)
        at[-1] = MARK_GOES_ON;
    else
        *at++ = (char)(head | MARKED);
    if (text.length > 0)
        memcpy(at, text.bytes, text.length);
    at[text.length] = MARK_END;
    raw->length = (size_t)(at - raw->bytes) + text.length + 1;
    return 0;
}

/* Bytes up to MARK_GOES_ON, eight at a time. */
static size_t count_marks(const char *bytes, size_t length)
{
    const uint64_t ones = UINT64_MAX / 0xFF;
    size_t count = 0;
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t eight;
        memcpy(&eight, bytes + i, sizeof eight);
        uint64_t above = ((eight & ones * 0x7F) + ones * (0x7F - MARK_GOES_ON)) | eight;
        count += (~above >> 7 & ones) * ones >> 56;
    }
    for (; i < length; i++)
        count += (unsigned char)bytes[i] <= MARK_GOES_ON;
    return count;
}

/* Texts with marks, behind each other in `raw`. */
struct marked {
    size_t start, count;
    unsigned before;       /* the head of the text before; NB_FIELDS: there is none */
    struct nb_string tail; /* of that text */
};

/* Whether there are no more marks than those that end texts: a text that has the byte of one would
 * be read as two. */
static bool are_marks_right(const struct nb_buffer *raw, const struct marked *m)
{
    return count_marks(raw->bytes + m->start, raw->length - m->start) == m->count;
}

static int put_next(struct nb_features_coder *c, unsigned field, struct nb_string text,
                    struct marked *m)
{
    size_t name = name_length(c->names[field], text);
    unsigned head = field + (name > 0 ? WITHOUT_NAME : 0);
    text = nb_string_from(text, name);
    bool shares = head == m->before && goes_on(text, m->tail);
    struct nb_string rest = shares ? nb_string_from(text, m->tail.length) : text;
    m->before = head;
    m->tail = tail_of(field, text);
    m->count++;
    return put_marked(&c->raw, shares, head, rest);
}

/* Returns 0, NB_NO_MEMORY, or NB_INVALID if a text has the byte of a mark. */
static int collect_marked(struct nb_features_coder *c, const uint64_t *ids,
                          const struct nb_string *texts, size_t count)
{
    struct marked m = {.before = NB_FIELDS};
    int rc = 0;
    c->raw.length = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        unsigned field = nb_feature_field(ids[i]);
        if (field != NB_FIELD_VALUE) {
            rc = put_next(c, field, texts[i], &m);
            continue;
        }
        if (!are_marks_right(&c->raw, &m))
            return NB_INVALID;
        rc = put_value(&c->raw, stored_part(ids[i]), texts[i]);
        m = (struct marked){.start = c->raw.length, .before = NB_FIELDS};
    }
    return rc != 0 || are_marks_right(&c->raw, &m) ? rc : NB_INVALID;
}

/* Each text as it is: hardly any has the byte of a mark. */
static int collect_long(struct nb_features_coder *c, const uint64_t *ids,
                        const struct nb_string *texts, size_t count)
{
    int rc = 0;
    c->raw.length = 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        unsigned field = nb_feature_field(ids[i]);
        rc = field == NB_FIELD_VALUE ? put_value(&c->raw, stored_part(ids[i]), texts[i])
                                     : put_long(&c->raw, field, texts[i]);
    }
    return rc;
}

static int collect_texts(struct nb_features_coder *c, const uint64_t *ids,
                         const struct nb_string *texts, size_t count)
{
    int rc = collect_marked(c, ids, texts, count);
    return rc == NB_INVALID ? collect_long(c, ids, texts, count) : rc;
}

/* Appends the texts in the code of short ones; *worth says whether that makes them a quarter
 * shorter. Texts in other scripts than the Latin one it makes longer. */
static int shorten(struct nb_features_coder *c, struct nb_buffer *out, bool *worth)
{
    struct nb_packer w = {.out = out};
    size_t start = out->length;
    if (c->code == NULL)
        c->code = nb_text_code_new();
    if (c->code == NULL)
        return NB_NO_MEMORY;
    nb_pack_u8(&w, CODED_SHORT);
    nb_pack_varint(&w, c->raw.length);
    if (w.code != 0 || nb_text_code_write(c->code, nb_buffer_string(&c->raw), out) != 0)
        return NB_NO_MEMORY;
    *worth = out->length - start <= c->raw.length / 4 * 3;
    return 0;
}

/* Appends the texts as zstd compresses them; *worth says whether they are shorter then. */
static int compress(struct nb_features_coder *c, struct nb_buffer *out, bool *worth)
{
    struct nb_packer w = {.out = out};
    size_t start = out->length;
    size_t bound = ZSTD_compressBound(c->raw.length);
    if (c->compressor == NULL)
        c->compressor = ZSTD_createCCtx();
    nb_pack_u8(&w, CODED_COMPRESSED);
    nb_pack_varint(&w, c->raw.length);
    if (c->compressor == NULL || w.code != 0 || nb_buffer_reserve(out, bound) != 0)
        return NB_NO_MEMORY;
    size_t size = ZSTD_compressCCtx(c->compressor, out->bytes + out->length, bound, c->raw.bytes,
                                    c->raw.length, LEVEL);
    if (ZSTD_isError(size))
        return NB_NO_MEMORY;
    out->length += size;
    *worth = out->length - start <= c->raw.length;
    return 0;
}

int nb_features_encode(struct nb_features_coder *coder, const uint64_t *ids,
                       const struct nb_string *texts, size_t count, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    size_t start = out->length;
    bool worth = false;
    assert(count > 0);
    if (texts == NULL)
        return write_ids(ids, count, out);
    int rc = collect_texts(coder, ids, texts, count);
    if (rc == 0 && coder->raw.length <= SHORT_MOST)
        rc = shorten(coder, out, &worth);
    if (rc == 0 && !worth && coder->raw.length >= LEAST) {
        out->length = start;
        rc = compress(coder, out, &worth);
    }
    if (rc != 0 || worth)
        return rc;
    out->length = start;
    nb_pack_u8(&w, CODED_TEXTS);
    nb_pack_bytes(&w, coder->raw.bytes, coder->raw.length);
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

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

/* The texts as they are: `r` reads them from where they lie afterwards. */
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

/* The texts as they are, from the code of short ones; likewise. */
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

/* A text as it is stored: its name (with a colon) and its tail are left out where they are not
 * empty. */
struct part {
    unsigned head, field;
    unsigned part; /* of a value of an attribute; as it is stored */
    struct nb_string name;
    size_t tail_length; /* of the text before, at the end of c->whole */
    struct nb_string rest;
    bool goes_on; /* the next text begins with this one's tail */
};

/* part->rest begins with its part. */
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

/* `before`: the text before, with the length of its tail. */
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

/* Appends the text to c->whole, and sets *length; part->tail_length becomes that of its own tail.
 * Returns 0 or NB_NO_MEMORY. */
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
    part->tail_length = tail_of(part->field, without_name).length;
    *length = (size_t)(at - start);
    c->whole.length += *length;
    return 0;
}

/* c->whole has all texts, and has moved while they came: where each of them is follows from their
 * lengths. */
static void point_to_texts(struct nb_features_coder *c, size_t count)
{
    const char *at = c->whole.bytes;
    for (size_t i = 0; i < count; i++) {
        c->texts[i].bytes = at;
        at += c->texts[i].length;
    }
}

/* False: the text of a number is none. */
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
    /* Every feature takes a byte at least, so that a damaged count asks for no memory. */
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
