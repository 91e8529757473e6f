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
 *     3   the same, but in the code of core/ledger/coding/text_code.h: most entries. At most 32 KB
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
#ifndef NB_CORE_LEDGER_CODING_FEATURES_H
#define NB_CORE_LEDGER_CODING_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/key.h"

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
