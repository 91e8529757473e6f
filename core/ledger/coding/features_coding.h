/* SPDX-License-Identifier: Apache-2.0
 *
 * The new features of a ledger entry, as stored: their texts, from which the ids follow under the
 * key, or only the ids where texts are not kept. A coder belongs to one thread at a time.
 *
 * Stored form: one byte that says how, then
 *
 *     0   the ids, 8 bytes each, little-endian
 *     1   for each feature one byte, its field, and a string, its text (core/base/pack.h)
 *     2   a varint, the length of what form 1 would have after its first byte; then these bytes,
 *         compressed by zstd
 *     3   the same, but in the code of core/ledger/coding/features_coding.h: most entries. At most
 * 32 KB
 *
 * Texts repeat each other, so if the byte of the field has 128 added, as all but values of
 * attributes mostly have, of a text only this is stored:
 *
 * - If 32 is added as well: what follows the name of the field and a colon ("pair:", "url:",
 *   "subject:"), which the text begins with.
 * - A byte behind it instead of the length in front. 0: the next feature follows. 1: the next text
 *   has the same first byte, which is left out, and begins with the tail of this one, which is left
 *   out, too. The tail of a pair is its second word, that of an n-gram all but its first character:
 *   the next pair, or n-gram, of the same words begins with it. Other texts have none.
 *
 * If one of the texts has a byte 0 or 1, 128 is added to none, and they are stored whole. So is a
 * value of an attribute (NB_FIELD_VALUE): its string is the number of its part, two bytes,
 * little-endian, and the text. If the value is a number the topmost bit is added to the part: its
 * id follows from the number in the text.
 *
 * Measured on SpamAssassin's corpus: the texts of a mail, 3,700 bytes, become 1,960 in this way,
 * and 1,130 in form 3, or form 2 if there are more than 32,768. Form 2 of all would be 990, and
 * take 9 us more.
 */
#ifndef NB_CORE_LEDGER_CODING_FEATURES_CODING_H
#define NB_CORE_LEDGER_CODING_FEATURES_CODING_H

#include <stdbool.h>
#include <stdint.h>
#include <zstd.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/feature.h"
#include "core/base/key.h"

struct nb_text_code;

/* A code for the short texts of features (core/ledger/coding/features_coding.h): each byte becomes
 * 1 to 12 bits. How many depends on the byte and on what kind of byte is before it, and is the same
 * for all texts. So there is no table to be made and stored for each of them, which takes most of
 * the time of zstd for 1 KB.
 *
 * Stored form: the bits of the codes, from the lowest bit of each byte on. Codes of a kind are
 * given in the order of their lengths, and of bytes of the same length (Huffman's code in canonical
 * form, Salomon, Data Compression, 2.8.5). Behind the last code are zeros. */

/* Its tables, 45 KB; never changed once they are made. Any thread. */

/* NULL: out of memory. */
struct nb_text_code *nb_text_code_new(void);
void nb_text_code_free(struct nb_text_code **code);

/* Appends the bytes in the code. Returns 0 or NB_NO_MEMORY. */
int nb_text_code_write(const struct nb_text_code *code, struct nb_string bytes,
                       struct nb_buffer *out);
/* Reads `length` bytes to `to`. Returns false if `stored` is not what they were written as. */
bool nb_text_code_read(const struct nb_text_code *code, struct nb_string stored, char *to,
                       size_t length);

/* What writing and reading the texts of features share. For core/ledger/coding/features_*.c alone.
 */
enum { CODED_IDS = 0, CODED_TEXTS = 1, CODED_COMPRESSED = 2, CODED_SHORT = 3 };

enum {
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

/* How the text after this one may begin. Both are without names. */
struct nb_string nb_features_tail(unsigned field, struct nb_string text);

struct nb_features_coder; /* memory that is used from entry to entry */

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
