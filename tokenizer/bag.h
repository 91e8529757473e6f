/* SPDX-License-Identifier: Apache-2.0
 *
 * The bag of a document: its distinct features in order of first appearance, each with its count
 * and, unless nobody wants it, its text. A bag belongs to one thread at a time; it is reused from
 * document to document.
 */
#ifndef NB_TOKENIZER_BAG_H
#define NB_TOKENIZER_BAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "core/base/key.h"

struct nb_bag {
    struct nb_feature *features;   /* owned; `size` features */
    const struct nb_string *texts; /* texts[i] names features[i], prefix included ("subject:free");
                                      owned with the bytes, stable until reset. NB_BAG_BLOCK bytes
                                      behind each can be read. NULL: not kept */
    size_t size;
    uint64_t positions; /* occurrences of token fields (nb_field_is_token), the document's length */
    bool truncated;     /* a limit of the tokenizer was hit: the rest was not counted */
    uint32_t passage;   /* of the text that is being read: set before its features are counted */
    size_t
        passage_lead; /* bytes at the beginning of the visible text that stand in every passage */
    size_t visible_length; /* bytes of the visible text */
    /* The first NB_BAG_VISIBLE_MOST bytes of the visible text, if the tokenizer's settings want it;
     * owned. They may be invalid UTF-8. */
    struct nb_buffer visible;
    struct nb_bag_private *private_; /* hash table and text storage */
};

enum { NB_BAG_VISIBLE_MOST = 65536 };

/* Copies a text in blocks of NB_BAG_BLOCK bytes instead of calling memcpy. Both texts must have as
 * many bytes behind them. Uses the builtin because _FORTIFY_SOURCE turns memcpy into a call if it
 * knows the size of the destination but not the offset in it. */
enum { NB_BAG_BLOCK = 16 };

static inline void nb_bag_copy(char *to, const char *from, size_t length)
{
    for (size_t i = 0; i < length; i += NB_BAG_BLOCK) {
        unsigned char block[NB_BAG_BLOCK]; /* `to` may lie in the bytes behind `from` */
        __builtin_memcpy(block, from + i, sizeof block);
        __builtin_memcpy(to + i, block, sizeof block);
    }
}

/* Makes an empty bag, as `struct nb_bag b = {0}` does. Allocates nothing. */
void nb_bag_init(struct nb_bag *bag);

/* Empties the bag and keeps its memory for the next document, whose texts will be kept. */
void nb_bag_reset(struct nb_bag *bag);

/* Empties the bag like nb_bag_reset, and makes room for about `features` features, as far as that
 * saves time; a wrong number only costs time. Unless `keeps_texts`, the bag keeps no texts until it
 * is emptied again. Returns 0 or NB_NO_MEMORY. */
int nb_bag_begin(struct nb_bag *bag, size_t features, bool keeps_texts);

/* Frees everything; the bag is empty and usable again. */
void nb_bag_deinit(struct nb_bag *bag);

/* Counts one occurrence of the feature with this text, which includes the prefix of its field
 * ("subject:free"). `key` hashes the text to the feature's id. A text that is new is copied, if
 * texts are kept.
 * Returns 0 or NB_NO_MEMORY, in which case nothing was counted. */
int nb_bag_add(struct nb_bag *bag, const struct nb_key *key, enum nb_field field, const char *text,
               size_t length);

/* Like nb_bag_add, for a feature whose id is already known; the id must follow from the text. */
int nb_bag_add_id(struct nb_bag *bag, uint64_t id, const char *text, size_t length);

/* Sets where a passage (from 1 on, core/base/feature.h) begins and ends, in bytes of the visible
 * text; the last one ends later. */
void nb_bag_passage(const struct nb_bag *bag, uint32_t passage, size_t *from, size_t *to);

/* Lowers each count to `most` (at least 1), and the number of positions with them. */
void nb_bag_cap(struct nb_bag *bag, uint32_t most);

/* The features that are counted. A field that is off costs nothing. */
struct nb_tokenizer_settings {
    uint32_t fields;                 /* a bit for each field: 1u << enum nb_field */
    uint32_t max_count;              /* most occurrences of one feature that count; 0: all */
    struct nb_attributes attributes; /* the model's attributes; borrowed */
    const char *mail_server; /* server whose header fields give values; borrowed. NULL: none */
    bool without_texts;      /* the bag keeps only ids and counts */
    bool with_visible;       /* the bag keeps the visible text, too */
};

/* Limits, each a setting of the configuration ([tokenizer]). What exceeds a limit is left out, and
 * bag->truncated is set. */
struct nb_tokenizer_limits {
    size_t tokens;       /* occurrences of features in one document; default 100,000 */
    size_t mail_bytes;   /* bytes of one mail that are read: beginning and end; default 4 MiB */
    size_t mail_parts;   /* MIME parts; default 1,000 */
    size_t mail_depth;   /* nesting of multiparts and messages; default 32 */
    size_t header_bytes; /* bytes of one mail's header fields that are read; default 1 MiB */
    size_t work;         /* units for each byte of a document; 0: no bound; default 32 */
};

#define NB_TOKENIZER_LIMITS_DEFAULT                                                                \
    ((struct nb_tokenizer_limits){.tokens = 100000,                                                \
                                  .mail_bytes = (size_t)4 << 20,                                   \
                                  .mail_parts = 1000,                                              \
                                  .mail_depth = 32,                                                \
                                  .header_bytes = (size_t)1 << 20,                                 \
                                  .work = 32})

#endif
