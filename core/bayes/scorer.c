/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/scorer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/bayes/score_view.h"

/* ---- the settings' part ---------------------------------------------------------------------- */

static void note_bytes(struct nb_scorer *s)
{
    const struct nb_score_view *view = &s->view;
    size_t each = sizeof *view->labels + sizeof *view->position;
    each += view->estimates != NULL ? sizeof *view->estimates : 0;
    atomic_store(&s->view_bytes, view->room * each + nb_attribute_scores_memory(&s->attributes));
}

int nb_scorer_new(const struct nb_settings *settings, struct nb_scorer **scorer)
{
    const struct nb_besides none = {.count = 0};
    return nb_scorer_new_beside(settings, &none, scorer);
}

int nb_scorer_new_beside(const struct nb_settings *settings, const struct nb_besides *besides,
                         struct nb_scorer **scorer)
{
    struct nb_scorer *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NB_NO_MEMORY;
    if (nb_settings_copy(&s->settings, settings) != 0) {
        free(s);
        return NB_NO_MEMORY;
    }
    s->addend = nb_estimate_addend((enum nb_estimate)settings->estimate, settings->smoothing);
    s->has_factors = besides->count > 0 || !nb_estimate_is_plain(settings);
    if (nb_log_table_init(&s->logs, s->addend) != 0 || pthread_mutex_init(&s->mutex, NULL) != 0) {
        nb_log_table_deinit(&s->logs);
        nb_settings_deinit(&s->settings);
        free(s);
        return NB_NO_MEMORY;
    }
    s->filters = nb_settings_leave_words_out(settings);
    s->besides = *besides;
    for (unsigned i = 0; i < besides->count; i++)
        (void)nb_expected_use(besides->list[i].counts);
    note_bytes(s);
    *scorer = s;
    return 0;
}

void nb_scorer_free(struct nb_scorer **scorer)
{
    struct nb_scorer *s = *scorer;
    *scorer = NULL;
    if (s == NULL)
        return;
    pthread_mutex_destroy(&s->mutex);
    nb_log_table_deinit(&s->logs);
    nb_settings_deinit(&s->settings);
    nb_attribute_scores_deinit(&s->attributes);
    for (unsigned i = 0; i < s->besides.count; i++)
        nb_expected_release(&s->besides.list[i].counts);
    free(s->view.labels);
    free(s->view.position);
    free(s->view.estimates);
    free(s);
}

size_t nb_scorer_memory(const struct nb_scorer *scorer)
{
    return sizeof *scorer + atomic_load(&scorer->view_bytes);
}

/* ---- priors ---------------------------------------------------------------------------------- */

/* Puts each label's weight into `base`. */
static void put_weights(const struct nb_scorer *s, const struct nb_model *model,
                        struct nb_score_view *view)
{
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        double documents = s->has_factors ? view->estimates[i].documents : (double)l->documents;
        l->base = nb_settings_label_weight(&s->settings, model->labels[l->label]->name, documents);
    }
}

static void put_priors(const struct nb_scorer *s, const struct nb_model *model,
                       struct nb_score_view *view)
{
    double sum = 0;
    assert(view->size <= view->room);
    put_weights(s, model, view);
    for (uint32_t i = 0; i < view->size; i++)
        sum += view->labels[i].base;
    for (uint32_t i = 0; i < view->size; i++)
        view->labels[i].base = view->labels[i].prior = log(view->labels[i].base / sum);
}

/* ---- words that are left out ----------------------------------------------------------------- */

/* Finds the word at rank skip_top, from which on words are used. */
static int find_skipped(const struct nb_scorer *s, const struct nb_model *model,
                        struct nb_score_view *view)
{
    size_t most = (size_t)s->settings.skip_top;
    uint64_t words =
        s->besides.count > 0 ? nb_model_rows(model) : nb_model_vocabulary(model, NB_FIELDS);
    if (most > words)
        most = (size_t)words;
    view->skips = false;
    if (most == 0)
        return 0;
    struct nb_word_rank *items = calloc(most, sizeof *items);
    if (items == NULL)
        return NB_NO_MEMORY;
    struct nb_heap heap = {
        .items = items, .most = most, .item_size = sizeof *items, .compare = nb_word_rank_compare};
    uint32_t rows = nb_model_rows(model);
    for (uint32_t i = 0; i < rows; i++) {
        struct nb_row row = nb_model_row(model, i);
        bool is_token = nb_field_is_token(nb_feature_field(row.id));
        const struct nb_word_rank word = {is_token ? nb_score_occurrences(s, model, row, i) : 0,
                                          row.id};
        if (word.occurrences > 0)
            nb_heap_add(&heap, &word);
    }
    /* The model's vocabulary count equals its number of token rows. */
    assert(heap.count == most || s->besides.count > 0);
    view->skips = heap.count > 0;
    if (view->skips)
        view->skipped = *(const struct nb_word_rank *)nb_heap_last(&heap);
    free(items);
    return 0;
}

