/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/features_coding.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/platform/byte_order.h"

enum { BYTES = 256, BITS_MOST = 12 };

/* Kinds of bytes. */
enum { AFTER_END, AFTER_MARK, AFTER_VOWEL, AFTER_CONSONANT, AFTER_OTHER, KINDS };

/* The lengths of the codes of all bytes, in hexadecimal, after a byte of each kind, from Huffman's
 * algorithm on the texts of SpamAssassin's corpus, limited to BITS_MOST. */
static const char lengths[KINDS][BYTES + 1] = {
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    "3c3c56ccccccccccccccccccccccccccc6c5ac59422ccccccccccccccccccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
    "cccccccccccccccccccccccccccccccc1a9bbabaa8aa776867788888888bba9a"
    "accccccccccccccccccccccccccbc9c9c5767577759866657a666787879ccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    "cc99ccccccccccccccccccccccccccccccbaa9aabbcaaccccccccccccccccccc",
    "44cccccccccccccccccccccccccccccc5bccccc9cbcca87bbbabbbbcc97cc9cb"
    "abcccccccccccccccccccccccccccccac665566696a7443669344667778ccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
    "34cccccccccccccccccccccccccccccc4bbcccc9cbcc976aa99aabbbb96ccacb"
    "9bcbcacccbccbcbbccbbbcccccccccc9c4866386549756746a555587969ccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
    "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",
    "44cccccccccccccccccccccccccccccc5b9aabba9aab885755566667669cba8a"
    "89babbbbbbccbaccbcbabccccccbcbc8c56466566578656559555776879cbccc"
    "abbcbccccccbccccccccccccccccbccccbbcbbcbcbccccccbcccccccbcbbbbcb"
    "ccc9ccccccccccccccccccccccccccccccbccabccccccccccccccccccccccccc",
};

struct code {
    uint16_t bits; /* the first bit is the lowest */
    uint16_t length;
};

/* The byte whose code is at the beginning of the next bits. */
struct reading {
    uint8_t byte;
    uint8_t length : 4, kind : 4; /* length of its code, and kind of the byte */
};

struct nb_text_code {
    uint8_t kinds[BYTES];
    struct code codes[KINDS][BYTES];
    struct reading readings[KINDS][1 << BITS_MOST];
};

/* ---- tables ---------------------------------------------------------------------------------- */

static uint8_t kind_of(unsigned byte)
{
    if (byte <= 1)
        return byte == 0 ? AFTER_END : AFTER_MARK;
    if (strchr("aeiouy", (int)byte) != NULL)
        return AFTER_VOWEL;
    bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    return is_letter ? AFTER_CONSONANT : AFTER_OTHER;
}

