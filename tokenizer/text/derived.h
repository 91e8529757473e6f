/* SPDX-License-Identifier: Apache-2.0
 *
 * Features that are derived from a text beside its tokens: words in their original case, pairs of
 * words, character n-grams, URLs, the shape of a Subject. Any thread; a context belongs to one.
 *
 * Each is counted only if the settings want its field; when all are off, the tokenizer passes by
 * with one test per word.
 */
#ifndef NB_TOKENIZER_TEXT_DERIVED_H
#define NB_TOKENIZER_TEXT_DERIVED_H

#include "tokenizer/text/token.h"

enum {
    NB_WORD_BYTES = 4 * NB_TOKEN_CHARACTERS,
    NB_NGRAM = 5,             /* characters */
    NB_NGRAM_BYTES = 3500,    /* of a document's Subject and body that are cut into n-grams */
    NB_SHAPE_EXCLAMATIONS = 3 /* more are counted as so many */
};

/* The word before, for pairs; lives as long as one text. */
struct nb_derived {
    unsigned char word[NB_WORD_BYTES];
    size_t length; /* 0: none */
};

/* Whether a text of `field` needs nb_derived_word at all. */
static inline bool nb_derived_wants_words(const struct nb_tokenizing *t, enum nb_field field)
{
    return (field == NB_FIELD_BODY || field == NB_FIELD_SUBJECT) &&
           (t->settings->fields & (1u << NB_FIELD_CASE | 1u << NB_FIELD_PAIR)) != 0;
}

/* Counts a word whose `length` bytes were written at nb_text_token(), then what is derived from it
 * and the word before: "pair:free money" (NB_FIELD_PAIR), and if capitals were folded away, the
 * original word of the source bytes [from, to): "case:Free" (NB_FIELD_CASE). Returns as
 * nb_text_count. */
int nb_derived_word(struct nb_text_run *run, size_t length, const unsigned char *from,
                    const unsigned char *to);

/* Counts a word and, where it is wanted, what is derived from it. */
static inline int nb_text_count_word(struct nb_text_run *run, size_t length,
                                     const unsigned char *from, const unsigned char *to)
{
    return run->derived == NULL ? nb_text_count(run, length)
                                : nb_derived_word(run, length, from, to);
}

/* Counts what is derived from a text as a whole: of a body the URLs and mail domains in it
 * (NB_FIELD_URL), of a Subject its shape (NB_FIELD_STRUCTURE), of both n-grams (NB_FIELD_NGRAM).
 * Returns as nb_text_count. */
int nb_derived_text(struct nb_tokenizing *t, enum nb_field field, const char *text, size_t length);

#endif
