/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of words for the drivers of models. Words are numbers: word w is of field w % 3, a token;
 * but of the field of pairs when w % 11 is 10, or else of n-grams when w % 9 is 8, which are none;
 * and from 1000 on a value of the attribute (w - 1000) / 100. "A#12.5" is a number of attribute A,
 * "A+" says that it has a value.
 */
#ifndef NB_TESTS_GOLDEN_LINES_H
#define NB_TESTS_GOLDEN_LINES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counts/model.h"

enum { WORDS_MOST = 4096 };

/* Ends the program unless it holds. */
static inline void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "driver: %s\n", what);
        exit(2);
    }
}

/* The next word of the line, or NULL. */
static inline char *next(char **rest)
{
    return strtok_r(NULL, " \n", rest);
}

static inline uint64_t word_id(uint64_t word)
{
    if (word >= 1000)
        return nb_feature_value_id((unsigned)(word - 1000) / 100 * 2,
                                   (word + 1) * UINT64_C(0xD6E8FEB86659FD93));
    enum nb_field field = word % 11 == 10 ? NB_FIELD_PAIR
                          : word % 9 == 8 ? NB_FIELD_NGRAM
                                          : (enum nb_field)(word % 3);
    return nb_feature_id(field, (word + 1) * UINT64_C(0xD6E8FEB86659FD93));
}

/* "WORD", "A#NUMBER" or "A+", up to the colon, where *end is set. */
static inline uint64_t item_id(char *item, char **end)
{
    uint64_t word = strtoull(item, end, 10);
    uint64_t decimal;
    if (**end == '#') {
        char *text = *end + 1;
        *end = strchr(text, ':');
        require(*end != NULL, "A#NUMBER:COUNT expected");
        require(nb_decimal_read((struct nb_string){text, (size_t)(*end - text)}, &decimal),
                "a number expected");
        return nb_feature_number_id((unsigned)word * 2, decimal);
    }
    if (**end != '+')
        return word_id(word);
    ++*end;
    return nb_feature_value_id((unsigned)word * 2 + 1, 0);
}

/* The rest of the line, "WORD:COUNT ..."; `bag` has room for WORDS_MOST. */
static inline size_t read_bag(char **rest, struct nb_feature *bag)
{
    size_t size = 0;
    for (char *item; (item = next(rest)) != NULL && size < WORDS_MOST;) {
        char *end;
        uint64_t id = item_id(item, &end);
        require(*end == ':', "WORD:COUNT expected");
        bag[size++] = (struct nb_feature){id, (uint32_t)strtoul(end + 1, NULL, 10), 0};
    }
    return size;
}

/* Adds the document "LABEL WORD:COUNT ..." to the counts, or takes it out (sign -1). */
static inline void change(struct nb_model *to, char **rest, int sign)
{
    static struct nb_feature bag[WORDS_MOST];
    static struct nb_row_count counts[WORDS_MOST];
    uint32_t label;
    char *name = next(rest);
    require(nb_model_label(to, (struct nb_string){name, strlen(name)}, &label) == 0, "label");
    size_t size = read_bag(rest, bag);
    for (size_t i = 0; i < size; i++) {
        counts[i] = (struct nb_row_count){nb_model_find(to, bag[i].id), bag[i].count};
        if (counts[i].row == NB_NO_ROW)
            require(nb_model_append(to, bag[i].id, &counts[i].row) == 0, "row");
    }
    require(nb_model_add(to, label, counts, size, sign, NULL) == 0, "add");
    nb_model_add_documents(to, label, sign);
}

#endif
