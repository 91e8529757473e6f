/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON documents and batches without jansson, and base64. Pure functions; any thread.
 *
 * The reader knows documents and batches and nothing else: their strings are most of what the
 * daemon reads, and a general parser takes ten times as long for them. It either reads the whole
 * text as jansson would, or returns false; then jansson reads the text, or reports its fault.
 */
#ifndef NB_SERVER_JSON_SCAN_H
#define NB_SERVER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

/* ---- plain bytes ----------------------------------------------------------------------------- */

/* Plain bytes stand for themselves in a JSON string: ASCII except quotes, backslashes and control
 * characters. */

#ifdef __SSE2__
#include <emmintrin.h>

/* Returns a bit for each of sixteen bytes that is not plain. As signed numbers, bytes above 0x7F
 * are below 0x20, too. */
static inline unsigned nb_json_odd_of(__m128i bytes)
{
    __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                               _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                            _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    return (unsigned)_mm_movemask_epi8(odd);
}
#endif

/* Returns a number of plain bytes at `at`; more of them may follow. */
static inline size_t nb_json_plain(const char *at, size_t length)
{
    size_t count = 0;
#ifdef __SSE2__
    for (; length - count >= 16; count += 16) {
        unsigned odd = nb_json_odd_of(_mm_loadu_si128((const void *)(at + count)));
        if (odd != 0)
            return count + (unsigned)__builtin_ctz(odd);
    }
#else
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
#endif
    return count;
}

enum nb_document_member {
    NB_MEMBER_TEXT,
    NB_MEMBER_MAIL,
    NB_MEMBER_MAIL_BASE64,
    NB_MEMBER_LABEL,
    NB_MEMBER_ID,
    NB_MEMBER_SOURCE,
    NB_MEMBERS
};

extern const char *const nb_scan_members[NB_MEMBERS]; /* their names */

/* A document object in its text: the string of each member between its quotes, or the digits of a
 * label or an id that is a whole number. */
struct nb_flat_document {
    struct nb_string raw[NB_MEMBERS];
    unsigned given;   /* bits 1u << enum nb_document_member */
    unsigned escaped; /* bits of the members whose string has a backslash */
};

/* ---- documents ------------------------------------------------------------------------------- */

/* Scans a document object. Moves *at behind it. */
bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document);
/* Whether only white space is left. */
bool nb_scan_end(const char *at, const char *end);
/* Scans the beginning of a batch, up to its '['. */
bool nb_scan_batch_open(const char **at, const char *end);
/* Call it after each document, and before the first one (`first`). Returns 1 if a document follows,
 * 0 after "]}", else -1. */
int nb_scan_batch_next(const char **at, const char *end, bool first);

/* Writes the string that the scanned `raw` stands for. `to` has room for raw.length bytes, because
 * no escape is shorter than its character. Returns the length. */
size_t nb_scan_unescape(struct nb_string raw, char *to);

/* Decodes the base64 (RFC 4648, section 4) `text`, which ends with its padding, into `out`, which
 * has room for `room` bytes. White space (" \t\r\n") is skipped anywhere. Sets *length to the
 * number of bytes. Returns NULL, or the place in `text` (possibly its end) of a byte that is not
 * base64 or does not fit.
 *
 * Accepts the same texts as sodium_base642bin in a fraction of the time: a batch of mails is mostly
 * base64. Not for secrets: the time depends on the text. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room,
                             size_t *length);

#endif
