/* SPDX-License-Identifier: Apache-2.0
 *
 * Features as the model sees them: a 64-bit id, whose top bits name the field, and a number of
 * occurrences; and the table of the fields. Constants and pure functions; any thread.
 */
#ifndef NB_CORE_BASE_FEATURE_H
#define NB_CORE_BASE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/key.h"
#include "core/base/number.h"
#include "core/base/string.h"

/* Raised whenever the same bytes would give other features; stored with every model. */
enum { NB_TOKENIZER_VERSION = 4 };

/* Models of older versions stay usable: the ledger has their documents as they were counted, so
 * forgetting stays exact. New documents get the features of this version. */
enum {
    NB_TOKENIZER_OLDEST = 3,    /* models of an older version are refused */
    NB_TOKENIZER_IDENTITIES = 4 /* from this version on, the id of a mail is derived from its
                                   identity (tokenizer/mail_identity.h) */
};

/* The part of a document in which a feature was seen: scores are weighted by field. The numbers are
 * stored with every feature: never renumber, only append. */
enum nb_field {
    NB_FIELD_BODY = 0,      /* words and marks of the visible text, folded */
    NB_FIELD_SUBJECT = 1,   /* words of the Subject */
    NB_FIELD_ADDRESS = 2,   /* addresses and names of From, To, Cc, Reply-To ... */
    NB_FIELD_RECEIVED = 3,  /* hosts and networks of Received */
    NB_FIELD_HEADER = 4,    /* other header fields and their names */
    NB_FIELD_STRUCTURE = 5, /* MIME structure, HTML elements and attributes, shape of the text */
    NB_FIELD_URL = 6,       /* parts of URLs and mail domains in the text */
    NB_FIELD_HIDDEN = 7,    /* words that a reader cannot see */
    NB_FIELD_CASE = 8,      /* words with capitals of body and Subject, not folded */
    NB_FIELD_PAIR = 9,      /* two adjacent words of body or Subject */
    NB_FIELD_NGRAM = 10,    /* character 5-grams */
    NB_FIELDS = 11,
    NB_FIELD_VALUE = 30 /* values of attributes, which a model's settings name (attribute.h) */
};

enum { NB_FIELD_BITS = 5, NB_FIELD_SHIFT = 64 - NB_FIELD_BITS };
#define NB_FIELD_HASH (((uint64_t)1 << NB_FIELD_SHIFT) - 1) /* the bits of a hash in an id */

/* The visible text of a document is cut into parts, of which passages consist that are judged one
 * by one (core/stack/passages.h): parts of NB_PASSAGE_BYTES, and behind the first NB_PASSAGES_EQUAL
 * of them eight for every doubling of the text, so that their number is bounded. What is not
 * visible text (a mail's header fields) and the first line of a bare text stand in every passage.
 */
enum {
    NB_PASSAGE_BYTES = 64,
    NB_PASSAGES_EQUAL = 256,
    NB_PASSAGES_SHIFT = 5, /* log2 of NB_PASSAGES_EQUAL / NB_PASSAGES_OF_OCTAVE */
    NB_PASSAGES_OF_OCTAVE = 8,
    NB_PASSAGES = 352
};

struct nb_feature {
    uint64_t id;    /* field in the top NB_FIELD_BITS bits, hash of the text in the others, which is
                       keyed except for its lowest bits (NB_FEATURE_OPEN) */
    uint32_t count; /* occurrences in the document, at least 1 */
    /* The part of the visible text in which it occurs first, from 1 on and below NB_PASSAGES; 0: it
     * stands in every passage, or parts are not known. */
    uint32_t passage;
};

/* The id of a feature of `field` whose text has the keyed hash `hash`. It keeps 59 bits of the
 * hash: among 10^7 features the probability of any collision is about 10^-4. */
static inline uint64_t nb_feature_id(enum nb_field field, uint64_t hash)
{
    return ((uint64_t)field << NB_FIELD_SHIFT) | (hash & NB_FIELD_HASH);
}

