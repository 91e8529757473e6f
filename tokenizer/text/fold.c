/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/fold.h"

#include <assert.h>
#include <stdbool.h>

static uint32_t queue_unchanged(struct nb_fold *fold, const uint32_t *segment, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        fold->queue[i] =
            nb_packed_kind(segment[i]) == NB_KIND_MARK
                ? nb_packed(nb_packed_character(segment[i]), NB_CLASS_EXTEND, NB_KIND_SIMPLE)
                : segment[i];
    fold->queued = count;
    fold->taken = 1;
    return fold->queue[0];
}

static uint32_t queue_folded(struct nb_fold *fold, const uint32_t *segment, unsigned count)
{
    uint32_t characters[NB_FOLD_SEGMENT];
    int32_t folded[NB_FOLD_QUEUE];
    for (unsigned i = 0; i < count; i++)
        characters[i] = nb_packed_character(segment[i]);
    unsigned n = nb_character_fold(characters, count, folded);
    if (n == 0) { /* never: only ignored characters fold to nothing, and none is in a segment */
        fold->queue[0] = nb_packed(0xFFFD, NB_CLASS_SYMBOL, NB_KIND_SIMPLE);
        n = 1;
    }
    for (unsigned i = 0; i < n; i++)
        fold->queue[i] =
            nb_packed((uint32_t)folded[i], nb_character_class((uint32_t)folded[i]), NB_KIND_SIMPLE);
    fold->queued = n;
    fold->taken = 1;
    return fold->queue[0];
}

uint32_t nb_fold_segment(struct nb_fold *fold, uint32_t first)
{
    assert(fold->taken == fold->queued && nb_packed_kind(first) != NB_KIND_IGNORED);
    uint32_t segment[NB_FOLD_SEGMENT] = {first};
    unsigned count = 1;
    /* Marks that never compose and are in canonical order already need no utf8proc: the vowel signs
     * and tones of Thai, Hebrew points and others. */
    bool unchanged =
        nb_packed_kind(first) == NB_KIND_SIMPLE || nb_packed_kind(first) == NB_KIND_MARK;
    unsigned order = nb_packed_kind(first) == NB_KIND_MARK ? nb_packed_class(first) : 0;
    while (count < NB_FOLD_SEGMENT) {
        enum nb_kind kind = nb_packed_kind(fold->ahead);
        if (kind != NB_KIND_MARK && kind != NB_KIND_JOINING)
            break;
        if (kind == NB_KIND_JOINING || nb_packed_class(fold->ahead) < order)
            unchanged = false;
        order = nb_packed_class(fold->ahead);
        segment[count++] = fold->ahead;
        nb_fold_advance(fold);
    }
    return unchanged ? queue_unchanged(fold, segment, count) : queue_folded(fold, segment, count);
}