/* Called for every cell of a used token row whose label has documents. */
typedef void each_cell(const struct nb_scorer *s, struct nb_score_label *l, struct nb_cell cell);

struct walk {
    const struct nb_scorer *scorer;
    struct nb_score_view *view;
    each_cell *call;
};

static inline void visit(void *user, struct nb_cell cell)
{
    const struct walk *w = user;
    uint32_t position = w->view->position[cell.label];
    if (position != NB_NOT_SCORED)
        w->call(w->scorer, &w->view->labels[position], cell);
}

/* Calls `call` for the cells of the used rows of the model. Returns how many rows are used. */
static uint64_t view_for_used(const struct nb_scorer *s, const struct nb_model *model,
                              struct nb_score_view *view, each_cell *call)
{
    struct walk walk = {.scorer = s, .view = view, .call = call};
    uint64_t used = 0;
    uint32_t rows = nb_model_rows(model);
    for (uint32_t i = 0; i < rows; i++) {
        if (!nb_score_uses(s, model, view, i))
            continue;
        used++;
        nb_counts_each(model, nb_model_row(model, i), visit, &walk);
    }
    return used;
}

/* ---- counts beside the model's --------------------------------------------------------------- */

/* The label's sum of counts beside the model's, over the words that min_count and skip_top leave.
 */
static double used_sum_beside(const struct nb_scorer *s, const struct nb_model *model,
                              const struct nb_score_view *view, uint32_t place)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    double sum = 0;
    for (uint32_t number = 0; s->besides.count > 0 && number < nb_model_rows(model); number++) {
        if (!nb_score_uses(s, model, view, number))
            continue;
        struct nb_expected_cell cell = nb_besides_cell(
            &s->besides, number, nb_model_row_id(model, number), view->labels[place].label);
        sum += binary ? cell.documents : cell.occurrences;
    }
    return sum;
}

/* Sets the sums that include the counts beside the model's, after the sums of its own counts. */
static void put_shared_sums(const struct nb_scorer *s, const struct nb_model *model,
                            struct nb_score_view *view)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    view->shared_sum = 0;
    for (uint32_t i = 0; i < view->size; i++) {
        const struct nb_score_label *l = &view->labels[i];
        double beside = s->filters ? used_sum_beside(s, model, view, i)
                                   : nb_besides_sum(&s->besides, l->label, NB_FIELDS, binary);
        view->estimates[i].sum = fmax((double)l->sum + beside, 0);
        view->shared_sum += view->estimates[i].sum;
    }
    if (!s->filters)
        view->vocabulary = nb_besides_vocabulary(&s->besides, NB_FIELDS, view->vocabulary);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void add_to_sum(const struct nb_scorer *s, struct nb_score_label *l, struct nb_cell cell)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    l->sum += binary ? cell.documents : cell.occurrences;
}

/* Sets the vocabulary and the sums of the view, whose labels are set already. With factors also
 * sets the sums that include the counts beside the model's. Returns 0 or NB_NO_MEMORY. */
static int put_sums(const struct nb_scorer *s, const struct nb_model *model,
                    struct nb_score_view *view)
{
    bool binary = s->settings.event_model == NB_EVENT_BINARY;
    view->skips = false;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        l->sum = s->filters ? 0
                 : binary   ? nb_model_presences(model, l->label, NB_FIELDS)
                            : nb_model_occurrences(model, l->label, NB_FIELDS);
    }
    if (s->filters) {
        int rc = find_skipped(s, model, view);
        if (rc != 0)
            return rc;
        view->vocabulary = view_for_used(s, model, view, add_to_sum);
    } else {
        view->vocabulary = nb_model_vocabulary(model, NB_FIELDS);
    }
    view->sum = 0;
    for (uint32_t i = 0; i < view->size; i++)
        view->sum += view->labels[i].sum;
    if (s->has_factors)
        put_shared_sums(s, model, view);
    return 0;
}

