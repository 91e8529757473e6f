/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares a model with its challenger, document by document.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/jobs/challenger/challenger.h"
#include "core/jobs/challenger/challenger_private.h"
#include "core/model/learner.h"
#include "core/model/registry.h"

enum { DOCUMENTS_AT_ONCE = 500 /* looked at in one snapshot */ };

static const double LEAST = 1e-6; /* as in the evaluation */

/* A document that both have scored. */
struct row {
    uint64_t first; /* its place in the order of arrival at the champion */
    double loss, other_loss;
    bool is_wrong, is_other_wrong;
};

struct comparing {
    struct nb_ledger_steps steps;
    struct nb_live *champion, *challenger;
    struct nb_challenger_pair pair;
    struct nb_stored_score_lists lists;
    struct row *rows; /* owned */
    size_t count, room;
    uint64_t behind;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads a score; sets *has to whether the model could score the document. */
static int read_score(struct comparing *c, struct nb_string stored, double *loss, bool *is_wrong,
                      bool *has, struct nb_error *error)
{
    struct nb_stored_score scored;
    double best = -1, of_right = 0;
    uint32_t winner = UINT32_MAX;
    *has = false;
    int rc = stored.length > 0 ? nb_stored_score_read(stored, &c->lists, &scored, error) : 0;
    if (rc != 0 || stored.length == 0 || scored.size == 0)
        return rc;
    assert(scored.labels != NULL && scored.probabilities != NULL);
    for (uint32_t i = 0; i < scored.size; i++) {
        if (scored.labels[i] == scored.label)
            of_right = scored.probabilities[i];
        if (scored.probabilities[i] > best) {
            best = scored.probabilities[i];
            winner = scored.labels[i];
        }
    }
    *has = true;
    *loss = -log(fmin(fmax(of_right, LEAST), 1 - LEAST));
    *is_wrong = winner != scored.label;
    return 0;
}

static int compare_one(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct comparing *c = user;
    const struct nb_change *change = &entry->change;
    struct row row = {.first = change->first != 0 ? change->first : entry->number};
    bool is_same, has = false, has_other = false;
    int rc = nb_challenger_has(&c->steps.view, c->champion, c->challenger, entry, &c->pair,
                               &is_same, error);
    if (rc == 0 && !is_same)
        c->behind++;
    if (rc != 0 || !is_same)
        return rc;
    rc = read_score(c, change->score, &row.loss, &row.is_wrong, &has, error);
    if (rc == 0)
        rc = read_score(c, c->pair.other.change.score, &row.other_loss, &row.is_other_wrong,
                        &has_other, error);
    if (rc != 0 || !has || !has_other)
        return rc;
    if (nb_array_reserve(&c->rows, &c->room, c->count + 1, sizeof *c->rows) != 0)
        return nb_error_no_memory(error);
    c->rows[c->count++] = row;
    return 0;
}

static int by_arrival(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* ---- figures --------------------------------------------------------------------------------- */

/* Twice the lower tail of the binomial distribution of n trials at one half, in logarithms. */
double nb_mcnemar(uint64_t only_a, uint64_t only_b)
{
    uint64_t least = only_a < only_b ? only_a : only_b, n = only_a + only_b;
    double tail = 0, ways = lgamma((double)n + 1) - (double)n * M_LN2;
    for (uint64_t k = 0; k <= least && n > 0; k++)
        tail += exp(ways - lgamma((double)k + 1) - lgamma((double)(n - k) + 1));
    return n == 0 ? 1 : fmin(1, 2 * tail);
}

static void finish_difference(struct nb_challenger_window *w, double sum, double squares)
{
    double n = (double)w->documents;
    w->difference = sum / n;
    double variance =
        n > 1 ? fmax(0, squares - n * w->difference * w->difference) / (n - 1) : (double)NAN;
    w->error = sqrt(variance / n);
    w->difference_p = w->error > 0 ? erfc(fabs(w->difference) / w->error / M_SQRT2) : (double)NAN;
    if (w->error == 0 && sum == 0)
        w->difference_p = 1;
}

static void fill_window(const struct comparing *c, struct nb_challenger_window *w)
{
    size_t most = w->window == 0 || w->window > c->count ? c->count : (size_t)w->window;
    double sum = 0, squares = 0;
    w->documents = most;
    w->difference = w->error = w->difference_p = w->mcnemar_p = (double)NAN;
    if (most == 0)
        return;
    for (size_t i = c->count - most; i < c->count; i++) {
        const struct row *row = &c->rows[i];
        double difference = row->other_loss - row->loss;
        w->champion.errors += row->is_wrong;
        w->challenger.errors += row->is_other_wrong;
        w->only_champion += !row->is_wrong && row->is_other_wrong;
        w->only_challenger += row->is_wrong && !row->is_other_wrong;
        w->champion.log_loss += row->loss;
        w->challenger.log_loss += row->other_loss;
        sum += difference;
        squares += difference * difference;
    }
    w->champion.log_loss /= (double)most;
    w->challenger.log_loss /= (double)most;
    w->mcnemar_p = nb_mcnemar(w->only_champion, w->only_challenger);
    finish_difference(w, sum, squares);
}

static void fill_progress(const struct comparing *c, struct nb_challenger_report *report)
{
    size_t count = c->count < NB_PROGRESS_STRETCHES ? c->count : NB_PROGRESS_STRETCHES;
    report->progress_count = count;
    for (size_t i = 0; i < count; i++) {
        struct nb_challenger_stretch *stretch = &report->progress[i];
        *stretch = (struct nb_challenger_stretch){.documents = 0};
        for (size_t k = c->count * i / count; k < c->count * (i + 1) / count; k++) {
            stretch->documents++;
            stretch->champion_errors += c->rows[k].is_wrong;
            stretch->challenger_errors += c->rows[k].is_other_wrong;
        }
    }
}

static void fill(struct comparing *c, struct nb_challenger_report *report)
{
    struct nb_published *published = nb_live_settings(c->champion);
    *report = (struct nb_challenger_report){.behind = c->behind};
    report->windows[0].window = published->settings.evaluation_short;
    report->windows[1].window = published->settings.evaluation_long;
    nb_published_release(&published);
    if (c->count > 1)
        qsort(c->rows, c->count, sizeof *c->rows, by_arrival);
    for (size_t i = 0; i < NB_EVALUATION_WINDOWS; i++)
        fill_window(c, &report->windows[i]);
    fill_progress(c, report);
}

/* ---- which documents ------------------------------------------------------------------------- */

/* The place where the documents to compare begin. */
struct beginning {
    uint64_t skipped, count; /* documents before it; documents seen */
    uint64_t number;         /* of the first entry to look at; 0: not reached */
};

static int count_one(void *user, uint64_t number)
{
    struct beginning *b = user;
    if (b->count++ == b->skipped)
        b->number = number;
    return 0;
}

/* Sets *from to the number of the first of the last NB_CHALLENGER_COMPARED documents. */
static int find_beginning(struct nb_engine *engine, const struct nb_live *live, uint64_t *from,
                          struct nb_error *error)
{
    struct beginning b = {.skipped = UINT64_MAX};
    struct nb_view view;
    *from = 0;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_ledger_list_labelled(&view, live->number, count_one, &b, error);
    if (rc == 0 && b.count > NB_CHALLENGER_COMPARED) {
        b = (struct beginning){.skipped = b.count - NB_CHALLENGER_COMPARED};
        rc = nb_ledger_list_labelled(&view, live->number, count_one, &b, error);
        *from = b.number;
    }
    nb_store_snapshot_end(&view);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

static int begin(struct comparing *c, struct nb_engine *engine, struct nb_string model,
                 struct nb_batch *pins[2], struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_registry_acquire(engine, model, false, &c->champion, error);
    if (rc == 0)
        rc = nb_challenger_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    rc = nb_registry_acquire(engine, nb_string_of(info.name), false, &c->challenger, error);
    nb_model_info_deinit(&info);
    if (rc == 0) /* as long as these live, neither drops rows */
        rc = nb_batch_new_of(engine, c->champion, &pins[0], error);
    return rc == 0 ? nb_batch_new_of(engine, c->challenger, &pins[1], error) : rc;
}

int nb_challenger_compare(struct nb_engine *engine, struct nb_string model,
                          bool (*stop)(void *user), void *user, struct nb_challenger_report *report,
                          struct nb_error *error)
{
    struct comparing c = {.count = 0};
    struct nb_batch *pins[2] = {NULL, NULL};
    uint64_t from = 0;
    int rc = begin(&c, engine, model, pins, error);
    if (rc == 0)
        rc = find_beginning(engine, c.champion, &from, error);
    if (rc == 0) {
        c.steps = (struct nb_ledger_steps){.store = engine->store,
                                           .model = c.champion->number,
                                           .only = NB_LEDGER_LABELLED,
                                           .most = DOCUMENTS_AT_ONCE,
                                           .visit = compare_one,
                                           .user = &c,
                                           .from = from};
        rc = nb_ledger_steps_all(&c.steps, stop, user, error);
    }
    if (rc == 0)
        fill(&c, report);
    nb_batch_free(&pins[0]);
    nb_batch_free(&pins[1]);
    nb_challenger_pair_deinit(&c.pair);
    nb_stored_score_lists_deinit(&c.lists);
    free(c.rows);
    nb_registry_release(engine, &c.champion);
    nb_registry_release(engine, &c.challenger);
    return rc;
}