static inline enum nb_field nb_feature_field(uint64_t id)
{
    return (enum nb_field)(id >> NB_FIELD_SHIFT);
}

/* The id of a feature that is a value of an attribute also contains a part. Attribute n has two
 * parts: part 2n is for its values, and part 2n + 1 is for a single feature, which records that a
 * document has any value. */
enum { NB_PART_BITS = 9, NB_PARTS_MOST = 1 << NB_PART_BITS };
enum { NB_PART_SHIFT = NB_FIELD_SHIFT - NB_PART_BITS };
/* The bit below the part tells whether the lower bits are the number itself or a hash. */
#define NB_PART_IS_NUMBER ((uint64_t)1 << (NB_PART_SHIFT - 1))
#define NB_PART_HASH (NB_PART_IS_NUMBER - 1)
_Static_assert(NB_DECIMAL_BITS == NB_PART_SHIFT - 1, "a number fits where a hash does");

/* The id of a feature of `part`. It keeps 49 bits of the hash: among the 10^5 values of an
 * attribute the probability of any collision is about 10^-5. */
static inline uint64_t nb_feature_value_id(unsigned part, uint64_t hash)
{
    return ((uint64_t)NB_FIELD_VALUE << NB_FIELD_SHIFT) | ((uint64_t)part << NB_PART_SHIFT) |
           (hash & NB_PART_HASH);
}

/* The id of a value that is a number (core/base/number.h). */
static inline uint64_t nb_feature_number_id(unsigned part, uint64_t number)
{
    return nb_feature_value_id(part, number) | NB_PART_IS_NUMBER;
}

/* Whether an id is that of a number, which is then in the bits below NB_PART_IS_NUMBER. */
static inline bool nb_feature_is_number(uint64_t id)
{
    return (id >> NB_FIELD_SHIFT) == NB_FIELD_VALUE && (id & NB_PART_IS_NUMBER) != 0;
}

/* The part of a feature of NB_FIELD_VALUE. */
static inline unsigned nb_feature_part(uint64_t id)
{
    return (unsigned)(id >> NB_PART_SHIFT) & (NB_PARTS_MOST - 1);
}

/* Whether a part records the presence of any value, and not the values of an attribute. */
static inline bool nb_part_is_presence(unsigned part)
{
    return (part & 1) != 0;
}

/* Whether an id belongs to a feature: its field exists. */
static inline bool nb_feature_has_field(uint64_t id)
{
    unsigned field = nb_feature_field(id);
    return field < NB_FIELDS || field == NB_FIELD_VALUE;
}

/* Returns the id of a feature with the field and part of `id` and the text hash `hash`. The id of a
 * number is the same under every key. */
static inline uint64_t nb_feature_id_like(uint64_t id, uint64_t hash)
{
    if (nb_feature_is_number(id))
        return id;
    return nb_feature_field(id) == NB_FIELD_VALUE ? nb_feature_value_id(nb_feature_part(id), hash)
                                                  : nb_feature_id(nb_feature_field(id), hash);
}

enum nb_field_kind {
    NB_FIELD_KIND_TEXT,     /* running text: its words are the features */
    NB_FIELD_KIND_CATEGORY, /* a value that is one feature as a whole */
    NB_FIELD_KIND_SET,      /* any number of such values in one document */
    NB_FIELD_KIND_NUMBER    /* a number (number.h); no field of a mail is of this kind */
};

/* The names of the kinds in settings, by number, with NULL behind the last: never rename one. */
extern const char *const nb_field_kind_names[];

struct nb_field_info {
    const char *name;        /* in settings, explanations and the store: never rename one */
    enum nb_field_kind kind; /* kind of the values */
    bool is_token;           /* see nb_field_is_token */
};

/* The fields, by number; and their names alone, with NULL behind the last. */
extern const struct nb_field_info nb_field_table[NB_FIELDS];
extern const char *const nb_field_names[NB_FIELDS + 1];

/* The name of a field; "unknown" for a number that belongs to no field. */
static inline const char *nb_field_name(enum nb_field field)
{
    return (unsigned)field < NB_FIELDS ? nb_field_table[field].name : "unknown";
}

