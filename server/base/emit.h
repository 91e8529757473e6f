/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes JSON text straight into a buffer, without a tree of values. Any thread; an emitter belongs
 * to one. The output is always valid JSON in UTF-8 on one line without a line feed: bytes that are
 * not UTF-8 become U+FFFD. Real numbers read back to the last bit.
 */
#ifndef NB_SERVER_BASE_EMIT_H
#define NB_SERVER_BASE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buffer.h"

/* ---- plain bytes ----------------------------------------------------------------------------- */

/* Plain bytes stand for themselves in a JSON string: ASCII except quotes, backslashes and control
 * characters. */

/* Returns a number of plain bytes at `at`; more of them may follow. */
static inline size_t nb_json_plain(const char *at, size_t length)
{
    size_t count = 0;
    /* The bit tricks are those of "Bit Twiddling Hacks" (hasless, haszero), which may point at a
     * byte too early but never too late. */
    const uint64_t ones = 0x0101010101010101, tops = 0x8080808080808080;
    for (; length - count >= 8; count += 8) {
        uint64_t w;
        memcpy(&w, at + count, sizeof w);
        uint64_t quote = w ^ (ones * '"'), slash = w ^ (ones * '\\');
        if (((w | (w - ones * 0x20) | (quote - ones) | (slash - ones)) & tops) != 0)
            break;
    }
    return count;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Numbers as JSON writes them, whatever the locale is. Pure functions; any thread.
 *
 * Each writes the text of `value` at `to`, which has room for NB_NUMBER_TEXT bytes, without a NUL
 * behind it, and returns the end of the text. */

enum { NB_NUMBER_TEXT = 32 }; /* the longest: sign, 17 digits, point, "e-308"; or 20 digits */

char *nb_number_text_u64(char *to, uint64_t value);
char *nb_number_text_i64(char *to, int64_t value);

/* Writes up to 17 significant digits, so that the text reads back as the same double, and always a
 * point or an exponent. `value` is finite. */
char *nb_number_text_double(char *to, double value);

/* Writes the fewest digits that read back as the same double (0.1, not 0.10000000000000001). This
 * takes longer than nb_number_text_double, except for values with up to four decimals, or with up
 * to nine from 0.0001 on. `value` is finite. */
char *nb_number_text_short_double(char *to, double value);

/* Writes this many decimals (at most 4) as printf's %.4f does: the exact value of the double is
 * rounded, halves to even. With `has_plus`, as %+.4f does. A value that is not below 10^9 is
 * written as "inf", "nan" or by %.4g. */
char *nb_number_text_fixed(char *to, double value, unsigned decimals, bool has_plus);

/* After the first failure the other calls do nothing, and nb_emit_end restores the buffer as it was
 * at the beginning. */
struct nb_emitter {
    struct nb_buffer *out;
    size_t start;  /* length of the buffer at the beginning */
    int code;      /* 0 or NB_NO_MEMORY */
    bool is_ascii; /* strings have no byte above 0x7e: other characters are \uXXXX */
};

struct nb_emitter nb_emit_begin(struct nb_buffer *out);
int nb_emit_end(struct nb_emitter *e);

/* Writes `text` as it is: punctuation and literals. */
void nb_emit_raw(struct nb_emitter *e, const char *text);
/* Keys and values write a comma before them, except after '{', '[' and ':'. A `key` is a constant
 * of the program and is not escaped. */
void nb_emit_open(struct nb_emitter *e, char bracket);
void nb_emit_close(struct nb_emitter *e, char bracket);
void nb_emit_known(struct nb_emitter *e, struct nb_string key);
static inline __attribute__((always_inline)) void nb_emit_key(struct nb_emitter *e, const char *key)
{
    nb_emit_known(e, nb_string_of(key)); /* the length of a literal costs no call */
}
void nb_emit_name(struct nb_emitter *e, struct nb_string name); /* a key of any bytes, escaped */
void nb_emit_string(struct nb_emitter *e, struct nb_string s);
void nb_emit_text(struct nb_emitter *e, const char *text); /* a C string, as a JSON string */
void nb_emit_bool(struct nb_emitter *e, bool value);
void nb_emit_u64(struct nb_emitter *e, uint64_t value);
void nb_emit_i64(struct nb_emitter *e, int64_t value);
/* Writes 17 significant digits, so that the number reads back to the last bit, and always a point
 * or an exponent. Infinity and NaN, for which JSON has no number, are written as null. */
void nb_emit_double(struct nb_emitter *e, double value);
/* Writes the fewest digits that read back the same. Slower; for numbers that people look at. */
void nb_emit_short_double(struct nb_emitter *e, double value);

/* Members: a key and its value. nb_emit_member_open begins one that is an array or an object. */
static inline __attribute__((always_inline)) void nb_emit_member_open(struct nb_emitter *e,
                                                                      const char *key, char bracket)
{
    nb_emit_key(e, key);
    nb_emit_open(e, bracket);
}
void nb_emit_member_bool(struct nb_emitter *e, const char *key, bool value);
void nb_emit_member_null(struct nb_emitter *e, const char *key);
void nb_emit_member_double(struct nb_emitter *e, const char *key, double value);
void nb_emit_member_string(struct nb_emitter *e, const char *key, struct nb_string value);
void nb_emit_member_text(struct nb_emitter *e, const char *key, const char *value);
void nb_emit_member_u64(struct nb_emitter *e, const char *key, uint64_t value);
void nb_emit_member_short_double(struct nb_emitter *e, const char *key, double value);
/* Writes the member `name`, an object with the number of documents of a label. */
/* Writes the member `one` with a label, or if it is a set of labels (core/base/label_set.h) the
 * member `several`, a list of them. */
void nb_emit_member_labels(struct nb_emitter *e, const char *one, const char *several,
                           struct nb_string label);
void nb_emit_label_documents(struct nb_emitter *e, const char *name, uint64_t documents);
/* Writes the member only if the value is true. */
void nb_emit_flag(struct nb_emitter *e, const char *key, bool value);
/* Writes the member "warnings" with one sentence; nothing if the sentence is NULL. */
void nb_emit_warning(struct nb_emitter *e, const char *warning);

/* Appends a JSON string with its quotes. Returns 0 or NB_NO_MEMORY. */
int nb_json_string(struct nb_buffer *out, struct nb_string s);

#endif
