/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/multilabel.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/label_set.h"
#include "core/counts/counts.h"
#include "core/stack/multilabel_private.h"

int nb_multilabel_new(bool is_by_the_book, double smoothing, struct nb_multilabel **multilabel)
{
    struct nb_multilabel *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NB_NO_MEMORY;
    m->is_by_the_book = is_by_the_book;
    m->smoothing = smoothing;
    (void)pthread_mutex_init(&m->mutex, NULL);
    *multilabel = m;
    return 0;
}

static void free_labels(struct nb_multilabel *m)
{
    free(m->names);
    free(m->text);
    free(m->documents);
    free(m->begin);
    free(m->members);
    free(m->seen);
    free(m->occurrences);
    m->names = m->seen = NULL;
    m->text = NULL;
    m->documents = m->occurrences = NULL;
    m->begin = m->members = NULL;
    m->seen_count = 0;
    m->labels = (struct nb_multilabel_labels){.count = 0};
    atomic_store_explicit(&m->bytes, 0, memory_order_relaxed);
}

/* `bytes`: those of the names of sets; `members`: the labels of all sets. */
static void note_bytes(struct nb_multilabel *m, size_t members, size_t bytes)
{
    size_t of_members = members * (1 + sizeof *m->names + sizeof *m->members);
    size_t of_sets = m->seen_count * (sizeof *m->begin + sizeof *m->seen);
    size_t of_labels = m->labels.count * (sizeof *m->documents + sizeof *m->occurrences);
    atomic_store_explicit(&m->bytes, bytes + of_members + of_sets + of_labels,
                          memory_order_relaxed);
}

void nb_multilabel_free(struct nb_multilabel **multilabel)
{
    struct nb_multilabel *m = *multilabel;
    *multilabel = NULL;
    if (m == NULL)
        return;
    free_labels(m);
    pthread_mutex_destroy(&m->mutex);
    free(m);
}

size_t nb_multilabel_memory(const struct nb_multilabel *m)
{
    return sizeof *m + atomic_load_explicit(&m->bytes, memory_order_relaxed);
}

void nb_multilabel_fit_release(struct nb_multilabel_fit **fit)
{
    struct nb_multilabel_fit *f = *fit;
    *fit = NULL;
    if (f == NULL || atomic_fetch_sub(&f->references, 1) != 1)
        return;
    nb_strings_free(f->names, f->labels);
    free(f->ids);
    free(f->idf);
    free(f->begin);
    free(f->cells);
    free(f->biases);
    free(f->intercepts);
    free(f->figures);
    free(f->suspects);
    free(f);
}

struct nb_multilabel_fit *nb_multilabel_fit_use(struct nb_multilabel_fit *fit)
{
    atomic_fetch_add(&fit->references, 1);
    return fit;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static uint32_t find_name(const struct nb_multilabel *m, struct nb_string name)
{
    uint32_t low = 0, high = m->labels.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *at = m->names[middle];
        int order = strncmp(at, name.bytes, name.length);
        if (order == 0 && at[name.length] == '\0')
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    assert(false && "the name is in the list");
    return 0;
}

/* Copies all labels of all sets, then sorts them and drops repeated ones. */
static int list_names(struct nb_multilabel *m, const struct nb_model *model, uint32_t sets,
                      size_t members, size_t bytes)
{
    char *at;
    size_t count = 0, kept = 0;
    m->names = calloc(members + 1, sizeof *m->names);
    m->text = at = malloc(bytes + members + 1);
    if (m->names == NULL || m->text == NULL)
        return NB_NO_MEMORY;
    for (uint32_t set = 0; set < sets; set++) {
        struct nb_string rest = nb_model_label_name(model, set), label;
        while (nb_label_is_set(rest) && nb_label_set_next(&rest, &label)) {
            memcpy(at, label.bytes, label.length);
            at[label.length] = '\0';
            m->names[count++] = at;
            at += label.length + 1;
        }
    }
    qsort(m->names, count, sizeof *m->names, compare_names);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(m->names[i], m->names[kept - 1]) != 0)
            m->names[kept++] = m->names[i];
    m->labels.count = (uint32_t)kept;
    return 0;
}

