/* SPDX-License-Identifier: Apache-2.0
 *
 * Folds UTF-8 text one character at a time: NFKC with full case folding, default-ignorable
 * characters removed. A fold belongs to one thread.
 *
 * A character that folds by itself needs one look into the table. Segments in which marks may
 * compose, or in which a character becomes several, go through utf8proc. A segment has at most
 * NB_FOLD_SEGMENT characters (the Stream-Safe Text Format of UAX #15 allows no more), so that the
 * time stays linear whatever number of marks a text piles up.
 */
#ifndef NB_TOKENIZER_TEXT_FOLD_H
#define NB_TOKENIZER_TEXT_FOLD_H

#include "tokenizer/text/character.h"
#include "tokenizer/text/utf8_decode.h"

struct nb_fold {
    const unsigned char *at; /* behind `ahead` */
    const unsigned char *end;
    const unsigned char *ahead_at; /* position of `ahead` in the text; `end` when there is none */
    const unsigned char *from;     /* position of the character that was returned last */
    uint32_t ahead;                /* packed: the next character, never of NB_KIND_IGNORED */
    unsigned taken, queued;        /* characters of `queue`: returned, and in all */
    uint32_t queue[NB_FOLD_QUEUE];
};

/* Reads the next character that is not ignored into `ahead`. */
static inline void nb_fold_advance(struct nb_fold *fold)
{
    do {
        fold->ahead_at = fold->at;
        if (fold->at == fold->end) {
            fold->ahead = nb_packed(0, NB_CLASS_END, NB_KIND_SIMPLE);
            return;
        }
        fold->ahead = nb_character(nb_utf8_decode(&fold->at, fold->end));
    } while (nb_packed_kind(fold->ahead) == NB_KIND_IGNORED);
}

/* Begins to fold the text from `at`, the first byte of a character, to `end`. The text is
 * borrowed. */
static inline void nb_fold_begin(struct nb_fold *fold, const unsigned char *at,
                                 const unsigned char *end)
{
    fold->at = at;
    fold->end = end;
    fold->taken = fold->queued = 0;
    nb_fold_advance(fold);
}

/* Folds the segment that begins with `first` and continues with `ahead`; returns its first
 * character and queues the others. */
uint32_t nb_fold_segment(struct nb_fold *fold, uint32_t first);

/* Returns the next folded character with its class (nb_packed_character, nb_packed_class). At the
 * end of the text it returns a character of NB_CLASS_END, however often it is called. */
static inline uint32_t nb_fold_next(struct nb_fold *fold)
{
    if (fold->taken < fold->queued)
        return fold->queue[fold->taken++];
    fold->from = fold->ahead_at;
    uint32_t packed = fold->ahead;
    if (fold->from == fold->end)
        return packed;
    nb_fold_advance(fold);
    enum nb_kind next = nb_packed_kind(fold->ahead);
    if (nb_packed_kind(packed) == NB_KIND_SIMPLE &&
        (next == NB_KIND_SIMPLE || next == NB_KIND_EXPANDING))
        return packed;
    return nb_fold_segment(fold, packed);
}

#endif
