/* SPDX-License-Identifier: Apache-2.0
 *
 * The sums of a document with two labels: one column of them, with r and e of the first label;
 * those of the second are minus these, to the bit. Of a bag they are added up while its rows are
 * read (stack_two_rows.c). Where a document is left out, all its rows are looked at before the
 * first is summed, because the offsets follow from them; so it is noted what each of them has
 * (stack_two_rows.c), and summed here.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/base/array.h"
#include "core/stack/score/stack_notes.h"
#include "core/stack/score/stack_pairs.h"
#include "core/stack/score/stack_two_rows.h"

/* ---- sums of what was noted ------------------------------------------------------------------ */

/* What the twin learns from, of what was said. */
static void keep_terms(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    for (size_t i = 0; i < in->noted_count; i++)
        nb_stack_put_term(&p->twin->terms[p->twin->term_count++], in->said[i].r,
                          (uint32_t)in->noted[i].id, nb_feature_field(in->noted[i].id));
    assert(p->twin->term_count <= p->twin->term_room);
}

#ifdef __SSE2__
static inline __attribute__((always_inline)) __m128d
add_noted(struct nb_stack_pairs *s, const struct nb_stack_noted *noted, __m128d *e)
{
    return nb_stack_add_pair(s, noted->first, noted->second, nb_feature_field(noted->id),
                             (uint32_t)noted->id, e);
}

/* Adds the notes to the sums, in their order, and keeps the data that an explanation needs. */
static void add_pairs(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct nb_stack_said *said = p->inputs->said;
    struct nb_stack_pairs pairs = nb_stack_begin_pairs(p);
    __m128d e;
    for (size_t i = 0, count = p->inputs->noted_count; i < count; i++) {
        __m128d r = add_noted(&pairs, &noted[i], &e);
        nb_stack_say(&said[i], e, r);
    }
    nb_stack_end_pairs(p, &pairs);
}

/* Sums notes of rows without a twin or an explanation, as for most documents of a refit. */
static void add_pairs_alone(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct nb_stack_pairs pairs = nb_stack_begin_pairs(p);
    __m128d e;
    for (size_t i = 0, count = p->inputs->noted_count; i < count; i++)
        (void)nb_stack_add_to_experts(&pairs, noted[i].first, noted[i].second,
                                      nb_feature_field(noted[i].id), &e);
    nb_stack_end_pairs(p, &pairs);
}

/* As add_pairs_alone, with a twin. */
static void add_pairs_of_rows(const struct nb_stack_pass *p)
{
    const struct nb_stack_noted *noted = p->inputs->noted;
    struct nb_stack_term *terms = nb_stack_keeps_terms(p) ? p->twin->terms : NULL;
    struct nb_stack_pairs pairs = nb_stack_begin_pairs(p);
    size_t count = p->inputs->noted_count;
    __m128d e;
    for (size_t i = 0; i < count; i++) {
        __m128d r = add_noted(&pairs, &noted[i], &e);
        if (terms != NULL)
            nb_stack_put_term(&terms[i], nb_stack_last_of(r), (uint32_t)noted[i].id,
                              nb_feature_field(noted[i].id));
    }
    if (terms != NULL)
        p->twin->term_count = count;
    nb_stack_end_pairs(p, &pairs);
}
#endif

/* The sums of any bank from what was noted. */
static void add_each(const struct nb_stack_pass *p)
{
    const struct nb_stack_inputs *in = p->inputs;
    struct nb_stack_twin_sums twin = nb_stack_twin_sums_of(p);
    for (size_t i = 0; i < in->noted_count; i++) {
        const struct nb_stack_noted *n = &in->noted[i];
        struct nb_stack_said *said = &in->said[i];
        unsigned field = nb_feature_field(n->id);
        double *x = in->x + (size_t)field * 2;
        memset(said->e, 0, sizeof said->e);
        for (unsigned e = 0; e < p->experts; e++, x += (size_t)NB_STACK_GROUPS * 2) {
            const struct nb_stack_reading *reading = &p->readings[e];
            said->r = nb_stack_log(reading, n->first) - nb_stack_log(reading, n->second) -
                      p->offsets[e * NB_FIELDS + field];
            said->e[e] = nb_stack_power(reading, said->r);
            *x += said->e[e];
        }
        nb_stack_add_to_twin(&twin, field, (uint32_t)n->id, said->r);
    }
    if (p->twin != NULL)
        memcpy(p->twin->gains, twin.gains, sizeof twin.gains);
}

/* ---- the pass -------------------------------------------------------------------------------- */

/* Whether nobody asks what each row says. */
static bool is_silent(const struct nb_stack_pass *p)
{
#ifdef __SSE2__
    return p->are_roots && p->is_of_rows;
#else
    (void)p;
    return false;
#endif
}

int nb_stack_two_start(struct nb_stack_pass *p, size_t size)
{
    struct nb_stack_inputs *in = p->inputs;
    p->are_roots = p->experts == 2 && p->readings[0].kind == NB_POWER_1_5 &&
                   p->readings[1].kind == NB_POWER_1_5;
    p->is_summed = false;
    in->noted_count = in->said_count = 0;
    int rc = nb_array_renew(&in->noted, &in->noted_room, size, sizeof *in->noted);
    return rc != 0 || is_silent(p)
               ? rc
               : nb_array_renew(&in->said, &in->said_room, size, sizeof *in->said);
}

void nb_stack_two_add(struct nb_stack_pass *p, const struct nb_feature *features, size_t size,
                      const struct nb_found *known)
{
#ifdef __SSE2__
    p->is_summed = p->are_roots && (p->twin == NULL || !p->twin->keeps) && p->view->labels[0] < 2;
    if (p->is_summed) {
        nb_stack_two_sum_bag(p, features, size, known);
        return;
    }
#endif
    nb_stack_two_note_bag(p, features, size, known);
}

size_t nb_stack_two_survey(struct nb_stack_pass *p, const struct nb_row_count *rows, size_t size,
                           struct nb_stack_without *without)
{
    assert(p->is_of_rows);
#ifdef __SSE2__
    const uint32_t *labels = p->view->labels;
    p->is_summed =
        p->are_roots && p->without == NULL && p->view->size == 2 && labels[0] < 2 && labels[1] < 2;
    if (p->is_summed)
        return nb_stack_two_sum_rows(p, rows, size, without);
#endif
    return nb_stack_two_note_rows(p, rows, size, without);
}

void nb_stack_two_finish(const struct nb_stack_pass *p)
{
    if (p->is_summed)
        return;
#ifdef __SSE2__
    if (is_silent(p)) {
        (p->twin == NULL ? add_pairs_alone : add_pairs_of_rows)(p);
        return;
    }
    if (p->are_roots)
        add_pairs(p);
    else
#endif
        add_each(p);
    p->inputs->said_count = p->inputs->noted_count;
    if (nb_stack_keeps_terms(p))
        keep_terms(p);
}
