/* SPDX-License-Identifier: Apache-2.0
 *
 * The keyed hash of a feature's text, from which its id is derived (core/base/feature.h). Pure
 * functions; any thread.
 *
 * Most texts have at most 16 bytes, and their lengths cannot be foreseen: they are hashed without a
 * branch, as two numbers. The hash of a pair ("pair:free money") combines the hashes of its words,
 * which a tokenizer has just computed. A product of 128 bits is folded, as in XXH3 and wyhash; both
 * factors hold words of the key, so that nobody without the key can write two texts with one hash.
 */
#ifndef NB_CORE_BASE_FEATURE_HASH_H
#define NB_CORE_BASE_FEATURE_HASH_H

#include "core/base/key.h"

enum { NB_FEATURE_BLOCK = 16 };

/* The first 16 bytes of a text as two numbers in little-endian order, zeros behind its end. */
struct nb_feature_block {
    uint64_t low, high;
};

static inline uint64_t nb_feature_load(const void *at)
{
    uint64_t bytes;
    memcpy(&bytes, at, sizeof bytes);
    return le64toh(bytes);
}

/* The product of both numbers, its halves folded together. */
static inline uint64_t nb_feature_fold(uint64_t a, uint64_t b)
{
    nb_uint128 product = (nb_uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The last step of every hash. */
static inline uint64_t nb_feature_finish(const struct nb_key_words *words, uint64_t folded,
                                         size_t length)
{
    return nb_feature_fold(folded ^ words->at[2], length ^ words->at[3]);
}

/* The hash of a text of `length` bytes, at most NB_FEATURE_BLOCK, that is no pair. */
static inline uint64_t nb_feature_hash_block(const struct nb_key_words *words,
                                             struct nb_feature_block block, size_t length)
{
    uint64_t folded = nb_feature_fold(block.low ^ words->at[0], block.high ^ words->at[1]);
    return nb_feature_finish(words, folded, length);
}

/* The hash of the pair of two words that have these hashes. */
static inline uint64_t nb_feature_hash_pair(const struct nb_key *key, uint64_t before,
                                            uint64_t word)
{
    const struct nb_key_words *words = &key->words;
    return nb_feature_finish(words, nb_feature_fold(before ^ words->at[8], word ^ words->at[9]), 0);
}

/* The hash of a text of more than NB_FEATURE_BLOCK bytes that is no pair. */
uint64_t nb_feature_hash_long(const struct nb_key *key, const char *text, size_t length);

/* The hash of a text that is no pair. NB_FEATURE_BLOCK bytes must be readable at `text`, even if it
 * is shorter. */
static inline uint64_t nb_feature_hash_padded(const struct nb_key *key, const char *text,
                                              size_t length)
{
    static const unsigned char ones[2 * NB_FEATURE_BLOCK] = {
        255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
    if (length > NB_FEATURE_BLOCK)
        return nb_feature_hash_long(key, text, length);
    const unsigned char *mask = ones + NB_FEATURE_BLOCK - length;
    struct nb_feature_block block = {nb_feature_load(text) & nb_feature_load(mask),
                                     nb_feature_load(text + 8) & nb_feature_load(mask + 8)};
    return nb_feature_hash_block(&key->words, block, length);
}

/* The hash of any text of a feature. */
uint64_t nb_feature_hash(const struct nb_key *key, const char *text, size_t length);

#endif
