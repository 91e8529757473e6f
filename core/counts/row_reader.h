/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of a document by their numbers, in order: the id of each, and how many documents
 * of two labels have it. Each row passes three stages, so that no stage waits for memory: prefetch
 * the row; NB_READER_LOOKED rows before its turn, read its id and code and prefetch its wide cells;
 * then read its documents. Each stage handles four rows of the same bit layout at once; with one at
 * a time, learning mails takes 9 % more processor time. Any thread, under the model's read lock;
 * inline, because scoring spends its time here.
 */
#ifndef NB_CORE_COUNTS_ROW_READER_H
#define NB_CORE_COUNTS_ROW_READER_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/counts/counts.h"

enum {
    NB_READER_FOUR = 4,
    NB_READER_ASKED = NB_MODEL_AHEAD,      /* rows ahead of the turn: nb_reader_ask */
    NB_READER_LOOKED = NB_MODEL_AHEAD / 2, /* rows ahead of the turn: nb_reader_look */
    NB_READER_ROOM = NB_MODEL_AHEAD        /* rows in the ring buffers below */
};
_Static_assert(NB_READER_ROOM % NB_READER_FOUR == 0 && NB_READER_ROOM >= NB_READER_ASKED &&
                   NB_READER_ROOM >= NB_READER_LOOKED + NB_READER_FOUR,
               "there is room");

/* The pointers are copied from the model, so that the compiler need not reload them after stores of
 * results. */
struct nb_row_reader {
    unsigned char *const *table;
    const struct nb_wide_segment *segments;
    const struct nb_row_count *rows; /* borrowed */
    size_t size;
    const struct nb_packed_row *packed[NB_READER_ROOM]; /* of rows after nb_reader_ask */
    /* Of rows after nb_reader_look: */
    uint64_t ids[NB_READER_ROOM];
    int32_t codes[NB_READER_ROOM];         /* below 0: wide */
    const uint64_t *wides[NB_READER_ROOM]; /* wide cells; of another row if the row is not wide */
};

/* The order in which labels 0 and 1 are read, and the label of a document that is left out of all
 * rows. Masks have 16 bits for each of the two labels; the first one read has the lower half. */
struct nb_reader_labels {
    unsigned turn;  /* 0; or NB_PAIR_D if label 1 is read first */
    uint32_t one;   /* 1 in the half of the left-out document's label; 0: none is left out */
    uint32_t label; /* mask of that label; all bits: none is left out; 0: labels not 0 and 1 */
    uint32_t any;   /* as `label` if no document is left out; else 0 */
};

/* Documents of both labels in each of four rows, without the left-out document. */
struct nb_four_rows {
    uint64_t documents[NB_READER_FOUR]; /* of the first label in the lower half */
    uint32_t are_used[NB_READER_FOUR];  /* 1: a label has documents; else 0 */
};

static inline void nb_reader_init(struct nb_row_reader *r, const struct nb_model *model,
                                  const struct nb_row_count *rows, size_t size)
{
    r->table = model->rows.table;
    r->segments = model->wides.segments;
    r->rows = rows;
    r->size = size;
}

/* Prefetches the four rows from `i` on; `i` is a multiple of four. Callers of this function and the
 * next pass a constant `is_inside`. True: there are four rows, so no bound is checked. */
static inline __attribute__((always_inline)) void nb_reader_ask(struct nb_row_reader *r, size_t i,
                                                                bool is_inside)
{
    const size_t at = i % NB_READER_ROOM;
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        if (!is_inside && i + k >= r->size)
            break;
        const struct nb_packed_row *packed = nb_row_at(r->table, r->rows[i + k].row);
        nb_packed_row_prefetch(packed);
        r->packed[at + k] = packed;
    }
}

/* Reads the ids and codes of four rows after nb_reader_ask, and prefetches their wide cells. */
static inline __attribute__((always_inline)) void nb_reader_look(struct nb_row_reader *r, size_t i,
                                                                 bool is_inside)
{
    const size_t at = i % NB_READER_ROOM;
#pragma GCC unroll 4
    for (size_t k = 0; k < NB_READER_FOUR; k++) {
        if (!is_inside && i + k >= r->size)
            break;
        const struct nb_packed_row *packed = r->packed[at + k];
        int32_t code = (int16_t)packed->code;
        uint32_t number = (uint32_t)(code & code >> NB_ROW_SEGMENT_BITS) & (NB_CODE_WIDE - 1);
        const uint64_t *wide =
            &r->segments[r->rows[i + k].row >> NB_ROW_SEGMENT_BITS].cells[number];
        __builtin_prefetch(wide);
        r->ids[at + k] = packed->id;
        r->codes[at + k] = code;
        r->wides[at + k] = wide;
    }
}

