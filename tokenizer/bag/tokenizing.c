/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/bag/tokenizing.h"

#include <assert.h>

int nb_tokenize_feature(struct nb_tokenizing *t, enum nb_field field, const char *text,
                        size_t length)
{
    assert((unsigned)field < NB_FIELDS);
    if (!nb_tokenizing_wants(t, field))
        return 0;
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return 0;
    }
    t->tokens_left--;
    return nb_bag_add(t->bag, t->key, field, text, length);
}
