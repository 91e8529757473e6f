/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/bag/feature_text.h"

#include <assert.h>

#include "core/base/feature_hash.h"

enum { Q = '?' };

/* Sixteen bytes to a line. */
/* clang-format off */
const char nb_feature_bytes[256] = {
    Q, Q, Q, Q, Q, Q, Q, Q, Q, 0, 0, Q, Q, 0, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    0, '!', '"', '#', '$', '%', '&', '\'', '(', ')', '*', '+', ',', '-', '.', '/',
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', Q,
    '@', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '[', '\\', ']', '^', '_',
    '`', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o',
    'p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', '{', '|', '}', '~', Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q,
    Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q, Q};
/* clang-format on */

int nb_feature_count_ends(struct nb_tokenizing *t, enum nb_field field,
                          const struct nb_feature_text *f, size_t head, size_t from)
{
    assert((unsigned)field < NB_FIELDS && head <= from && from <= f->length);
    if (!nb_tokenizing_wants(t, field))
        return 0;
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return 0;
    }
    t->tokens_left--;
    if (nb_bag_prepare(t->bag) != 0)
        return NB_NO_MEMORY;
    char *room = t->bag->private_->room;
    size_t length = head + (f->length - from);
    nb_bag_copy(room, f->bytes, head);
    nb_bag_copy(room + head, f->bytes + from, f->length - from);
    uint64_t id = nb_feature_id(field, nb_feature_hash_padded(t->key, room, length));
    return nb_bag_count(t->bag, id, length, nb_field_is_token(field));
}

int nb_feature_count(struct nb_tokenizing *t, enum nb_field field, const struct nb_feature_text *f)
{
    return nb_feature_count_ends(t, field, f, f->length, f->length);
}