/* ---- counts alone ---------------------------------------------------------------------------- */

/* Bernoulli: adds to the base a used word that the label has and the document lacks. The base
 * already includes words that neither has. */
static void add_absent(const struct nb_scorer *s, struct nb_score_label *l, struct nb_cell cell)
{
    uint64_t absent = l->documents > cell.documents ? l->documents - cell.documents : 0;
    l->base += nb_log_of(s, absent) - nb_log_of(s, l->documents);
}

/* Adds to the labels' bases, which are their priors, the likelihood of a document without words
 * (Bernoulli), and sets what a known word without counts for a label adds. After put_sums, when the
 * scorer's logarithms reach the sum of the view. */
static void put_terms(const struct nb_scorer *s, const struct nb_model *model,
                      struct nb_score_view *view)
{
    double alpha = s->addend;
    double virtual_all = alpha * (double)view->vocabulary;
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        if (bernoulli) {
            double absent = nb_log_of(s, l->documents) - log((double)l->documents + 2 * alpha);
            l->base += (double)view->vocabulary * absent;
            l->zero_term = s->logs.logs[0] - nb_log_of(s, l->documents);
        } else if (s->settings.event_model == NB_EVENT_COMPLEMENT) {
            l->zero_term = log((double)(view->sum - l->sum) + virtual_all);
        } else {
            l->zero_term = s->logs.logs[0] - log((double)l->sum + virtual_all);
        }
    }
    if (bernoulli)
        view_for_used(s, model, view, add_absent);
}

/* ---- factors --------------------------------------------------------------------------------- */

/* Adds a used word that a document lacks. `absent`: documents of the label without it, plus the
 * addend. */
static void add_absence(struct nb_score_label *l, struct nb_label_estimate *e, double absent)
{
    if (absent > 0)
        l->base += log(absent / (e->documents + e->added));
    else
        e->certain++;
}

/* Returns ln of the probability that a document lacks a word that no document of the label has. */
static double log_never(const struct nb_label_estimate *e)
{
    return log((e->documents + e->addends.absent) / (e->documents + e->added));
}

/* Corrects the base for a word that the label has: so far the base treats it as one that no
 * document of the label has. */
static void correct_absence(void *user, struct nb_cell cell)
{
    const struct nb_score_view *view = user;
    uint32_t position = view->position[cell.label];
    if (position == NB_NOT_SCORED)
        return;
    struct nb_score_label *l = &view->labels[position];
    struct nb_label_estimate *e = &view->estimates[position];
    l->base -= log_never(e);
    add_absence(l, e, nb_estimate_absent(e->documents, cell.documents) + e->addends.absent);
}

/* Adds the absence of a word with addends of its own, or with counts beside those of its row. */
static void add_absences(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view, uint32_t number)
{
    struct nb_factor_word word = nb_factor_word_of(s, model, view, number, 1);
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_word_counts counts = nb_score_counts(s, model, view, i, &word);
        double absent = nb_estimate_absent(counts.of, counts.documents);
        add_absence(&view->labels[i], &view->estimates[i],
                    absent + nb_addends_of(s, view, i, &word).absent);
    }
}

static void put_absences(const struct nb_scorer *s, const struct nb_model *model,
                         struct nb_score_view *view)
{
    bool is_each = nb_estimate_is_by_word(&s->settings) || s->besides.count > 0;
    for (uint32_t i = 0; i < view->size && !is_each; i++)
        view->labels[i].base += (double)view->vocabulary * log_never(&view->estimates[i]);
    uint32_t rows = nb_model_rows(model);
    for (uint32_t r = 0; r < rows; r++) {
        if (!nb_score_uses(s, model, view, r))
            continue;
        if (is_each)
            add_absences(s, model, view, r);
        else
            nb_counts_each(model, nb_model_row(model, r), correct_absence, view);
    }
}

