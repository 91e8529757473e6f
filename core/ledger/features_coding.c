/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/features_coding.h"

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

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
