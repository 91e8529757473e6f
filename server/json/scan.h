/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads JSON documents and batches without jansson, and base64. Pure functions; any thread.
 *
 * The reader knows documents and batches and nothing else: their strings are most of what the
 * daemon reads, and a general parser takes ten times as long for them. It either has understood all
 * of the text as jansson would, or returns false: then jansson is asked, for the error or for what
 * is rarer.
 */
#ifndef NB_SERVER_JSON_SCAN_H
#define NB_SERVER_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/string.h"

/* Which bytes stand for themselves in a JSON string: ASCII but quotes, backslashes and control
 * characters. */
#ifdef __SSE2__
#include <emmintrin.h>

/* Those of sixteen bytes that do not: a bit for each. Signed, bytes above 0x7F are below 0x20, too.
 */
static inline unsigned nb_json_odd_of(__m128i bytes)
{
    __m128i odd = _mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)),
                               _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                            _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))));
    return (unsigned)_mm_movemask_epi8(odd);
}
#endif

/* How many bytes at `at` stand for themselves; there may be more of them. */
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

/* A document object as it lies in the text: each member's string between its quotes, or
 * the digits of a label or an id that is a whole number. */
struct nb_flat_document {
    struct nb_string raw[NB_MEMBERS];
    unsigned given;   /* bits 1u << enum nb_document_member */
    unsigned escaped; /* those whose string holds a backslash */
};

/* A document object. `*at` is moved behind what was read. */
bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document);
/* Nothing but white space is left. */
bool nb_scan_end(const char *at, const char *end);
/* The beginning of a batch, up to and with '['. */
bool nb_scan_batch_open(const char **at, const char *end);
/* After a document (`first`: before the first): 1 when another follows, 0 after "]}", else -1. */
int nb_scan_batch_next(const char **at, const char *end, bool first);

/* Writes the string that `raw` stands for to `to`, which has room for raw.length bytes: an escape
 * is never shorter than what it means. `raw` has been scanned. Returns the length. */
size_t nb_scan_unescape(struct nb_string raw, char *to);

/* Decodes the base64 (RFC 4648, section 4) `text`, which ends with its padding, into `out`, which
 * has room for `room` bytes. White space (" \t\r\n") is passed over anywhere. Sets *length to the
 * number of bytes. Returns NULL, or where it met what is not base64, or did not fit: somewhere in
 * `text`, its end included.
 *
 * Accepts what sodium_base642bin accepts, in a sixth of the time: a batch of mails is mostly
 * base64. For secrets sodium_base642bin is the right one: this takes time by what it reads. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room,
                             size_t *length);

#endif