static unsigned length_of(unsigned kind, unsigned byte)
{
    char digit = lengths[kind][byte];
    return (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

static uint16_t reversed(unsigned bits, unsigned length)
{
    unsigned back = 0;
    for (unsigned i = 0; i < length; i++)
        back |= (bits >> i & 1) << (length - 1 - i);
    return (uint16_t)back;
}

static void set_code(struct nb_text_code *c, unsigned kind, unsigned byte, unsigned bits,
                     unsigned length)
{
    uint16_t back = reversed(bits, length);
    struct reading reading = {
        .byte = (uint8_t)byte, .length = length & 0xFu, .kind = c->kinds[byte] & 0xFu};
    c->codes[kind][byte] = (struct code){back, (uint16_t)length};
    for (unsigned next = back; next < 1 << BITS_MOST; next += 1u << length)
        c->readings[kind][next] = reading;
}

static void set_kind(struct nb_text_code *c, unsigned kind)
{
    unsigned bits = 0;
    for (unsigned length = 1; length <= BITS_MOST; length++, bits <<= 1)
        for (unsigned byte = 0; byte < BYTES; byte++)
            if (length_of(kind, byte) == length)
                set_code(c, kind, byte, bits++, length);
    assert(bits == 2 << BITS_MOST); /* any bits begin with a code */
}

struct nb_text_code *nb_text_code_new(void)
{
    struct nb_text_code *c = malloc(sizeof *c);
    for (unsigned byte = 0; c != NULL && byte < BYTES; byte++)
        c->kinds[byte] = kind_of(byte);
    for (unsigned kind = 0; c != NULL && kind < KINDS; kind++)
        set_kind(c, kind);
    return c;
}

void nb_text_code_free(struct nb_text_code **code)
{
    free(*code);
    *code = NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Bits that are not written yet: fewer than eight between two calls of put_bits. */
struct bits {
    uint64_t bits;
    unsigned count;
};

static inline char *put_bits(char *at, struct bits *b)
{
    uint64_t little = htole64(b->bits);
    memcpy(at, &little, sizeof little);
    at += b->count / 8;
    b->bits >>= b->count & ~7u;
    b->count &= 7;
    return at;
}

/* Adds the code of the byte. Finds the table by the previous byte, not by the result of its lookup,
 * so that the lookups do not wait for each other. */
static inline void add_byte(const struct nb_text_code *c, char before, char byte, struct bits *b)
{
    struct code code = c->codes[c->kinds[(unsigned char)before]][(unsigned char)byte];
    b->bits |= (uint64_t)code.bits << b->count;
    b->count += code.length;
}

int nb_text_code_write(const struct nb_text_code *c, struct nb_string bytes, struct nb_buffer *out)
{
    enum { AT_ONCE = 4 };
    _Static_assert(7 + AT_ONCE * BITS_MOST < 56 + 8, "so many codes fit");
    const char *from = bytes.bytes;
    struct bits b = {0, 0};
    size_t i = 0;
    if (nb_buffer_reserve(out, bytes.length * BITS_MOST / 8 + 2 * sizeof b.bits) != 0)
        return NB_NO_MEMORY;
    char *at = out->bytes + out->length;
    char before = '\0';
    for (; i + AT_ONCE <= bytes.length; i += AT_ONCE) {
        add_byte(c, before, from[i], &b);
        for (size_t k = 1; k < AT_ONCE; k++)
            add_byte(c, from[i + k - 1], from[i + k], &b);
        before = from[i + AT_ONCE - 1];
        at = put_bits(at, &b);
    }
    for (; i < bytes.length; before = from[i++])
        add_byte(c, before, from[i], &b);
    at = put_bits(at, &b);
    out->length = (size_t)(at - out->bytes) + (b.count > 0);
    return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns the bits from the place `bit` on, at least 57; zeros after the end. */
static inline uint64_t bits_at(struct nb_string s, size_t bit)
{
    uint64_t little = 0;
    size_t byte = bit / 8 < s.length ? bit / 8 : s.length;
    size_t rest = s.length - byte;
    if (rest >= sizeof little)
        memcpy(&little, s.bytes + byte, sizeof little);
    else if (rest > 0)
        memcpy(&little, s.bytes + byte, rest);
    return le64toh(little) >> bit % 8;
}

bool nb_text_code_read(const struct nb_text_code *c, struct nb_string stored, char *to,
                       size_t length)
{
    enum { AT_ONCE = 4 };
    _Static_assert(AT_ONCE * BITS_MOST <= 57, "so many codes are there");
    unsigned kind = AFTER_END;
    size_t bit = 0;
    for (size_t i = 0; i < length && bit <= stored.length * 8;) {
        uint64_t bits = bits_at(stored, bit);
        for (size_t stop = length - i < AT_ONCE ? length : i + AT_ONCE; i < stop; i++) {
            struct reading r = c->readings[kind][bits & ((1 << BITS_MOST) - 1)];
            to[i] = (char)r.byte;
            kind = r.kind;
            bits >>= r.length;
            bit += r.length;
        }
    }
    return (bit + 7) / 8 == stored.length && bits_at(stored, bit) == 0;
}

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

struct nb_string nb_features_tail(unsigned field, struct nb_string text)
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
        count += (size_t)((~above >> 7 & ones) * ones >> 56);
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