/* Whether the features of a field are tokens. The by-the-book models count and score tokens only.
 * Case variants, pairs and n-grams are derived: they repeat what the tokens say, and only the stack
 * uses them. Token fields come first, so that loops over features need a comparison and no look-up.
 */
static inline bool nb_field_is_token(enum nb_field field)
{
    return field < NB_FIELD_CASE;
}

/* Whether a feature is a token: a feature of a token field, or a value of an attribute. */
static inline bool nb_feature_is_token(uint64_t id)
{
    enum nb_field field = nb_feature_field(id);
    return nb_field_is_token(field) ||
           (field == NB_FIELD_VALUE && !nb_part_is_presence(nb_feature_part(id)));
}

/* The keyed hash of a feature's text, from which its id is derived (core/base/feature.h). Pure
 * functions; any thread.
 *
 * Most texts have at most 16 bytes, and their lengths are unpredictable, so they are hashed without
 * a branch, as two numbers. The hash of a pair ("pair:free money") combines the hashes of its
 * words, which the tokenizer has just computed. A 128-bit product is folded, as in XXH3 and wyhash.
 * Both factors contain words of the key, so nobody without the key can write two texts with one
 * hash. The length tells texts that end with zeros from shorter ones.
 *
 * The lowest bits of a hash are open: they do not depend on the key. They select the feature's slot
 * in tables of learned numbers (core/stack/weights.h), in which features share slots. So the same
 * features share slots in every store, and the same documents give the same verdicts: with keyed
 * slots, six stores that learned R8 were 97.6 to 98.0 % right. Who writes a text can choose words
 * that share a slot with other words: this changes how far the evidence of these words is trusted,
 * not the evidence itself, which is counted by the whole id.
 */
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

/* Multiplies both numbers and folds the halves of the product together. */
static inline uint64_t nb_feature_fold(uint64_t a, uint64_t b)
{
    uint64_t high = (uint64_t)((nb_uint128)a * b >> 64);
    return a * b ^ high;
}

enum { NB_FEATURE_OPEN_BITS = 18 };
#define NB_FEATURE_OPEN                                                                            \
    (((uint64_t)1 << NB_FEATURE_OPEN_BITS) - 1) /* the open bits of a hash ... */
#define NB_FEATURE_KEYED                                                                           \
    (NB_FIELD_HASH & ~NB_FEATURE_OPEN) /* ... and the others that an id keeps */

/* A number whose highest bits are the open bits of the hash of two numbers. All bits of a product
 * have a part in the highest. */
static inline uint64_t nb_feature_open(uint64_t a, uint64_t b)
{
    return (a + b) * UINT64_C(0xD6E8FEB86659FD93);
}

/* The last step of every hash: the keyed bits of one number, and in the lowest bits the open ones,
 * which are the highest of the other. */
static inline uint64_t nb_feature_finish(uint64_t keyed, uint64_t open)
{
    return (keyed & NB_FEATURE_KEYED) | open >> (64 - NB_FEATURE_OPEN_BITS);
}

/* The hash of a text of `length` bytes, at most NB_FEATURE_BLOCK, that is no pair. */
static inline uint64_t nb_feature_hash_block(const struct nb_key_words *words,
                                             struct nb_feature_block block, size_t length)
{
    uint64_t keyed =
        nb_feature_fold(block.low ^ (words->at[0] ^ length), block.high ^ words->at[1]);
    return nb_feature_finish(keyed, nb_feature_open(block.low, block.high));
}

/* The hash of the pair of two words that have these hashes. Its open bits come from theirs, which
 * are the lowest. */
static inline uint64_t nb_feature_hash_pair(const struct nb_key *key, uint64_t before,
                                            uint64_t word)
{
    const struct nb_key_words *words = &key->words;
    uint64_t folded = nb_feature_fold(before ^ words->at[6], word ^ words->at[7]);
    return (folded & NB_FEATURE_KEYED) | ((before * 5 + word) & NB_FEATURE_OPEN);
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
