/* SPDX-License-Identifier: Apache-2.0
 *
 * The stored form of the new features of a ledger entry: their texts, from which the ids follow
 * under the key, or only the ids if texts are not kept. A coder belongs to one thread at a time.
 *
 * Stored form: one byte with the form, then
 *
 *     0   the ids, 8 bytes each, little-endian
 *     1   for each feature one byte, its field, and a string, its text (core/base/buffer.h)
 *     2   a varint, the number of bytes that follow the first byte in form 1; then these bytes,
 *         compressed by zstd
 *     3   the same, but in the code below (struct nb_text_code): most entries. At most 32 KB
 *
 * Texts repeat each other, so some are shortened: the byte of the field then has 128 added. Most
 * texts are, except values of attributes. Of a shortened text only this is stored:
 *
 * - If 32 is added as well, the text begins with the name of the field and a colon ("pair:",
 *   "url:", "subject:"), and these are left out.
 * - A mark byte follows the text, instead of a length before it. 0: the next feature follows. 1:
 * the next text has the same first byte and begins with the tail of this text; both are left out.
 * The tail of a pair is its second word, the tail of an n-gram all but its first character: the
 * next pair, or n-gram, of the same words begins with it. Other texts have no tail.
 *
 * If any text has a byte 0 or 1, no text is shortened. A value of an attribute (NB_FIELD_VALUE) is
 * never shortened: its string is the number of its part, two bytes, little-endian, and the text. If
 * the value is a number, the topmost bit of the part is set, and the id follows from the number in
 * the text.
 *
 * Measured on SpamAssassin's corpus: shortening reduces the texts of a mail from 3,700 bytes to
 * 1,960, and form 3 (form 2 above 32,768 bytes) to 1,130. Form 2 for all would give 990, and take 9
 * us more, 2 % of the instructions of a mail that is learned (callgrind).
 */
#ifndef NB_CORE_LEDGER_FEATURES_CODING_H
#define NB_CORE_LEDGER_FEATURES_CODING_H

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/key.h"

struct nb_text_code;

/* A code for the short texts of features: each byte becomes 1 to 12 bits, depending on the byte and
 * on the kind of the byte before it. The code is the same for all texts, so no table is built and
 * stored for each entry, which takes zstd most of its time for 1 KB.
 *
 * Stored form: the bits of the codes, from the lowest bit of each byte on. The codes of a kind are
 * assigned by ascending length, and by byte within a length (canonical Huffman code, Salomon, Data
 * Compression, 2.8.5). Zero bits follow the last code. */

/* The tables of the code, 45 KB; immutable. Any thread. */

/* NULL: out of memory. */
struct nb_text_code *nb_text_code_new(void);
void nb_text_code_free(struct nb_text_code **code);

/* Appends the bytes in the code. Returns 0 or NB_NO_MEMORY. */
int nb_text_code_write(const struct nb_text_code *code, struct nb_string bytes,
                       struct nb_buffer *out);
/* Decodes `length` bytes to `to`. Returns false if `stored` does not decode to exactly `length`
 * bytes. */
bool nb_text_code_read(const struct nb_text_code *code, struct nb_string stored, char *to,
                       size_t length);

/* Shared by writing and reading of the texts. Only for core/ledger/coding/features_*.c. */
enum { CODED_IDS = 0, CODED_TEXTS = 1, CODED_COMPRESSED = 2, CODED_SHORT = 3 };

enum {
    SHORT_MOST = 32 << 10, /* longer texts repeat each other so much that zstd is worth its time */
    RAW_MOST =
        256 << 20 /* bytes of one entry's texts; the tokenizer's limits keep them far below this */
};

/* Flags that are added to the field of a feature: the text is stored without the field's name; the
 * text ends with a mark. */
enum { WITHOUT_NAME = 32, MARKED = 128, FIELD = WITHOUT_NAME - 1 };
_Static_assert((int)NB_FIELD_VALUE < (int)WITHOUT_NAME && (int)NB_FIELDS <= (int)NB_FIELD_VALUE,
               "a field leaves room for what is added to it");

/* Marks behind a text: the next feature follows; or the rest of the next text, which has the same
 * field and begins with this text's tail. */
enum { MARK_END = 0, MARK_GOES_ON = 1 };

/* The part of an attribute's value is stored before its text, with the low byte first. */
enum { PART_BYTES = 2, IS_NUMBER = 0x8000 };
_Static_assert((int)NB_PARTS_MOST <= (int)IS_NUMBER, "a part has a bit to spare");

/* A longer tail is never left out, so that a damaged store cannot make texts grow without a bound.
 */
enum { TAIL_MOST = 255 };

struct nb_features_coder {
    struct nb_text_code *code;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    struct nb_string names[NB_FIELDS]; /* names of the fields; the same for all coders */
    struct nb_buffer raw;              /* the stored form before compression */
    struct nb_buffer whole;            /* the texts that were read, one after the other */
    uint64_t *ids;
    struct nb_string *texts;
    size_t room; /* room of `ids` and `texts` */
};

/* Returns the tail of a text, with which the next text may begin. Both texts are without the
 * field's name. */
struct nb_string nb_features_tail(unsigned field, struct nb_string text);

struct nb_features_coder; /* reused from entry to entry */

/* NULL: out of memory. */
struct nb_features_coder *nb_features_coder_new(void);
void nb_features_coder_free(struct nb_features_coder **coder);

/* Appends the stored form of `count` features: `ids`, and `texts` or NULL if these are not kept.
 * Returns 0 or NB_NO_MEMORY. */
int nb_features_encode(struct nb_features_coder *coder, const uint64_t *ids,
                       const struct nb_string *texts, size_t count, struct nb_buffer *out);

/* Whether stored features have their texts. */
static inline bool nb_features_have_texts(struct nb_string stored)
{
    return stored.length > 0 && stored.bytes[0] != 0;
}

/* Reads `count` features back. *ids and *texts (NULL where only ids were stored) are owned by the
 * coder until its next call. `key` is the one that features are hashed under. Returns 0, NB_CORRUPT
 * or NB_NO_MEMORY. */
int nb_features_decode(struct nb_features_coder *coder, struct nb_string stored, size_t count,
                       const struct nb_key *key, const uint64_t **ids,
                       const struct nb_string **texts, struct nb_error *error);

#endif