/* Returns the ids of the four rows from `i` on, after nb_reader_look; `i` is a multiple of four. */
static inline const uint64_t *nb_reader_ids(const struct nb_row_reader *r, size_t i)
{
    return &r->ids[i % NB_READER_ROOM];
}

#ifdef __SSE2__
/* The wide cells of two rows. */
static inline __m128 nb_reader_two(const uint64_t *const wides[2])
{
    __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)wides[0]));
    return _mm_loadh_pi(low, (const __m64 *)(const void *)wides[1]);
}

/* Reads the documents of the four rows from `i` on, after nb_reader_look. False: a row is no pair,
 * or has no counts of the left-out document. `four` is invalid then, and the caller uses
 * nb_counts_of_two, which reads any row. */
static inline __attribute__((always_inline)) bool
nb_reader_read(const struct nb_row_reader *r, size_t i, const struct nb_reader_labels *labels,
               struct nb_four_rows *four)
{
    enum {
        LOW = 0x88,
        HIGH = 0xDD
    }; /* shuffles that take the low or high 32 bits of four wide cells */
    const __m128i zero = _mm_setzero_si128();
    const size_t at = i % NB_READER_ROOM;
    __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)(r->codes + at));
    __m128 one = nb_reader_two(r->wides + at), other = nb_reader_two(r->wides + at + 2);
    __m128i are_wide = _mm_srai_epi32(codes, 31);
    __m128i wide = _mm_and_si128(_mm_castps_si128(_mm_shuffle_ps(one, other, LOW)), are_wide);
    __m128i narrow =
        _mm_and_si128(_mm_or_si128(codes, _mm_slli_epi32(codes, NB_PAIR_D - NB_CODE_PAIR_D)),
                      _mm_set1_epi32(NB_CODE_PAIR_D_MOST << NB_PAIR_D | NB_CODE_PAIR_D_MOST));
    /* Rows that are no pairs: the form of a wide row is not 0, that of another row is 1. */
    __m128i form =
        _mm_srli_epi32(_mm_castps_si128(_mm_shuffle_ps(one, other, HIGH)), (int)NB_FORM_SHIFT - 32);
    __m128i is_single =
        _mm_cmpeq_epi32(_mm_srli_epi32(codes, NB_CODE_FORM_SHIFT), _mm_set1_epi32(1));
    __m128i other_form = _mm_or_si128(_mm_and_si128(form, are_wide), is_single);

    __m128i d = _mm_or_si128(wide, _mm_andnot_si128(are_wide, narrow));
    d = _mm_or_si128(_mm_sll_epi32(d, _mm_cvtsi32_si128((int)labels->turn)),
                     _mm_srl_epi32(d, _mm_cvtsi32_si128(32 - (int)labels->turn)));
    __m128i own = _mm_and_si128(_mm_or_si128(d, _mm_set1_epi32((int)labels->any)),
                                _mm_set1_epi32((int)labels->label));
    d = _mm_sub_epi32(d, _mm_set1_epi32((int)labels->one));
    __m128i is_used = _mm_add_epi32(_mm_cmpeq_epi32(d, zero), _mm_set1_epi32(1));
    _mm_storeu_si128((__m128i *)(void *)&four->documents[0], _mm_unpacklo_epi16(d, zero));
    _mm_storeu_si128((__m128i *)(void *)&four->documents[2], _mm_unpackhi_epi16(d, zero));
    _mm_storeu_si128((__m128i *)(void *)four->are_used, is_used);
    __m128i is_plain =
        _mm_andnot_si128(_mm_cmpeq_epi32(own, zero), _mm_cmpeq_epi32(other_form, zero));
    return _mm_movemask_epi8(is_plain) == 0xFFFF;
}
#else
static inline bool nb_reader_read(const struct nb_row_reader *r, size_t i,
                                  const struct nb_reader_labels *labels, struct nb_four_rows *four)
{
    (void)r, (void)i, (void)labels, (void)four;
    return false;
}
#endif

#endif