static int list_members(struct nb_multilabel *m, const struct nb_model *model, uint32_t sets,
                        size_t members)
{
    uint32_t at = 0;
    m->begin = calloc((size_t)sets + 1, sizeof *m->begin);
    m->members = calloc(members + 1, sizeof *m->members);
    m->seen = calloc((size_t)sets + 1, sizeof *m->seen);
    if (m->begin == NULL || m->members == NULL || m->seen == NULL)
        return NB_NO_MEMORY;
    for (uint32_t set = 0; set < sets; set++) {
        struct nb_string rest = nb_model_label_name(model, set), label;
        m->seen[set] = rest.bytes;
        m->begin[set] = at;
        while (nb_label_is_set(rest) && nb_label_set_next(&rest, &label))
            m->members[at++] = find_name(m, label);
    }
    m->begin[sets] = at;
    m->seen_count = sets;
    return 0;
}

static int make_room(struct nb_multilabel *m)
{
    size_t count = (size_t)m->labels.count + 1;
    m->documents = calloc(count, sizeof *m->documents);
    m->occurrences = calloc(count, sizeof *m->occurrences);
    return m->documents != NULL && m->occurrences != NULL ? 0 : NB_NO_MEMORY;
}

/* Lists the labels anew, unless the model has the same sets under the same names. A name that was
 * changed is another pointer (nb_model_rename_label). */
