/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/bag/tokenizing.h"

#include <assert.h>

#include "core/base/feature.h"

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

enum { Q = '?' };

/* One line for each sixteen bytes. */

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

const char *nb_tokenize_passage(struct nb_tokenizing *t, const char *at)
{
    if (t->passage_text == NULL)
        return NULL;
    size_t place = t->passage_before + (size_t)(at - t->passage_text);
    t->bag->passage = 0;
    if (place < t->bag->passage_lead)
        return at + (t->bag->passage_lead - place);
    place -= t->bag->passage_lead;
    unsigned shift = 0;
    size_t passage = place / NB_PASSAGE_BYTES, rest = passage / NB_PASSAGES_EQUAL;
    if (rest > 0) {
        unsigned octave = 63 - (unsigned)__builtin_clzll(rest);
        shift = octave + NB_PASSAGES_SHIFT;
        passage = NB_PASSAGES_EQUAL + octave * NB_PASSAGES_OF_OCTAVE +
                  ((passage >> shift) - NB_PASSAGES_OF_OCTAVE);
    }
    size_t step = (size_t)NB_PASSAGE_BYTES << shift;
    t->bag->passage = (uint32_t)(passage < NB_PASSAGES - 1 ? passage + 1 : NB_PASSAGES - 1);
    return at + (step - place % step);
}

/* Whether a feature of a field is to be counted; if so, lowers the rest of the limit on tokens. */
static bool is_wanted(struct nb_tokenizing *t, enum nb_field field)
{
    assert((unsigned)field < NB_FIELDS);
    if (!nb_tokenizing_wants(t, field))
        return false;
    if (t->tokens_left == 0) {
        t->bag->truncated = true;
        return false;
    }
    t->tokens_left--;
    return true;
}

int nb_feature_count_ends(struct nb_tokenizing *t, enum nb_field field,
                          const struct nb_feature_text *f, size_t head, size_t from)
{
    assert(head <= from && from <= f->length);
    if (!is_wanted(t, field))
        return 0;
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
    if (!is_wanted(t, field))
        return 0;
    if (nb_bag_prepare(t->bag) != 0)
        return NB_NO_MEMORY;
    uint64_t id = nb_feature_id(field, nb_feature_hash_padded(t->key, f->bytes, f->length));
    struct nb_bag_cursor c = nb_bag_cursor(t->bag);
    uint32_t *slot = nb_bag_slot(&c, id);
    if (*slot != 0) {
        nb_bag_again(&c, slot);
    } else {
        if (c.texts != NULL)
            nb_bag_copy(c.room, f->bytes, f->length);
        int rc = nb_bag_enter(t->bag, &c, slot, id, f->length);
        if (rc != 0)
            return rc;
        nb_bag_leave(t->bag, &c);
    }
    t->bag->positions += nb_field_is_token(field);
    return 0;
}
