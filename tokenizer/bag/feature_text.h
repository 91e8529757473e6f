/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of one feature, put together from pieces of a mail. Any thread; the functions work on
 * their arguments only.
 *
 * Capitals become small letters, white space is left out, and bytes that are not printable ASCII
 * become '?': names, hosts and addresses may hold any bytes, but the text of a feature is UTF-8.
 */
#ifndef NB_TOKENIZER_BAG_FEATURE_TEXT_H
#define NB_TOKENIZER_BAG_FEATURE_TEXT_H

#include <endian.h>
#include <string.h>

#include "core/base/ascii.h"
#include "tokenizer/bag/bag_private.h"
#include "tokenizer/bag/tokenizing.h"

enum { NB_FEATURE_TEXT = 320 }; /* bytes; longer ones are cut */
_Static_assert((int)NB_FEATURE_TEXT <= (int)NB_BAG_ROOM, "a text fits into the room of a bag");

struct nb_feature_text {
    char bytes[NB_FEATURE_TEXT + NB_BAG_BLOCK]; /* a copy of blocks may read behind the text */
    size_t length;
};

/* Maps each byte to the byte that stands for it; 0 for white space, which is left out. A table,
 * because the bytes of names and addresses are unpredictable and would mispredict branches. */
extern const char nb_feature_bytes[256];

/* Eight bytes in lower case, if all of them are visible ASCII; else 0. */
static inline uint64_t nb_feature_eight(uint64_t bytes)
{
    const uint64_t each = UINT64_C(0x0101010101010101), high = each << 7;
    bool is_ascii = ((bytes | (bytes + each)) & high) == 0; /* nor DEL: no carry from here on */
    bool is_visible = ((bytes + each * (0x80 - '!')) & high) == high;
    uint64_t capitals = (bytes + each * (0x80 - 'A')) & ~(bytes + each * (0x7F - 'Z')) & high;
    return is_ascii && is_visible ? bytes | capitals >> 2 : 0;
}

/* Loads the last 1 to 7 bytes of a text as eight, padded with '!'. Only one branch depends on their
 * number. */
static inline uint64_t nb_feature_tail(const char *bytes, size_t count)
{
    const unsigned char *b = (const unsigned char *)bytes;
    uint64_t eight =
        b[0] | (uint64_t)b[count / 2] << count / 2 * 8 | (uint64_t)b[count - 1] << (count - 1) * 8;
    if (count >= 4) {
        uint32_t first, last; /* overlapping */
        memcpy(&first, bytes, sizeof first);
        memcpy(&last, bytes + count - sizeof last, sizeof last);
        eight = le32toh(first) | (uint64_t)le32toh(last) << (count - sizeof last) * 8;
    }
    return htole64(eight | UINT64_C(0x2121212121212121) << count * 8);
}

/* Writes eight bytes without a call (see NB_BAG_BLOCK). */
static inline void nb_feature_store(char *to, uint64_t eight)
{
    __builtin_memcpy(to, &eight, sizeof eight);
}

/* Append bytes, a C string, a text. What does not fit is left out. */
static inline void nb_feature_put(struct nb_feature_text *f, const char *bytes, size_t length)
{
    size_t end = f->length; /* a copy, which no store to a byte can change */
    size_t i = 0;
    for (uint64_t eight; length - i >= 8 && end + 8 <= NB_FEATURE_TEXT; i += 8, end += 8) {
        memcpy(&eight, bytes + i, 8);
        eight = nb_feature_eight(eight);
        if (eight == 0)
            break;
        nb_feature_store(f->bytes + end, eight);
    }
    if (length - i - 1 < 7 && end + 8 <= NB_FEATURE_TEXT) {
        uint64_t eight = nb_feature_eight(nb_feature_tail(bytes + i, length - i));
        if (eight != 0) {
            nb_feature_store(f->bytes + end, eight);
            f->length = end + length - i;
            return;
        }
    }
    for (; i < length && end < NB_FEATURE_TEXT; i++) {
        char c = nb_feature_bytes[(unsigned char)bytes[i]];
        f->bytes[end] = c;
        end += c != '\0';
    }
    f->length = end;
}

static inline void nb_feature_puts(struct nb_feature_text *f, const char *text)
{
    nb_feature_put(f, text, strlen(text));
}

/* Sets the text to a literal of lower-case letters and marks. The bytes behind it are not cleared,
 * because a mail has hundreds of these texts. */
static inline void nb_feature_begin(struct nb_feature_text *f, const char *text)
{
    f->length = strlen(text);
    memcpy(f->bytes, text, f->length);
}

/* Like nb_feature_begin, for a text of at most NB_FEATURE_TEXT bytes that was copied from a feature
 * text. */
static inline void nb_feature_begin_string(struct nb_feature_text *f, struct nb_string text)
{
    f->length = text.length;
    memcpy(f->bytes, text.bytes, text.length);
}

static inline void nb_feature_put_string(struct nb_feature_text *f, struct nb_string s)
{
    nb_feature_put(f, s.bytes, s.length);
}

/* Counts the feature with this text, as nb_tokenize_feature does. */
int nb_feature_count(struct nb_tokenizing *t, enum nb_field field, const struct nb_feature_text *f);

/* Like nb_feature_count, for the text without the bytes between `head` and `from`. */
int nb_feature_count_ends(struct nb_tokenizing *t, enum nb_field field,
                          const struct nb_feature_text *f, size_t head, size_t from);

/* Appends the shape of an identifier, at most `most` characters: '9' for a run of digits, 'a' for a
 * run of small letters, 'A' for a run of capitals, and any other character once for each run of it.
 * Identifiers that a program makes (message ids, boundaries) differ every time, but have one
 * shape. */
static inline void nb_feature_put_shape(struct nb_feature_text *f, struct nb_string s, size_t most)
{
    char last = '\0';
    for (size_t i = 0; i < s.length && most > 0; i++) {
        char c = s.bytes[i];
        char letter = c == nb_ascii_lower(c) ? 'a' : 'A';
        char kind = nb_ascii_is_digit(c) ? '9' : nb_ascii_is_letter(c) ? letter : c;
        if (kind == last || f->length == NB_FEATURE_TEXT)
            continue;
        f->bytes[f->length++] = kind > ' ' && kind < 0x7f ? kind : '?';
        last = kind;
        most--;
    }
}

#endif
