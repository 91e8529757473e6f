/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8 text to tokens: folding (NFKC, full case folding, default-ignorable characters removed) and
 * word boundaries after UAX #29, with a fast path for ASCII. Any thread; a context belongs to one.
 */
#ifndef NB_TOKENIZER_TEXT_H
#define NB_TOKENIZER_TEXT_H

#include "tokenizer/document.h"

/* One document being tokenized: what all its parts share. Everything is borrowed. */
struct nb_tokenizing {
    const struct nb_key *key;
    const struct nb_tokenizer_settings *settings;
    const struct nb_tokenizer_limits *limits;
    struct nb_bag *bag;
    size_t tokens_left; /* of limits->tokens; at 0 the rest is left out, bag->truncated is set */
    size_t ngram_bytes; /* of Subject and body that were cut into n-grams; begins with 0 */
};

/* Whether features of a field are counted under the settings. */
static inline bool nb_tokenizing_wants(const struct nb_tokenizing *t, enum nb_field field)
{
    return (t->settings->fields >> field & 1u) != 0;
}

/* Counts the tokens of a text. Each token's feature text is `prefix` (a C string, "" for the body,
 * "subject:" for a Subject; at most 40 bytes) and the folded token. Bytes that are not UTF-8 are
 * read as windows-1252. A field that the settings leave out costs nothing. Returns 0 (also when the
 * budget ran out) or NB_NO_MEMORY. */
int nb_tokenize_text(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     const char *text, size_t length);

/* Counts one feature by its whole text ("html:hidden"), as it is. Same budget, same returns. */
int nb_tokenize_feature(struct nb_tokenizing *t, enum nb_field field, const char *text,
                        size_t length);

/* Builds and frees the character table (see nb_tokenizer_setup). */
int nb_text_setup(void);
void nb_text_teardown(void);

#endif
