/* SPDX-License-Identifier: Apache-2.0
 *
 * What a feature is to the model: a 64-bit id whose top bits name the field it was seen in, and how
 * often it occurred. Constants and pure functions; any thread.
 */
#ifndef NB_CORE_BASE_FEATURE_H
#define NB_CORE_BASE_FEATURE_H

#include <stdbool.h>
#include <stdint.h>

/* The part of a document in which a feature was seen: scores are weighed per field. The numbers are
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
    NB_FIELD_CASE = 8,      /* body words in their original case, where it differs */
    NB_FIELD_PAIR = 9,      /* two adjacent body words */
    NB_FIELD_NGRAM = 10,    /* character 5-grams */
    NB_FIELDS = 11
};

enum { NB_FIELD_BITS = 5, NB_FIELD_SHIFT = 64 - NB_FIELD_BITS };

struct nb_feature {
    uint64_t id;    /* field in the top NB_FIELD_BITS bits, keyed hash of the text in the others */
    uint32_t count; /* occurrences in the document, at least 1 */
};

/* The id of a feature of `field` whose keyed hash is `hash`. 59 bits of hash: among 10^7 features
 * the chance of any collision is about 10^-4. */
static inline uint64_t nb_feature_id(enum nb_field field, uint64_t hash)
{
    return ((uint64_t)field << NB_FIELD_SHIFT) | (hash & (((uint64_t)1 << NB_FIELD_SHIFT) - 1));
}

static inline enum nb_field nb_feature_field(uint64_t id)
{
    return (enum nb_field)(id >> NB_FIELD_SHIFT);
}

/* The names of the fields, by number; NULL after the last. Explanations show them and stored things
 * are kept by them: never rename one. */
extern const char *const nb_field_names[NB_FIELDS + 1];

/* "unknown" for a number that is no field's. */
static inline const char *nb_field_name(enum nb_field field)
{
    return (unsigned)field < NB_FIELDS ? nb_field_names[field] : "unknown";
}

/* Whether features of a field are tokens: the by-the-book models count and score tokens; case
 * variants, pairs and n-grams repeat what the tokens already said and only serve the stack. */
static inline bool nb_field_is_token(enum nb_field field)
{
    return field < NB_FIELD_CASE;
}

#endif