static int list_labels(struct nb_multilabel *m, const struct nb_model *model)
{
    uint32_t sets = nb_model_label_count(model);
    size_t members = 0, bytes = 0;
    bool is_same = sets == m->seen_count && m->names != NULL;
    for (uint32_t set = 0; set < sets; set++) {
        struct nb_string name = nb_model_label_name(model, set);
        is_same = is_same && m->seen[set] == name.bytes;
        members += nb_label_is_set(name) ? nb_label_set_size(name) : 0;
        bytes += name.length;
    }
    if (is_same)
        return 0;
    free_labels(m);
    int rc = list_names(m, model, sets, members, bytes);
    if (rc == 0)
        rc = list_members(m, model, sets, members);
    if (rc == 0)
        rc = make_room(m);
    if (rc == 0)
        note_bytes(m, members, bytes);
    else
        free_labels(m);
    return rc;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void put_sums(struct nb_multilabel *m, const struct nb_model *model)
{
    memset(m->documents, 0, m->labels.count * sizeof *m->documents);
    memset(m->occurrences, 0, m->labels.count * sizeof *m->occurrences);
    m->all_occurrences = 0;
    m->vocabulary = nb_model_vocabulary(model, NB_TOKEN_FIELDS);
    for (uint32_t set = 0; set < m->seen_count; set++) {
        uint64_t documents = nb_model_documents(model, set);
        uint64_t occurrences =
            m->is_by_the_book ? nb_model_occurrences(model, set, NB_TOKEN_FIELDS) : 0;
        m->all_occurrences += occurrences;
        for (uint32_t i = m->begin[set]; documents > 0 && i < m->begin[set + 1]; i++) {
            m->documents[m->members[i]] += documents;
            m->occurrences[m->members[i]] += occurrences;
        }
    }
}

static int make_view(struct nb_multilabel *m, const struct nb_model *model)
{
    int rc = list_labels(m, model);
    if (rc != 0)
        return rc;
    put_sums(m, model);
    m->labels = (struct nb_multilabel_labels){.count = m->labels.count,
                                              .names = m->names,
                                              .documents = m->documents,
                                              .all = nb_model_documents_all(model),
                                              .sets = m->seen_count,
                                              .begin = m->begin,
                                              .members = m->members};
    return 0;
}

int nb_multilabel_labels(struct nb_multilabel *m, const struct nb_model *model,
                         struct nb_multilabel_labels *labels)
{
    uint64_t generation = nb_model_generation(model);
    int rc = 0;
    if (atomic_load_explicit(&m->generation, memory_order_acquire) != generation) {
        pthread_mutex_lock(&m->mutex);
        if (atomic_load_explicit(&m->generation, memory_order_relaxed) != generation) {
            atomic_store_explicit(&m->generation, 0, memory_order_relaxed);
            rc = make_view(m, model);
            if (rc == 0)
                atomic_store_explicit(&m->generation, generation, memory_order_release);
        }
        pthread_mutex_unlock(&m->mutex);
    }
    *labels = m->labels;
    return rc;
}

/* ---- scores ---------------------------------------------------------------------------------- */

void nb_multilabel_scores_deinit(struct nb_multilabel_scores *scores)
{
    free(scores->log_odds);
    free(scores->threshold);
    free(scores->counts);
    free(scores->touched);
    free(scores->places);
    *scores = (struct nb_multilabel_scores){.size = 0};
}

int nb_multilabel_scores_room(struct nb_multilabel_scores *s, uint32_t labels)
{
    size_t room = (size_t)labels + 1;
    s->size = labels;
    if (room <= s->room)
        return 0;
    s->room = 0;
    if (nb_array_resize(&s->log_odds, room, sizeof *s->log_odds) != 0 ||
        nb_array_resize(&s->threshold, room, sizeof *s->threshold) != 0 ||
        nb_array_resize(&s->counts, room, sizeof *s->counts) != 0 ||
        nb_array_resize(&s->touched, room, sizeof *s->touched) != 0)
        return NB_NO_MEMORY;
    memset(s->counts, 0, room * sizeof *s->counts);
    s->room = room;
    return 0;
}

/* ---- by the book ----------------------------------------------------------------------------- */

/* A pass over the rows of a document. */
struct pass {
    const struct nb_multilabel *m;
    const struct nb_model *model;
    const struct nb_multilabel_document *document;
    struct nb_multilabel_scores *scores;
    uint32_t touched; /* labels that have the word that is read */
    uint32_t taken;   /* its occurrences in the left-out document */
    double smoothing;
    double positions, absent; /* sums over known words: of their counts, and of count times the term
                                 of a label without the word */
    uint64_t taken_positions,
        taken_words; /* of the left-out document: all, and words of it alone */
};

static void add_cell(void *user, struct nb_cell cell)
{
    struct pass *p = user;
    const struct nb_multilabel *m = p->m;
    struct nb_multilabel_scores *s = p->scores;
    uint32_t count = cell.occurrences;
    if (cell.label == p->document->without)
        count -= count < p->taken ? count : p->taken;
    if (count == 0 || cell.label >= m->seen_count)
        return;
    for (uint32_t i = m->begin[cell.label]; i < m->begin[cell.label + 1]; i++) {
        uint32_t label = m->members[i];
        if (s->counts[label] == 0)
            s->touched[p->touched++] = label;
        s->counts[label] += count;
    }
}

/* ln P(w|l) - ln P(w|not l) without the sums, which are the same for all words. */
static double term_of(const struct pass *p, uint64_t own, uint64_t all)
{
    return log((double)own + p->smoothing) -
           log((double)(all - (own < all ? own : all)) + p->smoothing);
}

/* Reads the occurrences of a word by label into scores->counts, and lists the labels in
 * scores->touched. Returns those in all documents. */
static uint64_t read_word(struct pass *p, const struct nb_row_count *of)
{
    struct nb_row row = nb_model_row(p->model, of->row);
    uint64_t all = nb_counts_occurrences(p->model, row);
    p->taken = p->document->without == NB_MULTILABEL_NONE ? 0 : of->count;
    p->taken_positions += p->taken;
    p->touched = 0;
    all -= all < p->taken ? all : p->taken;
    if (all > 0)
        nb_counts_each(p->model, row, add_cell, p);
    return all;
}

static void add_word(struct pass *p, const struct nb_row_count *of)
{
    uint64_t all = read_word(p, of);
    if (all == 0) {
        p->taken_words += p->taken > 0;
        return;
    }
    double absent = term_of(p, 0, all);
    p->positions += of->count;
    p->absent += of->count * absent;
    for (uint32_t i = 0; i < p->touched; i++) {
        uint32_t label = p->scores->touched[i];
        p->scores->log_odds[label] +=
            of->count * (term_of(p, p->scores->counts[label], all) - absent);
        p->scores->counts[label] = 0;
    }
}

static bool is_token_row(const struct nb_model *model, uint32_t row)
{
    return row < nb_model_rows(model) && nb_feature_has_field(nb_model_row_id(model, row)) &&
           nb_field_is_token(nb_feature_field(nb_model_row_id(model, row)));
}

/* Whether the left-out document has the label. */
static bool is_taken(const struct pass *p, uint32_t label)
{
    uint32_t set = p->document->without;
    if (set == NB_MULTILABEL_NONE || set >= p->m->seen_count)
        return false;
    for (uint32_t i = p->m->begin[set]; i < p->m->begin[set + 1]; i++)
        if (p->m->members[i] == label)
            return true;
    return false;
}

/* ln (n_l + smoothing |V|) - ln (n_not_l + smoothing |V|), which each position takes from the
 * log-odds. */
static double offset_of(const struct pass *p, uint32_t label)
{
    double added = p->smoothing * (double)(p->m->vocabulary - p->taken_words);
    double own = (double)p->m->occurrences[label];
    double others = (double)p->m->all_occurrences - own;
    double taken = (double)p->taken_positions;
    bool has = is_taken(p, label);
    return log(fmax(0, own - (has ? taken : 0)) + added) -
           log(fmax(0, others - (has ? 0 : taken)) + added);
}

void nb_multilabel_book(const struct nb_multilabel *m, const struct nb_model *model,
                        const struct nb_multilabel_document *document,
                        struct nb_multilabel_scores *scores)
{
    struct pass p = {
        .m = m, .model = model, .document = document, .scores = scores, .smoothing = m->smoothing};
    bool leaves_out = document->without != NB_MULTILABEL_NONE;
    memset(scores->log_odds, 0, scores->size * sizeof *scores->log_odds);
    for (size_t i = 0; i < document->size; i++)
        if (is_token_row(model, document->rows[i].row))
            add_word(&p, &document->rows[i]);
    for (uint32_t l = 0; l < scores->size; l++) {
        double documents = (double)m->documents[l] - is_taken(&p, l);
        double others = (double)m->labels.all - leaves_out - documents;
        scores->log_odds[l] +=
            p.absent - p.positions * offset_of(&p, l) + log(documents) - log(others);
    }
}

/* ---- the linear machines --------------------------------------------------------------------- */

static bool is_word_row(const struct nb_model *model, uint32_t row)
{
    return nb_feature_has_field(nb_model_row_id(model, row)) &&
           nb_multilabel_is_word(nb_feature_field(nb_model_row_id(model, row)));
}

/* Whether the row has the same feature as in the fit. */
static bool has_cells(const struct nb_multilabel_fit *fit, const struct nb_model *model,
                      uint32_t row)
{
    return row < fit->rows && fit->ids[row] == nb_model_row_id(model, row);
}

static double idf_of(const struct nb_multilabel_fit *fit, const struct nb_model *model,
                     uint32_t row)
{
    return has_cells(fit, model, row) && fit->idf[row] > 0 ? (double)fit->idf[row]
                                                           : fit->idf_unknown;
}

/* 1 / length of x; 0 if it has no word. */
static double scale_of(const struct nb_multilabel_fit *fit, const struct nb_model *model,
                       const struct nb_multilabel_document *document)
{
    double sum = document->unknown * fit->idf_unknown * fit->idf_unknown;
    for (size_t i = 0; i < document->size; i++) {
        if (!is_word_row(model, document->rows[i].row))
            continue;
        double x =
            nb_multilabel_tf(document->rows[i].count) * idf_of(fit, model, document->rows[i].row);
        sum += x * x;
    }
    return sum > 0 ? 1 / sqrt(sum) : 0;
}

/* Sets scores->places: both lists of labels are sorted by name. */
static int find_places(const struct nb_multilabel *m, const struct nb_multilabel_fit *fit,
                       struct nb_multilabel_scores *s)
{
    uint32_t at = 0;
    if (nb_array_reserve(&s->places, &s->place_room, (size_t)fit->labels + 1, sizeof *s->places) !=
        0)
        return NB_NO_MEMORY;
    for (uint32_t f = 0; f < fit->labels; f++) {
        while (at < s->size && strcmp(m->names[at], fit->names[f]) < 0)
            at++;
        bool is_same = at < s->size && strcmp(m->names[at], fit->names[f]) == 0;
        s->places[f] =
            is_same ? at : s->size; /* one more number than labels: those that are gone */
    }
    return 0;
}

static int score_linear(const struct nb_multilabel *m, const struct nb_model *model,
                        const struct nb_multilabel_fit *fit,
                        const struct nb_multilabel_document *document,
                        struct nb_multilabel_scores *s)
{
    double scale = scale_of(fit, model, document) * fit->slope;
    int rc = find_places(m, fit, s);
    if (rc != 0)
        return rc;
    for (uint32_t l = 0; l <= s->size; l++)
        s->log_odds[l] = -INFINITY;
    for (uint32_t f = 0; f < fit->labels; f++) {
        s->log_odds[s->places[f]] = fit->biases[f] + fit->slope * fit->intercepts[f];
        s->threshold[s->places[f]] = fit->figures[f].threshold;
    }
    for (size_t i = 0; i < document->size; i++) {
        uint32_t row = document->rows[i].row;
        if (!has_cells(fit, model, row))
            continue;
        double x = scale * nb_multilabel_tf(document->rows[i].count) * (double)fit->idf[row];
        for (size_t c = fit->begin[row]; c < fit->begin[row + 1]; c++)
            s->log_odds[s->places[fit->cells[c].label]] += x * (double)fit->cells[c].weight;
    }
    return 0;
}

int nb_multilabel_score(struct nb_multilabel *m, const struct nb_model *model,
                        const struct nb_multilabel_fit *fit,
                        const struct nb_multilabel_document *document,
                        struct nb_multilabel_scores *scores)
{
    struct nb_multilabel_labels labels;
    int rc = nb_multilabel_labels(m, model, &labels);
    if (rc == 0 && (labels.count == 0 || (fit == NULL && !m->is_by_the_book)))
        rc = NB_CONFLICT;
    if (rc == 0)
        rc = nb_multilabel_scores_room(scores, labels.count);
    if (rc != 0)
        return rc;
    memset(scores->threshold, 0, scores->size * sizeof *scores->threshold);
    if (m->is_by_the_book)
        nb_multilabel_book(m, model, document, scores);
    else
        rc = score_linear(m, model, fit, document, scores);
    for (uint32_t l = 0; rc == 0 && l < scores->size; l++)
        if (m->documents[l] == 0)
            scores->log_odds[l] = -INFINITY;
    return rc;
}

/* ---- explanations ---------------------------------------------------------------------------- */

/* What a word says for the label by the book. */
static double say_by_the_book(const struct nb_multilabel *m, const struct nb_model *model,
                              const struct nb_multilabel_document *document,
                              struct nb_multilabel_scores *scores, uint32_t label, size_t i)
{
    struct pass p = {
        .m = m, .model = model, .document = document, .scores = scores, .smoothing = m->smoothing};
    if (!is_token_row(model, document->rows[i].row))
        return 0;
    uint64_t all = read_word(&p, &document->rows[i]), own = scores->counts[label];
    for (uint32_t k = 0; k < p.touched; k++)
        scores->counts[scores->touched[k]] = 0;
    return all == 0 ? 0 : document->rows[i].count * (term_of(&p, own, all) - offset_of(&p, label));
}

/* What a word says for the label of the fit. */
static double say_linear(const struct nb_multilabel_fit *fit, const struct nb_model *model,
                         const struct nb_row_count *word, uint32_t label, double scale)
{
    if (!has_cells(fit, model, word->row))
        return 0;
    for (size_t c = fit->begin[word->row]; c < fit->begin[word->row + 1]; c++)
        if (fit->cells[c].label == label)
            return scale * nb_multilabel_tf(word->count) * (double)fit->idf[word->row] *
                   (double)fit->cells[c].weight;
    return 0;
}

double nb_multilabel_explain(const struct nb_multilabel *m, const struct nb_model *model,
                             const struct nb_multilabel_fit *fit,
                             const struct nb_multilabel_document *document,
                             struct nb_multilabel_scores *scores, uint32_t label, double *evidence)
{
    double sum = 0;
    double scale = m->is_by_the_book ? 0 : scale_of(fit, model, document) * fit->slope;
    uint32_t own = 0;
    while (!m->is_by_the_book && own < fit->labels && scores->places[own] != label)
        own++;
    for (size_t i = 0; i < document->size; i++) {
        evidence[i] = m->is_by_the_book ? say_by_the_book(m, model, document, scores, label, i)
                                        : say_linear(fit, model, &document->rows[i], own, scale);
        sum += evidence[i];
    }
    return scores->log_odds[label] - sum;
}
