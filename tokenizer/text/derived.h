/* SPDX-License-Identifier: Apache-2.0
 *
 * Features that are derived from a text in addition to its tokens: words in their original case,
 * pairs of words, character n-grams, URLs, the shape of a Subject. Any thread; a run belongs to
 * one.
 *
 * Each is counted only if the settings want its field. With all of them off, the cost is one test
 * per word.
 */
#ifndef NB_TOKENIZER_TEXT_DERIVED_H
#define NB_TOKENIZER_TEXT_DERIVED_H

#include "tokenizer/text/token.h"

enum {
    NB_WORD_BYTES = 4 * NB_TOKEN_CHARACTERS,
    NB_NGRAM_BYTES = 3500,    /* of the Subject and body of a document that are cut into n-grams */
    NB_SHAPE_EXCLAMATIONS = 3 /* more count as 3 */
};

/* The word before the current one, for pairs, where the bag keeps it, and its hash; of no length:
 * none. It lives as long as one text. */
struct nb_derived {
    struct nb_string word;
    uint64_t hash;
};

/* What is known of the capitals in a word, as it stands in the text. */
enum nb_capitals {
    NB_CAPITALS_NONE,   /* a word of ASCII without capitals */
    NB_CAPITALS_SOME,   /* a word of ASCII with capitals */
    NB_CAPITALS_UNKNOWN /* a word that may hold other characters */
};

/* Whether a text of `field` needs nb_derived_word at all. */
static inline bool nb_derived_wants_words(const struct nb_tokenizing *t, enum nb_field field)
{
    return (field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT) &&
           (t->settings->fields & (1u << NB_FIELD_CASE | 1u << NB_FIELD_PAIR)) != 0;
}

/* Counts a word whose `length` bytes were written at nb_text_token(). Then counts the pair of the
 * word before it and this one, "pair:free money" (NB_FIELD_PAIR), and, if the source bytes from
 * `from` to `to` hold capitals, the word as it stands there, "case:Free" (NB_FIELD_CASE). Of a word
 * of ASCII, these are the bytes of the token but for capitals. Returns as nb_text_count. */
int nb_derived_word(struct nb_text_run *run, size_t length, const unsigned char *from,
                    const unsigned char *to, enum nb_capitals capitals);

/* Counts a word, and what is derived from it if the settings want that. */
static inline int nb_text_count_word(struct nb_text_run *run, size_t length,
                                     const unsigned char *from, const unsigned char *to,
                                     enum nb_capitals capitals)
{
    return run->derived == NULL ? nb_text_count(run, length)
                                : nb_derived_word(run, length, from, to, capitals);
}

/* Counts what is derived from a text as a whole: the URLs and mail domains in a body
 * (NB_FIELD_URL), the shape of a Subject (NB_FIELD_STRUCTURE), the n-grams of both
 * (NB_FIELD_NGRAM). Returns as nb_text_count. */
int nb_derived_text(struct nb_tokenizing *t, enum nb_field field, const char *text, size_t length);

#endif
