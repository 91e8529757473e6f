/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the rows of a document by their numbers, in order: the id of each, and how many documents
 * of two labels have it. Each row passes three stages, so that nobody waits for memory: prefetch
 * the row; half the distance later read its id and code and prefetch its wide cells; then read its
 * documents. Each stage handles four rows at once, which have the same bit layout. Any thread,
 * under the model's read lock; inline, because scoring spends its time here.
 */
#ifndef NB_CORE_COUNTS_ROW_READER_H
#define NB_CORE_COUNTS_ROW_READER_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/counts/counts.h"

enum {
    NB_READER_FOUR = 4,
    NB_READER_ASKED = NB_MODEL_AHEAD,      /* so many rows before its turn a row is asked for, */
    NB_READER_LOOKED = NB_MODEL_AHEAD / 2, /* and looked at */
    NB_READER_ROOM = NB_MODEL_AHEAD        /* of the rings below */
};
_Static_assert(NB_READER_ROOM % NB_READER_FOUR == 0 && NB_READER_ROOM >= NB_READER_ASKED &&
                   NB_READER_ROOM >= NB_READER_LOOKED + NB_READER_FOUR,
               "there is room");

/* The model's pointers are copies, so that the compiler need not reload them after stores of
 * results. */
struct nb_row_reader {
    unsigned char *const *table;
    const struct nb_wide_segment *segments;
    const struct nb_row_count *rows; /* borrowed */
    size_t size;
    const struct nb_packed_row *packed[NB_READER_ROOM]; /* of rows that were asked for */
    /* Of those that were looked at: */
    uint64_t ids[NB_READER_ROOM];
    int32_t codes[NB_READER_ROOM];         /* below 0: wide */
    const uint64_t *wides[NB_READER_ROOM]; /* wide cells; of a row that has none, those of others */
};

/* Labels 0 and 1 in the order in which they are read, and what a document that is left out has of
 * each row, in 16 bits for each, the first from below. */
struct nb_reader_labels {
    unsigned turn;  /* 0; or NB_PAIR_D: label 1 is the first */
    uint32_t one;   /* 1 for its label; 0: none is left out */
    uint32_t label; /* all bits of its label, which are not all 0 in a row it has */
    uint32_t any;   /* the same, if none is left out; else 0 */
};

/* Documents of both labels, without the one that is left out. */
struct nb_four_rows {
    uint64_t documents[NB_READER_FOUR]; /* of the first label in the lower half */
    uint32_t are_used[NB_READER_FOUR];  /* 1: one of them is not 0 */
};

static inline void nb_reader_init(struct nb_row_reader *r, const struct nb_model *model,
                                  const struct nb_row_count *rows, size_t size)
{
    r->table = model->rows.table;
    r->segments = model->wides.segments;
    r->rows = rows;
    r->size = size;
}

/* Asks for the rows from `i` on, which is a multiple of four. A constant where this is called, as
 * in the next one, is `is_inside`: there are four. */
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

/* Reads ids and codes of rows that were asked for. */
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

/* The ids of the four rows from `i` on, which is a multiple of four, that were looked at. */
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

/* Reads the documents of the four rows from `i` on, which were looked at. False: a row has another
 * form, or lacks the document that is left out. `four` is invalid then, and the caller uses
 * nb_counts_of_two, which reads any row. */
static inline __attribute__((always_inline)) bool
nb_reader_read(const struct nb_row_reader *r, size_t i, const struct nb_reader_labels *labels,
               struct nb_four_rows *four)
{
    enum { LOW = 0x88, HIGH = 0xDD }; /* halves of two wide cells, and of two others */
    const __m128i zero = _mm_setzero_si128();
    const size_t at = i % NB_READER_ROOM;
    __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)(r->codes + at));
    __m128 one = nb_reader_two(r->wides + at), other = nb_reader_two(r->wides + at + 2);
    __m128i are_wide = _mm_srai_epi32(codes, 31);
    __m128i wide = _mm_and_si128(_mm_castps_si128(_mm_shuffle_ps(one, other, LOW)), are_wide);
    __m128i narrow =
        _mm_and_si128(_mm_or_si128(codes, _mm_slli_epi32(codes, NB_PAIR_D - NB_CODE_PAIR_D)),
                      _mm_set1_epi32(NB_CODE_PAIR_D_MOST << NB_PAIR_D | NB_CODE_PAIR_D_MOST));
    /* What is no pair: of a wide one the form is not 0, of another one 1. */
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
