/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of one document while it is tokenized, shared by all its parts, and the function that
 * counts one feature. A tokenizing belongs to one thread.
 */
#ifndef NB_TOKENIZER_BAG_TOKENIZING_H
#define NB_TOKENIZER_BAG_TOKENIZING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/attribute.h"
#include "tokenizer/bag/bag.h"
#include "tokenizer/bag/bag_work.h"

/* Which fields are counted, a bit each (a field that is off costs nothing), and how often. */
struct nb_tokenizer_settings {
    uint32_t fields;                 /* 1u << enum nb_field ... */
    uint32_t max_count;              /* occurrences of one feature that count; 0: all */
    struct nb_attributes attributes; /* the attributes of values; borrowed */
    const char *mail_server; /* header fields of this server give values; borrowed. NULL: none */
    bool without_texts;      /* the bag keeps ids and counts alone */
};

/* Limits, each a setting of the configuration ([tokenizer]). What exceeds a limit is left out, and
 * bag->truncated is set. */
struct nb_tokenizer_limits {
    size_t tokens;       /* occurrences of features in one document; default 100,000 */
    size_t mail_bytes;   /* bytes of one mail that are read: beginning and end; default 4 MiB */
    size_t mail_parts;   /* MIME parts; default 1,000 */
    size_t mail_depth;   /* nesting of multiparts and messages; default 32 */
    size_t header_bytes; /* bytes of one mail's header fields that are read; default 1 MiB */
    size_t work; /* units for each byte of a document (bag_work.h); 0: no bound; default 32 */
};

#define NB_TOKENIZER_LIMITS_DEFAULT                                                                \
    ((struct nb_tokenizer_limits){.tokens = 100000,                                                \
                                  .mail_bytes = (size_t)4 << 20,                                   \
                                  .mail_parts = 1000,                                              \
                                  .mail_depth = 32,                                                \
                                  .header_bytes = (size_t)1 << 20,                                 \
                                  .work = 32})

struct nb_mail_values;

/* Everything is borrowed. */
struct nb_tokenizing {
    const struct nb_key *key;
    const struct nb_tokenizer_settings *settings;
    const struct nb_tokenizer_limits *limits;
    struct nb_bag *bag;
    size_t tokens_left; /* of limits->tokens; at 0 no more is counted and bag->truncated is set */
    struct nb_bag_work work; /* when it is spent, no more is read and bag->truncated is set */
    size_t ngram_bytes;      /* bytes of Subject and body cut into n-grams so far; begins at 0 */
    struct nb_mail_values *mail_values; /* takes the fields of a mail's header; NULL: not wanted */
};

/* Whether features of a field are counted under the settings. */
static inline bool nb_tokenizing_wants(const struct nb_tokenizing *t, enum nb_field field)
{
    return (t->settings->fields >> field & 1u) != 0;
}

/* Counts one feature by its whole text ("html:hidden"), without folding, if the settings want its
 * field. Returns 0 (also when the limit on tokens is reached) or NB_NO_MEMORY. */
int nb_tokenize_feature(struct nb_tokenizing *t, enum nb_field field, const char *text,
                        size_t length);

#endif
