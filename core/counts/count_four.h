/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts a document in four rows at once, if the form of their cells stays the same: then all four
 * have the same bit layout. For core/counts only; under the model's write lock.
 */
#ifndef NB_CORE_COUNTS_COUNT_FOUR_H
#define NB_CORE_COUNTS_COUNT_FOUR_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/counts/counts.h"

enum { NB_COUNT_FOUR = 4 };

/* The addresses of four different rows, and which of them had no counts before. */
struct nb_four_places {
    struct nb_packed_row *rows[NB_COUNT_FOUR];
    uint32_t are_empty[NB_COUNT_FOUR]; /* 1, or 0 */
};

#ifdef __SSE2__
/* The two places of a label (nb_pair_places), repeated for four rows. */
struct nb_count_places {
    __m128i one, guard, form, most, shift; /* of codes */
    __m128i wide_one, wide_guard, wide_form, wide_most, wide_shift;
};

static inline struct nb_count_places nb_count_places(const struct nb_pair_place places[2])
{
    return (struct nb_count_places){.one = _mm_set1_epi32((int)places[0].one),
                                    .guard = _mm_set1_epi32((int)places[0].guard),
                                    .form = _mm_set1_epi32((int)places[0].form),
                                    .most = _mm_set1_epi32(places[0].most),
                                    .shift = _mm_cvtsi32_si128((int)places[0].shift),
                                    .wide_one = _mm_set1_epi64x((int64_t)places[1].one),
                                    .wide_guard = _mm_set1_epi64x((int64_t)places[1].guard),
                                    .wide_form = _mm_set1_epi64x((int64_t)places[1].form),
                                    .wide_most = _mm_set1_epi32(places[1].most),
                                    .wide_shift = _mm_cvtsi32_si128((int)places[1].shift)};
}

/* Returns the cells of two rows after counting. *carried is not 0 where a count overflows its bits,
 * or where the cells have another form. */
static inline __m128i nb_count_two(const struct nb_count_places *p, __m128i cells, __m128i more,
                                   __m128i *carried)
{
    __m128i added = _mm_add_epi64(_mm_sll_epi64(more, p->wide_shift), p->wide_one);
    __m128i sum = _mm_add_epi64(cells, added);
    __m128i changed = _mm_xor_si128(_mm_xor_si128(cells, added), sum);
    *carried =
        _mm_or_si128(_mm_and_si128(changed, p->wide_guard), _mm_and_si128(cells, p->wide_form));
    return sum;
}

static inline __m128i nb_count_load(const uint64_t *one, const uint64_t *other)
{
    __m128 low = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)one));
    return _mm_castps_si128(_mm_loadh_pi(low, (const __m64 *)(const void *)other));
}

static inline void nb_count_store(uint64_t *one, uint64_t *other, __m128i cells)
{
    _mm_storel_pi((__m64 *)(void *)one, _mm_castsi128_ps(cells));
    _mm_storeh_pi((__m64 *)(void *)other, _mm_castsi128_ps(cells));
}

/* As nb_pair_count, for four rows. False: the form of one of them would change, and nothing was
 * done. For a row that is not wide, a local dummy stands for its wide cells: if it used the cells
 * of another row, one of the four could undo what another has done. */
static inline __attribute__((always_inline)) bool
nb_count_four(const struct nb_counts_rows *all, const struct nb_count_places *p,
              const struct nb_row_count counts[NB_COUNT_FOUR], struct nb_four_places *at)
{
    enum { LOW = 0x88, HIGH = 0xDD };
    const __m128i zero = _mm_setzero_si128();
    uint64_t none = 0;
    uint64_t *wides[NB_COUNT_FOUR], *either[2] = {&none};
    __m128i codes = zero;
#pragma GCC unroll 4
    for (unsigned k = 0; k < NB_COUNT_FOUR; k++) {
        uint32_t row = counts[k].row;
        struct nb_packed_row *packed = nb_row_at(all->table, row);
        int32_t code = (int16_t)packed->code;
        uint64_t *cells = all->segments[row >> NB_ROW_SEGMENT_BITS].cells;
        at->rows[k] = packed;
        either[1] = &cells[code & (NB_CODE_WIDE - 1)];
        wides[k] = either[code < 0]; /* no branch: it would be unpredictable */
    }
    codes = _mm_insert_epi16(codes, at->rows[0]->code, 0);
    codes = _mm_insert_epi16(codes, at->rows[1]->code, 2);
    codes = _mm_insert_epi16(codes, at->rows[2]->code, 4);
    codes = _mm_insert_epi16(codes, at->rows[3]->code, 6);
    __m128 one = _mm_loadu_ps((const float *)(const void *)&counts[0]);
    __m128 other = _mm_loadu_ps((const float *)(const void *)&counts[2]);
    __m128i more =
        _mm_sub_epi32(_mm_castps_si128(_mm_shuffle_ps(one, other, HIGH)), _mm_set1_epi32(1));
    __m128i are_wide = _mm_cmpgt_epi32(codes, _mm_set1_epi32(NB_CODE_WIDE - 1));

    __m128i added = _mm_add_epi32(_mm_sll_epi32(more, p->shift), p->one);
    __m128i sum = _mm_add_epi32(codes, added);
    __m128i changed = _mm_xor_si128(_mm_xor_si128(codes, added), sum);
    __m128i carried = _mm_or_si128(_mm_and_si128(changed, p->guard), _mm_and_si128(codes, p->form));
    __m128i fits = _mm_andnot_si128(_mm_cmpgt_epi32(more, p->most), _mm_cmpeq_epi32(carried, zero));

    __m128i carried_low, carried_high;
    __m128i low = nb_count_two(p, nb_count_load(wides[0], wides[1]), _mm_unpacklo_epi32(more, zero),
                               &carried_low);
    __m128i high = nb_count_two(p, nb_count_load(wides[2], wides[3]),
                                _mm_unpackhi_epi32(more, zero), &carried_high);
    __m128 is_low = _mm_castsi128_ps(_mm_cmpeq_epi32(carried_low, zero));
    __m128 is_high = _mm_castsi128_ps(_mm_cmpeq_epi32(carried_high, zero));
    __m128i fit_wide = _mm_castps_si128(
        _mm_and_ps(_mm_shuffle_ps(is_low, is_high, LOW), _mm_shuffle_ps(is_low, is_high, HIGH)));
    fit_wide = _mm_andnot_si128(_mm_cmpgt_epi32(more, p->wide_most), fit_wide);
    __m128i all_fit =
        _mm_or_si128(_mm_and_si128(are_wide, fit_wide), _mm_andnot_si128(are_wide, fits));
    all_fit = _mm_andnot_si128(_mm_srai_epi32(more, 31), all_fit); /* 2^31 and more */
    if (_mm_movemask_epi8(all_fit) != 0xFFFF)
        return false;
    nb_count_store(wides[0], wides[1], low);
    nb_count_store(wides[2], wides[3], high);
    sum = _mm_add_epi32(codes, _mm_andnot_si128(are_wide, added));
    at->rows[0]->code = (uint16_t)_mm_extract_epi16(sum, 0);
    at->rows[1]->code = (uint16_t)_mm_extract_epi16(sum, 2);
    at->rows[2]->code = (uint16_t)_mm_extract_epi16(sum, 4);
    at->rows[3]->code = (uint16_t)_mm_extract_epi16(sum, 6);
    _mm_storeu_si128((__m128i *)(void *)at->are_empty,
                     _mm_srli_epi32(_mm_cmpeq_epi32(codes, zero), 31));
    return true;
}
#endif

#endif
