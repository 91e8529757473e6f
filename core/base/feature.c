/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/feature.h"

/* All fields in the order of their numbers: name, kind, and whether their features are tokens. */
#define FIELDS(FIELD)                                                                              \
    FIELD(BODY, "body", TEXT, true)                                                                \
    FIELD(SUBJECT, "subject", TEXT, true)                                                          \
    FIELD(ADDRESS, "address", TEXT, true)                                                          \
    FIELD(RECEIVED, "received", CATEGORY, true)                                                    \
    FIELD(HEADER, "header", TEXT, true)                                                            \
    FIELD(STRUCTURE, "structure", CATEGORY, true)                                                  \
    FIELD(URL, "url", CATEGORY, true)                                                              \
    FIELD(HIDDEN, "hidden", TEXT, true)                                                            \
    FIELD(CASE, "case", TEXT, false)                                                               \
    FIELD(PAIR, "pair", TEXT, false)                                                               \
    FIELD(NGRAM, "ngram", TEXT, false)

#define NAME(field, name, kind, is_token) [NB_FIELD_##field] = (name),
#define INFO(field, name, kind, is_token)                                                          \
    [NB_FIELD_##field] = {(name), NB_FIELD_KIND_##kind, (is_token)},

const char *const nb_field_names[NB_FIELDS + 1] = {FIELDS(NAME)};
const char *const nb_field_kind_names[] = {"text", "category", "set", "number", NULL};
const struct nb_field_info nb_field_table[NB_FIELDS] = {FIELDS(INFO)};

/* The hash of a text of more than two blocks, of which the last two may overlap. */
static __attribute__((noinline)) uint64_t hash_longer(const struct nb_key *key, const char *text,
                                                      size_t length)
{
    uint64_t open = 0;
    for (size_t i = 0; i < length; i += NB_FEATURE_BLOCK) {
        const char *at = text + (length - i < NB_FEATURE_BLOCK ? length - NB_FEATURE_BLOCK : i);
        open = nb_feature_open(open + nb_feature_load(at), nb_feature_load(at + 8) * 5);
    }
    return nb_feature_finish(nb_key_hash(key, text, length), open);
}

uint64_t nb_feature_hash_long(const struct nb_key *key, const char *text, size_t length)
{
    const struct nb_key_words *words = &key->words;
    const char *last = text + length - NB_FEATURE_BLOCK;
    if (length > (size_t)NB_FEATURE_BLOCK * 2)
        return hash_longer(key, text, length);
    uint64_t a = nb_feature_load(text), b = nb_feature_load(text + 8);
    uint64_t c = nb_feature_load(last), d = nb_feature_load(last + 8);
    uint64_t folded = nb_feature_fold(a ^ words->at[2], b ^ words->at[3]) ^
                      nb_feature_fold(c ^ words->at[4], d ^ words->at[5]);
    return nb_feature_finish(folded + ((uint64_t)length << NB_FEATURE_OPEN_BITS),
                             nb_feature_open(a + b, (c + d) * 5));
}

static uint64_t hash_of(const struct nb_key *key, const char *text, size_t length)
{
    char padded[NB_FEATURE_BLOCK] = {0};
    if (length > NB_FEATURE_BLOCK)
        return nb_feature_hash_long(key, text, length);
    if (length > 0)
        memcpy(padded, text, length);
    return nb_feature_hash_padded(key, padded, length);
}

/* A text that begins with "pair:" and has a blank is a pair: words have no blanks, and the name of
 * an attribute has no colon (core/base/attribute.h). */
uint64_t nb_feature_hash(const struct nb_key *key, const char *text, size_t length)
{
    static const char pair[] = "pair:";
    const size_t head = sizeof pair - 1;
    const char *blank = NULL;
    if (length > head && memcmp(text, pair, head) == 0)
        blank = memchr(text + head, ' ', length - head);
    if (blank == NULL)
        return hash_of(key, text, length);
    const char *word = blank + 1;
    return nb_feature_hash_pair(key, hash_of(key, text + head, (size_t)(blank - text) - head),
                                hash_of(key, word, (size_t)(text + length - word)));
}
