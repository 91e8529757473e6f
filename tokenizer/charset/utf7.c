/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/charset/utf7.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/ascii.h"
#include "core/base/error.h"
#include "core/base/utf8.h"

enum { REPLACEMENT = 0xFFFD, NO_CHARACTER = 0, BLOCK = 512 };

struct utf7 {
    struct nb_buffer *out;
    size_t most; /* the limit of out->length */
    unsigned char block[BLOCK];
    size_t used;    /* bytes of the block in use */
    uint32_t bits;  /* bits of base64 that do not yet make a whole unit */
    unsigned count; /* how many bits */
    uint32_t high;  /* the first half of a surrogate pair, or NO_CHARACTER */
};

static int flush(struct utf7 *u)
{
    size_t length = u->used;
    u->used = 0;
    if (length > u->most - u->out->length)
        return NB_TOO_LARGE;
    return nb_buffer_append(u->out, u->block, length);
}

static int put(struct utf7 *u, uint32_t character)
{
    u->used += nb_utf8_encode(character, u->block + u->used);
    assert(u->used <= BLOCK);
    return u->used > BLOCK - 4 ? flush(u) : 0;
}

/* Writes U+FFFD for the first half of a pair whose second half is missing. */
static int put_lone_surrogate(struct utf7 *u)
{
    bool is_alone = u->high != NO_CHARACTER;
    u->high = NO_CHARACTER;
    return is_alone ? put(u, REPLACEMENT) : 0;
}

/* Takes a UTF-16 unit. */
static int take_unit(struct utf7 *u, uint32_t unit)
{
    if (unit >= 0xDC00 && unit <= 0xDFFF && u->high != NO_CHARACTER) {
        uint32_t high = u->high;
        u->high = NO_CHARACTER;
        return put(u, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
    }
    int rc = put_lone_surrogate(u);
    if (rc != 0)
        return rc;
    if (unit >= 0xD800 && unit <= 0xDBFF) {
        u->high = unit;
        return 0;
    }
    return put(u, unit >= 0xDC00 && unit <= 0xDFFF ? REPLACEMENT : unit);
}

/* The value of a character of base64; -1 if it is none. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (nb_ascii_is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Takes a run of base64 after a '+', and the '-' that ends it. Returns the number of bytes
 * taken. */
static size_t take_base64(struct utf7 *u, const char *bytes, size_t length, int *rc)
{
    size_t i = 0;
    u->bits = u->count = 0;
    for (int value; *rc == 0 && i < length && (value = base64_value(bytes[i])) >= 0; i++) {
        u->bits = u->bits << 6 | (uint32_t)value;
        u->count += 6;
        if (u->count < 16)
            continue;
        u->count -= 16;
        *rc = take_unit(u, u->bits >> u->count & 0xFFFF);
    }
    /* Bits left over are padding (RFC 2152, rule 2). */
    if (*rc == 0)
        *rc = put_lone_surrogate(u);
    return i + (i < length && bytes[i] == '-');
}

int nb_utf7_to_utf8(const char *bytes, size_t length, size_t most, struct nb_buffer *out)
{
    struct utf7 u = {.out = out, .most = most};
    int rc = 0;
    assert(out->length <= most);
    for (size_t i = 0; rc == 0 && i < length;) {
        unsigned char c = (unsigned char)bytes[i++];
        if (c != '+') {
            rc = put(&u, c < 0x80 ? c : REPLACEMENT);
            continue;
        }
        size_t taken = take_base64(&u, bytes + i, length - i, &rc);
        bool is_plus = taken == 0 || (taken == 1 && bytes[i] == '-');
        if (rc == 0 && is_plus)
            rc = put(&u, '+');
        i += taken;
    }
    return rc == 0 ? flush(&u) : rc;
}
