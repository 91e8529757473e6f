/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of numbered words, for tests of the stack.
 */
#ifndef NB_TESTS_UNIT_CORE_STACK_WORDS_H
#define NB_TESTS_UNIT_CORE_STACK_WORDS_H

#include <check.h>

#include "core/base/feature.h"
#include "core/counts/model.h"

/* The feature of a word; the words take all fields in turn. */
static inline uint64_t word_id(uint32_t word)
{
    return nb_feature_id((enum nb_field)(word % NB_FIELDS),
                         (word + 1) * UINT64_C(0xD6E8FEB86659FD93));
}

/* Makes a model that knows `words` words and has no documents. The names of its labels sort in the
 * opposite order of their numbers. The caller frees it. */
static inline struct nb_model *model_of_words(uint32_t labels, uint32_t words)
{
    struct nb_model *model = nb_model_new();
    uint32_t number;
    ck_assert_ptr_nonnull(model);
    for (uint32_t v = 0; v < labels; v++) {
        char name[] = {(char)('z' - (int)v / 10), (char)('9' - (int)v % 10), '\0'};
        ck_assert_int_eq(nb_model_label(model, (struct nb_string){name, 2}, &number), 0);
    }
    for (uint32_t w = 0; w < words; w++)
        ck_assert_int_eq(nb_model_append(model, word_id(w), &number), 0);
    return model;
}

#endif
