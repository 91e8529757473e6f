/* SPDX-License-Identifier: Apache-2.0
 *
 * EM over documents without a label, compared with slow EM that uses probabilities instead of
 * logarithms; and the resulting counts, compared with sums over the documents.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/random.h"
#include "core/bayes/expected.h"
#include "tests/unit/run.h"

enum { DOCUMENTS = 40, WORDS = 12, OTHERS = 3, COLUMNS = WORDS + OTHERS, LABELS = 3, LENGTH = 5 };

/* Documents in which each label has its own words, and all labels share some; the words of some
 * labelled documents; and features that are not words of the fit. */
struct corpus {
    size_t begin[DOCUMENTS + 1], middle[DOCUMENTS];
    uint32_t columns[DOCUMENTS * COLUMNS], counts[DOCUMENTS * COLUMNS];
    double labelled[WORDS * LABELS];
    struct nb_em_documents documents;
};

static uint32_t draw_word(struct nb_random *random, uint32_t label)
{
    bool own = nb_random_below(random, 10) < 6;
    return (uint32_t)(own ? (uint64_t)3 * label + nb_random_below(random, 3)
                          : 9 + nb_random_below(random, 3));
}

static void fill_corpus(struct corpus *c, uint64_t seed)
{
    struct nb_random random = {seed};
    size_t size = 0;
    *c = (struct corpus){
        .documents = {DOCUMENTS, c->begin, c->middle, c->begin + 1, c->columns, c->counts}};
    for (uint32_t d = 0; d < DOCUMENTS; d++) {
        unsigned counts[COLUMNS] = {0};
        for (int i = 0; i < LENGTH; i++)
            counts[draw_word(&random, d % LABELS)]++;
        counts[WORDS + nb_random_below(&random, OTHERS)] = 2;
        c->begin[d] = size;
        for (uint32_t w = 0; w < COLUMNS; w++) {
            if (w == WORDS)
                c->middle[d] = size;
            if (counts[w] == 0)
                continue;
            c->columns[size] = w;
            c->counts[size++] = counts[w];
        }
    }
    c->begin[DOCUMENTS] = size;
    for (uint32_t v = 0; v < LABELS; v++) {
        for (int i = 0; i < 6; i++)
            c->labelled[draw_word(&random, v) * LABELS + v]++;
    }
}

static const double given[LABELS] = {1, 5, 2};

static struct nb_em_question question_of(const struct corpus *c)
{
    return (struct nb_em_question){.documents = &c->documents,
                                   .words = WORDS,
                                   .labels = LABELS,
                                   .counts = c->labelled,
                                   .shares = given,
                                   .weight = 0.3,
                                   .smoothing = 0.1,
                                   .iterations_most = 50};
}

/* ---- the slow computation -------------------------------------------------------------------- */

struct slow {
    double share[LABELS], word[WORDS][LABELS]; /* pi, theta */
    double r[DOCUMENTS][LABELS];
    double objective;
};

static double times_of(const struct nb_em_question *q, size_t i)
{
    return q->is_binary ? 1 : q->documents->counts[i];
}

static void slow_maximize(const struct nb_em_question *q, struct slow *s, bool first)
{
    const struct nb_em_documents *d = q->documents;
    double weight = first ? 0 : q->weight;
    double all = 0;
    for (uint32_t v = 0; v < LABELS; v++) {
        double sum = 0;
        s->share[v] = q->shares[v];
        for (uint32_t w = 0; w < WORDS; w++)
            s->word[w][v] = q->counts[w * LABELS + v] + q->smoothing;
        for (size_t i = 0; i < DOCUMENTS; i++) {
            for (size_t j = d->begin[i]; j < d->middle[i]; j++)
                s->word[d->columns[j]][v] += weight * s->r[i][v] * times_of(q, j);
        }
        for (uint32_t w = 0; w < WORDS; w++)
            sum += s->word[w][v];
        for (uint32_t w = 0; w < WORDS; w++)
            s->word[w][v] /= sum;
        all += s->share[v];
    }
    for (uint32_t v = 0; v < LABELS; v++)
        s->share[v] /= all;
}

static void slow_expect(const struct nb_em_question *q, struct slow *s, double beta)
{
    const struct nb_em_documents *d = q->documents;
    s->objective = 0;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        double all = 0;
        for (uint32_t v = 0; v < LABELS; v++) {
            s->r[i][v] = s->share[v];
            for (size_t j = d->begin[i]; j < d->middle[i]; j++)
                s->r[i][v] *= pow(s->word[d->columns[j]][v], beta * times_of(q, j));
            all += s->r[i][v];
        }
        for (uint32_t v = 0; v < LABELS; v++)
            s->r[i][v] /= all;
        s->objective += q->weight * log(all);
    }
    for (uint32_t v = 0; v < LABELS; v++) {
        for (uint32_t w = 0; w < WORDS; w++)
            s->objective += (q->counts[w * LABELS + v] + q->smoothing) * log(s->word[w][v]);
    }
}