/* As put_terms, for a scorer with factors: takes logarithms of the denominators. */
static void put_factors(const struct nb_scorer *s, const struct nb_model *model,
                        struct nb_score_view *view)
{
    bool bernoulli = s->settings.event_model == NB_EVENT_BERNOULLI;
    bool complement = s->settings.event_model == NB_EVENT_COMPLEMENT;
    for (uint32_t i = 0; i < view->size; i++) {
        struct nb_score_label *l = &view->labels[i];
        struct nb_label_estimate *e = &view->estimates[i];
        const char *name = nb_model_label_name(model, l->label).bytes;
        e->certain = 0;
        e->addends = nb_estimate_addends(&s->settings, name, view->vocabulary);
        e->added = nb_estimate_added(&s->settings, e->addends, view->vocabulary);
        double end = (complement ? fmax(view->shared_sum - e->sum, 0) : e->sum) + e->added;
        double log_end = end > 0 && !bernoulli ? log(end) : 0;
        l->zero_term = complement ? log_end : -log_end;
    }
    if (bernoulli)
        put_absences(s, model, view);
}

/* ---- the view as a whole --------------------------------------------------------------------- */

static int view_grow(struct nb_scorer *s, uint32_t labels)
{
    struct nb_score_view *view = &s->view;
    if (labels <= view->room)
        return 0;
    uint32_t room = labels + labels / 2;
    struct nb_score_label *l = malloc(room * sizeof *l);
    uint32_t *position = malloc(room * sizeof *position);
    struct nb_label_estimate *estimates = s->has_factors ? malloc(room * sizeof *estimates) : NULL;
    if (l == NULL || position == NULL || (s->has_factors && estimates == NULL)) {
        free(l);
        free(position);
        free(estimates);
        return NB_NO_MEMORY;
    }
    free(view->labels);
    free(view->position);
    free(view->estimates);
    view->labels = l;
    view->position = position;
    view->estimates = estimates;
    view->room = room;
    return 0;
}

static void put_documents(const struct nb_scorer *s, struct nb_score_view *view)
{
    view->shared_documents = 0;
    for (uint32_t i = 0; i < view->size; i++) {
        const struct nb_score_label *l = &view->labels[i];
        double documents = (double)l->documents + nb_besides_documents(&s->besides, l->label);
        view->estimates[i].documents = fmax(documents, 0);
        view->shared_documents += view->estimates[i].documents;
    }
}

static int view_make(struct nb_scorer *s, const struct nb_model *model)
{
    struct nb_score_view *view = &s->view;
    uint32_t labels = nb_model_label_count(model);
    int rc = view_grow(s, labels);
    if (rc != 0)
        return rc;
    view->size = 0;
    const uint32_t *sorted = nb_model_labels_sorted(model);
    for (uint32_t i = 0; i < labels; i++) {
        uint64_t documents = nb_model_documents(model, sorted[i]);
        view->position[sorted[i]] = documents == 0 ? NB_NOT_SCORED : view->size;
        if (documents != 0)
            view->labels[view->size++] =
                (struct nb_score_label){.label = sorted[i], .documents = documents};
    }
    if (s->has_factors)
        put_documents(s, view);
    put_priors(s, model, view);
    rc = put_sums(s, model, view);
    if (rc == 0 && !s->has_factors)
        rc = nb_log_table_grow(&s->logs, view->sum);
    if (rc == 0 && s->has_factors)
        put_factors(s, model, view);
    else if (rc == 0)
        put_terms(s, model, view);
    if (rc == 0)
        rc = nb_attribute_scores_make(&s->attributes, &s->settings, model, NULL);
    note_bytes(s);
    return rc;
}

int nb_scorer_view(struct nb_scorer *scorer, const struct nb_model *model,
                   const struct nb_score_view **view)
{
    uint64_t generation = nb_model_generation(model);
    int rc = 0;
    if (atomic_load_explicit(&scorer->generation, memory_order_acquire) != generation) {
        pthread_mutex_lock(&scorer->mutex);
        if (atomic_load_explicit(&scorer->generation, memory_order_relaxed) != generation) {
            atomic_store_explicit(&scorer->generation, 0, memory_order_relaxed);
            rc = view_make(scorer, model);
            if (rc == 0)
                atomic_store_explicit(&scorer->generation, generation, memory_order_release);
        }
        pthread_mutex_unlock(&scorer->mutex);
    }
    *view = &scorer->view;
    return rc;
}
