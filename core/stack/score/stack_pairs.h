/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of a document with two labels by the usual bank: both experts have the power 1.5, and
 * what a feature says for them is computed at once, as two numbers. Only where __SSE2__ is defined;
 * elsewhere core/stack/score/stack_two.c computes the same bits for one expert after the other.
 */
#ifndef NB_CORE_STACK_SCORE_STACK_PAIRS_H
#define NB_CORE_STACK_SCORE_STACK_PAIRS_H

#ifdef __SSE2__
#include <emmintrin.h>
#include <string.h>

#include "core/stack/score/stack_notes.h"

/* The sums of both experts of the usual bank, and what they are made of. */
struct nb_stack_pairs {
    const struct nb_stack_reading *a, *b;
    const double *logs_a, *logs_b;
    uint32_t least; /* from this count on the logarithm is not in both tables */
    __m128d offsets[NB_FIELDS], sums[NB_FIELDS];
    struct nb_stack_twin_sums twin;
};

static inline __attribute__((always_inline)) struct nb_stack_pairs
nb_stack_begin_pairs(const struct nb_stack_pass *p)
{
    const struct nb_stack_reading *a = &p->readings[0], *b = &p->readings[1];
    struct nb_stack_pairs pairs = {.a = a,
                                   .b = b,
                                   .logs_a = a->logs.logs,
                                   .logs_b = b->logs.logs,
                                   .least =
                                       a->logs.size < b->logs.size ? a->logs.size : b->logs.size,
                                   .twin = nb_stack_twin_sums_of(p)};
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        pairs.offsets[field] = _mm_set_pd(p->offsets[NB_FIELDS + field], p->offsets[field]);
        pairs.sums[field] = _mm_setzero_pd();
    }
    return pairs;
}

/* The gains of both experts. */
static inline __m128d nb_stack_gains_of(const struct nb_stack_pairs *s, uint32_t first,
                                        uint32_t second)
{
    if ((first | second) >= s->least) /* the bits of both: not below either of them */
        return _mm_sub_pd(_mm_set_pd(nb_stack_log(s->b, first), nb_stack_log(s->a, first)),
                          _mm_set_pd(nb_stack_log(s->b, second), nb_stack_log(s->a, second)));
    return _mm_sub_pd(_mm_set_pd(s->logs_b[first], s->logs_a[first]),
                      _mm_set_pd(s->logs_b[second], s->logs_a[second]));
}

/* Returns the number of the second expert. */
static inline double nb_stack_last_of(__m128d pair)
{
    return _mm_cvtsd_f64(_mm_unpackhi_pd(pair, pair));
}

/* A feature that so many documents of each label have: adds r sqrt|r| of both experts, two square
 * roots for the time of one, and the same bits; nothing to the twin. Returns r of both; *e is what
 * was added. */
static inline __attribute__((always_inline)) __m128d
nb_stack_add_to_experts(struct nb_stack_pairs *s, uint32_t first, uint32_t second, unsigned field,
                        __m128d *e)
{
    const __m128d magnitude = _mm_castsi128_pd(_mm_set1_epi64x(INT64_MAX));
    __m128d r = _mm_sub_pd(nb_stack_gains_of(s, first, second), s->offsets[field]);
    *e = _mm_mul_pd(r, _mm_sqrt_pd(_mm_and_pd(r, magnitude)));
    s->sums[field] = _mm_add_pd(s->sums[field], *e);
    return r;
}

/* As nb_stack_add_to_experts, and adds to the twin. */
static inline __attribute__((always_inline)) __m128d
nb_stack_add_pair(struct nb_stack_pairs *s, uint32_t first, uint32_t second, unsigned field,
                  uint32_t key, __m128d *e)
{
    __m128d r = nb_stack_add_to_experts(s, first, second, field, e);
    nb_stack_add_to_twin(&s->twin, field, key, nb_stack_last_of(r));
    return r;
}

/* Keeps what a feature says, for an explanation. */
static inline __attribute__((always_inline)) void nb_stack_say(struct nb_stack_said *said,
                                                               __m128d e, __m128d r)
{
    _mm_storeu_pd(said->e, e);
    _mm_storeh_pd(&said->r, r);
}

/* Puts the sums into the inputs, and those of the twin into its evidence. */
static inline __attribute__((always_inline)) void nb_stack_end_pairs(const struct nb_stack_pass *p,
                                                                     const struct nb_stack_pairs *s)
{
    for (unsigned field = 0; field < NB_FIELDS; field++) {
        double *x = p->inputs->x + (size_t)field * 2;
        __m128d sums = s->sums[field];
        x[0] = _mm_cvtsd_f64(sums);
        x[(size_t)NB_STACK_GROUPS * 2] = _mm_cvtsd_f64(_mm_unpackhi_pd(sums, sums));
    }
    if (p->twin != NULL)
        memcpy(p->twin->gains, s->twin.gains, sizeof s->twin.gains);
}

#endif

#endif