/* Returns the part of r that is left when small shares are left out. */
static double kept_share(const struct slow *s, size_t document, uint32_t label)
{
    double sum = 0;
    for (uint32_t v = 0; v < LABELS; v++)
        sum += s->r[document][v] >= 1e-3 ? s->r[document][v] : 0;
    return s->r[document][label] >= 1e-3 ? s->r[document][label] / sum : 0;
}

static double share_of(const struct nb_em *em, size_t document, uint32_t label)
{
    for (size_t i = em->begin[document]; i < em->begin[document + 1]; i++)
        if (em->labels[i] == label)
            return em->shares[i];
    return 0;
}

/* ---- EM -------------------------------------------------------------------------------------- */

/* Returns the n-th question; the kinds of question take turns. */
static struct nb_em_question nth_question(const struct corpus *c, unsigned n)
{
    struct nb_em_question q = question_of(c);
    q.is_binary = n % 2 == 1;
    q.weight = n % 5 == 0 ? 1 : 0.03 * n;
    q.smoothing = n % 4 == 0 ? 1 : 0.01 * n;
    return q;
}

START_TEST(as_computed_slowly)
{
    for (unsigned n = 1; n < 30; n++) {
        struct corpus c;
        struct nb_em em;
        struct slow s = {.objective = 0};
        fill_corpus(&c, n);
        struct nb_em_question q = nth_question(&c, n);
        ck_assert_int_eq(nb_em_fit(&q, &em), 0);
        for (unsigned i = 0; i < em.iterations; i++) {
            slow_maximize(&q, &s, i == 0);
            slow_expect(&q, &s, fmin(0.02 * pow(1.35, i), 1));
        }
        ck_assert_double_eq_tol(em.log_likelihood, s.objective, 1e-9 * fabs(s.objective));
        for (size_t d = 0; d < DOCUMENTS; d++)
            for (uint32_t v = 0; v < LABELS; v++)
                ck_assert_double_eq_tol(share_of(&em, d, v), kept_share(&s, d, v), 1e-9);
        nb_em_deinit(&em);
    }
}
END_TEST

START_TEST(never_falls_and_ends)
{
    for (unsigned n = 1; n < 30; n++) {
        struct corpus c;
        double before = -(double)INFINITY;
        bool has_ended = false;
        fill_corpus(&c, 100 + n);
        struct nb_em_question q = nth_question(&c, n);
        for (q.iterations_most = 1; q.iterations_most < 200 && !has_ended; q.iterations_most++) {
            struct nb_em em;
            ck_assert_int_eq(nb_em_fit(&q, &em), 0);
            bool is_cold = em.iterations > 15; /* beta is 1 from the 15th E step on */
            ck_assert(!is_cold || em.log_likelihood >= before - 1e-9 * fabs(before));
            ck_assert(em.log_likelihood >= em.first - 1e-9 * fabs(em.first));
            has_ended = em.iterations < q.iterations_most;
            before = em.log_likelihood;
            nb_em_deinit(&em);
        }
        ck_assert(has_ended);
    }
}
END_TEST

static bool at_once(void *user)
{
    ++*(int *)user;
    return true;
}

START_TEST(stops)
{
    struct corpus c;
    struct nb_em em;
    int asked = 0;
    fill_corpus(&c, 1);
    struct nb_em_question q = question_of(&c);
    q.stop = at_once;
    q.user = &asked;
    ck_assert_int_eq(nb_em_fit(&q, &em), NB_STOPPING);
    ck_assert_int_eq(asked, 1);
    ck_assert_ptr_null(em.shares);
}
END_TEST

/* ---- counts ---------------------------------------------------------------------------------- */

/* Column c is row ROW_OF(c): columns are in another order than rows, and the rows between have no
 * column. */
#define ROW_OF(column) (2 * (COLUMNS - (column)))

struct features {
    uint32_t rows[COLUMNS];
    uint64_t ids[COLUMNS];
    bool learned[COLUMNS];
};

static struct nb_expected_columns columns_of(struct features *f)
{
    for (uint32_t c = 0; c < COLUMNS; c++) {
        f->rows[c] = ROW_OF(c);
        f->ids[c] = nb_feature_id(c >= WORDS   ? NB_FIELD_PAIR
                                  : c % 2 == 0 ? NB_FIELD_SUBJECT
                                               : NB_FIELD_BODY,
                                  1000 + c);
        f->learned[c] = c % 3 == 0;
    }
    return (struct nb_expected_columns){COLUMNS, f->rows, f->ids, f->learned, 0, NULL};
}

static const uint32_t numbers[LABELS] = {4, 1, 6};

/* Returns occurrences and documents of a column under a label, counted from the documents. */
static struct nb_expected_cell slow_cell(const struct corpus *c, const struct nb_em *em,
                                         uint32_t column, uint32_t label)
{
    struct nb_expected_cell cell = {.label = numbers[label]};
    for (size_t d = 0; d < DOCUMENTS; d++)
        for (size_t i = c->begin[d]; i < c->begin[d + 1]; i++)
            if (c->columns[i] == column) {
                cell.occurrences += share_of(em, d, label) * c->counts[i];
                cell.documents += share_of(em, d, label);
            }
    return cell;
}

