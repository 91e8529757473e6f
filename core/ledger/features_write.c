/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "core/base/pack.h"
#include "core/ledger/features_coding.h"

enum {
    LEVEL = 1,  /* level 3 takes a fifth longer and saves 4 % */
    LEAST = 64, /* fewer bytes are not compressed */
};

/* ---- common parts of texts ------------------------------------------------------------------- */

/* Length of the field's name and a colon at the beginning of the text; 0 if it begins otherwise. */
static size_t name_length(struct nb_string name, struct nb_string text)
{
    bool begins = text.length > name.length && text.bytes[name.length] == ':' &&
                  memcmp(text.bytes, name.bytes, name.length) == 0;
    return begins ? name.length + 1 : 0;
}

static bool goes_on(struct nb_string text, struct nb_string tail)
{
    return tail.length > 0 && text.length >= tail.length &&
           memcmp(text.bytes, tail.bytes, tail.length) == 0;
}

/* ---- features -------------------------------------------------------------------------------- */

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

/* Writes a value of an attribute, with its whole text. */
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

/* Writes a whole text, with its length. */
static int put_long(struct nb_buffer *raw, unsigned head, struct nb_string text)
{
    struct nb_packer w = {.out = raw};
    nb_pack_u8(&w, (uint8_t)head);
    nb_pack_string(&w, text);
    return w.code;
}

/* Appends the head, the text and a mark. If the text `goes_on` from the previous one, leaves out
 * the head and changes the mark of the previous text. */
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

/* Counts bytes up to MARK_GOES_ON, eight at a time. */
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

/* Texts with marks, one after the other in `raw`. */
struct marked {
    size_t start, count;
    unsigned before;       /* head of the previous text; NB_FIELDS: none */
    struct nb_string tail; /* tail of the previous text */
};

/* Whether all bytes that look like marks are marks: a text that contains such a byte would be read
 * as two. */
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
    m->tail = nb_features_tail(field, text);
    m->count++;
    return put_marked(&c->raw, shares, head, rest);
}

/* Appends all texts with marks. Returns 0, NB_NO_MEMORY, or NB_INVALID if a text contains a mark
 * byte. */
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

/* Appends all texts whole, which is rarely needed: hardly any text contains a mark byte. */
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

/* Appends the texts in the code for short texts; sets *worth to whether that makes them a quarter
 * shorter. Texts in other scripts than Latin get longer. */
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

/* Appends the texts compressed by zstd; sets *worth to whether that makes them shorter. */
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