static struct nb_expected_cell cell_of(const struct nb_expected *e, const struct features *f,
                                       uint32_t column, uint32_t label)
{
    const struct nb_expected_cell *cells;
    size_t size = nb_expected_find(e, f->rows[column], f->ids[column], &cells);
    for (size_t i = 0; i < size; i++)
        if (cells[i].label == numbers[label])
            return cells[i];
    return (struct nb_expected_cell){.label = numbers[label]};
}

static void check_sums(const struct nb_expected *e, const struct features *f,
                       const struct corpus *c, const struct nb_em *em)
{
    for (uint32_t v = 0; v < LABELS; v++) {
        double occurrences[NB_FIELDS + 1] = {0}, presences[NB_FIELDS + 1] = {0}, documents = 0;
        for (uint32_t w = 0; w < COLUMNS; w++) {
            struct nb_expected_cell slow = slow_cell(c, em, w, v);
            struct nb_expected_cell cell = cell_of(e, f, w, v);
            unsigned field = nb_feature_field(f->ids[w]);
            ck_assert_double_eq_tol(cell.occurrences, slow.occurrences, 1e-9);
            ck_assert_double_eq_tol(cell.documents, slow.documents, 1e-9);
            occurrences[field] += slow.occurrences;
            presences[field] += slow.documents;
            occurrences[NB_FIELDS] += w < WORDS ? slow.occurrences : 0;
            presences[NB_FIELDS] += w < WORDS ? slow.documents : 0;
        }
        for (unsigned field = 0; field <= NB_FIELDS; field++) {
            ck_assert_double_eq_tol(nb_expected_sum(e, numbers[v], field, false),
                                    occurrences[field], 1e-9);
            ck_assert_double_eq_tol(nb_expected_sum(e, numbers[v], field, true), presences[field],
                                    1e-9);
        }
        for (size_t d = 0; d < DOCUMENTS; d++)
            documents += share_of(em, d, v);
        ck_assert_double_eq_tol(nb_expected_documents(e, numbers[v]), documents, 1e-9);
    }
}

START_TEST(counts_are_sums_of_shares)
{
    const uint64_t vocabulary[NB_FIELDS + 1] = {[NB_FIELD_BODY] = 10, [NB_FIELDS] = 15};
    const struct nb_expected_cell *cells;
    struct features f;
    struct nb_expected_columns columns = columns_of(&f);
    for (unsigned n = 1; n < 10; n++) {
        struct corpus c;
        struct nb_em em;
        struct nb_expected *e;
        fill_corpus(&c, n);
        struct nb_em_question q = question_of(&c);
        ck_assert_int_eq(nb_em_fit(&q, &em), 0);
        ck_assert_int_eq(
            nb_expected_new(&columns, &c.documents, &em, numbers, LABELS, vocabulary, &e), 0);
        check_sums(e, &f, &c, &em);
        /* Rows of columns that were not learned are new to the vocabulary. */
        ck_assert_uint_eq(e->vocabulary[NB_FIELD_BODY], 10 + 4);
        ck_assert_uint_eq(e->vocabulary[NB_FIELD_SUBJECT], 4);
        ck_assert_uint_eq(e->vocabulary[NB_FIELDS], 15 + 8);
        /* Other features, rows without a column, and rows and labels that came later. */
        ck_assert_uint_eq(nb_expected_find(e, f.rows[0], f.ids[1], &cells), 0);
        ck_assert_uint_eq(nb_expected_find(e, f.rows[0] - 1, f.ids[0], &cells), 0);
        ck_assert_uint_eq(nb_expected_find(e, 1000, f.ids[0], &cells), 0);
        ck_assert_double_eq(nb_expected_sum(e, 7, NB_FIELDS, true), 0);
        ck_assert_double_eq(nb_expected_documents(e, 7), 0);
        nb_em_deinit(&em);
        nb_expected_release(&e);
    }
}
END_TEST

START_TEST(given_labels_are_whole)
{
    struct corpus c;
    struct nb_em em;
    uint32_t labels[DOCUMENTS];
    fill_corpus(&c, 3);
    for (uint32_t d = 0; d < DOCUMENTS; d++)
        labels[d] = d % LABELS;
    ck_assert_int_eq(nb_em_given(labels, DOCUMENTS, &em), 0);
    for (uint32_t d = 0; d < DOCUMENTS; d++)
        for (uint32_t v = 0; v < LABELS; v++)
            ck_assert_double_eq(share_of(&em, d, v), v == labels[d] ? 1 : 0);
    nb_em_deinit(&em);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("expected");
    TCase *t = tcase_create("expected");
    suite_add_tcase(s, t);
    tcase_add_test(t, as_computed_slowly);
    tcase_add_test(t, never_falls_and_ends);
    tcase_add_test(t, stops);
    tcase_add_test(t, counts_are_sums_of_shares);
    tcase_add_test(t, given_labels_are_whole);
    return test_run(s);
}
