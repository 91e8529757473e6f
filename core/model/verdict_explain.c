/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence of the bag's tokens for the winner against the runner-up.
 */
#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/array.h"
#include "core/counts/counts.h"
#include "core/model/verdict_parts.h"

/* ---- the order of the rows ------------------------------------------------------------------- */

/* Sorts an explanation's rows: strongest first. A mail has about a thousand rows, of which hundreds
 * may be requested. This is a bucket sort: rows are counted into bins by magnitude, the rows of the
 * requested bins are moved to the front and from there into their bins, and only rows of the same
 * bin are compared. */

/* With fewer rows the heap alone is as fast. */
enum { BINNED_ROWS = 32 };

/* Strongest first, ties by feature. */
static inline bool comes_after(const struct nb_evidence *a, const struct nb_evidence *b)
{
    double ma = fabs(a->evidence);
    double mb = fabs(b->evidence);
    return ma != mb ? !(ma > mb) : a->feature > b->feature;
}

static inline void swap(struct nb_evidence *a, struct nb_evidence *b)
{
    struct nb_evidence was = *a;
    *a = *b;
    *b = was;
}

/* ---- a heap ---------------------------------------------------------------------------------- */

/* Moves row `at` of a heap, whose root comes after all others, down as far as needed. It does not
 * use the generic core/base/array.h, because it is called for every row of a document. */
static void sift_down(struct nb_evidence *heap, size_t at, size_t count)
{
    struct nb_evidence moved = heap[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && comes_after(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_after(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

/* Puts the `size` strongest of `count` rows first, in order. */
static void sort_by_heap(struct nb_evidence *rows, size_t count, size_t size)
{
    for (size_t i = size / 2; i > 0; i--)
        sift_down(rows, i - 1, size);
    for (size_t i = size; i < count && size > 0; i++)
        if (comes_after(&rows[0], &rows[i])) {
            swap(&rows[0], &rows[i]);
            sift_down(rows, 0, size);
        }
    for (size_t left = size; left > 1; left--) {
        swap(&rows[0], &rows[left - 1]);
        sift_down(rows, 0, left - 1);
    }
}

/* ---- bins ------------------------------------------------------------------------------------ */

/* 64 bins for each power of two below the strongest; the last bin has all weaker rows. */
enum { BINS = 1024, BIN_SHIFT = 46 };

struct bins {
    uint64_t strongest;    /* magnitude_of, shifted */
    uint32_t begins[BINS]; /* first row of each bin; until place_bins: its number of rows */
    uint32_t next[BINS];   /* where the bin's next row is put */
};

/* The bits of a double that is not negative, read as an integer, have the same order (IEEE 754). */
static inline uint64_t magnitude_of(const struct nb_evidence *row)
{
    uint64_t bits;
    double magnitude = fabs(row->evidence);
    _Static_assert(sizeof bits == sizeof magnitude, "a double has 64 bits");
    memcpy(&bits, &magnitude, sizeof bits);
    return bits;
}

static inline size_t bin_of(const struct bins *bins, const struct nb_evidence *row)
{
    uint64_t below = bins->strongest - (magnitude_of(row) >> BIN_SHIFT);
    return below < BINS - 1 ? (size_t)below : BINS - 1;
}

static uint64_t strongest_of(const struct nb_evidence *rows, size_t count)
{
    uint64_t even = 0, odd = 0; /* two maxima, which do not wait for each other */
    size_t i = 0;
    for (; i + 1 < count; i += 2) {
        uint64_t one = magnitude_of(&rows[i]), other = magnitude_of(&rows[i + 1]);
        even = one > even ? one : even;
        odd = other > odd ? other : odd;
    }
    if (i < count && magnitude_of(&rows[i]) > even)
        even = magnitude_of(&rows[i]);
    return even > odd ? even : odd;
}

/* Counts the rows of each bin. */
static void count_bins(struct bins *bins, const struct nb_evidence *rows, size_t count)
{
    bins->strongest = strongest_of(rows, count) >> BIN_SHIFT;
    memset(bins->begins, 0, sizeof bins->begins);
    for (size_t i = 0; i < count; i++)
        bins->begins[bin_of(bins, &rows[i])]++;
}

/* Replaces the counts of the bins by the index of their first row, up to the bin of row number
 * `size`, and returns that bin. */
static size_t place_bins(struct bins *bins, size_t size)
{
    size_t bin = 0;
    for (uint32_t begin = 0, end;; bin++, begin = end) {
        end = begin + bins->begins[bin];
        bins->begins[bin] = bins->next[bin] = begin;
        if (end >= size)
            return bin;
        assert(bin + 1 < BINS);
    }
}

/* Moves the rows of the bins up to `last` to the front, over the others, and returns their number.
 * Writes every row, and overwrites it with the next if it is not chosen, so that there is no
 * branch. */
static size_t bring_forward(const struct bins *bins, struct nb_evidence *rows, size_t count,
                            size_t last)
{
    const uint64_t strongest =
        bins->strongest; /* a local copy, which no store to the rows can change */
    const uint64_t most = last == BINS - 1 ? UINT64_MAX : last;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_chosen = strongest - (magnitude_of(&rows[i]) >> BIN_SHIFT) <= most;
        rows[chosen] = rows[i];
        chosen += is_chosen;
    }
    return chosen;
}

/* Puts rows into their bins, in the order in which they come. */
static void fill_bins(struct bins *bins, const struct nb_evidence *rows, size_t count,
                      struct nb_evidence *to)
{
    for (size_t i = 0; i < count; i++)
        to[bins->next[bin_of(bins, &rows[i])]++] = rows[i];
}

static bool is_sorted(const struct nb_evidence *rows, size_t count)
{
    size_t i = 1;
    while (i < count && !comes_after(&rows[i - 1], &rows[i]))
        i++;
    return i >= count;
}

static void sort_by_insertion(struct nb_evidence *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct nb_evidence moved = rows[i];
        size_t to = i;
        for (; to > 0 && comes_after(&rows[to - 1], &moved); to--)
            rows[to] = rows[to - 1];
        rows[to] = moved;
    }
}

/* Sorts the rows of a bin. Most bins have few rows, often of the same magnitude, and these are
 * already in order. */
static void sort_bin(struct nb_evidence *rows, size_t count, size_t size)
{
    enum { FEW = 64 };
    if (count <= FEW)
        sort_by_insertion(rows, count);
    else if (!is_sorted(rows, count))
        sort_by_heap(rows, count, size);
}

static void sort_by_bins(struct nb_evidence *rows, size_t count, size_t size,
                         struct nb_evidence *room)
{
    struct bins bins;
    count_bins(&bins, rows, count);
    size_t last = place_bins(&bins, size);
    size_t chosen = bring_forward(&bins, rows, count, last);
    fill_bins(&bins, rows, chosen, room);
    for (size_t bin = 0; bin <= last; bin++) {
        size_t begin = bins.begins[bin];
        size_t end = bin == last ? chosen : bins.begins[bin + 1];
        if (end > begin + 1)
            sort_bin(room + begin, end - begin, end < size ? end - begin : size - begin);
    }
    memcpy(rows, room, size * sizeof *rows);
}

void nb_evidence_sort(struct nb_evidence *rows, size_t count, size_t most, struct nb_evidence *room)
{
    size_t size = most < count ? most : count;
    assert(count <= UINT32_MAX);
    if (count < BINNED_ROWS || size == 0)
        sort_by_heap(rows, count, size);
    else
        sort_by_bins(rows, count, size, room);
}

/* ---- the passage that decides -----------------------------------------------------------------
 */

/* Takes what stands in all passages, and what stands in the decisive one, out of the bag. */
static int take_passage(struct nb_verdict_private *p)
{
    struct nb_passage_features *own = &p->own;
    const struct nb_bag *bag = &p->bag;
    size_t size = bag->size;
    if (nb_array_reserve(&own->features, &own->feature_room, size, sizeof *own->features) != 0 ||
        nb_array_reserve(&own->rows, &own->row_room, size, sizeof *own->rows) != 0 ||
        nb_array_reserve(&own->places, &own->place_room, size, sizeof *own->places) != 0 ||
        nb_array_reserve(&own->cells, &own->cell_room, size, sizeof *own->cells) != 0)
        return NB_NO_MEMORY;
    own->size = 0;
    for (size_t i = 0; i < size; i++) {
        const struct nb_feature *f = &bag->features[i];
        bool is_common = f->passage == 0 && nb_feature_field(f->id) != NB_FIELD_HIDDEN;
        if (!is_common && f->passage - p->worst.first >= p->worst.count)
            continue;
        own->features[own->size] = *f;
        own->rows[own->size] = p->rows[i];
        own->cells[own->size] = p->cells[i];
        own->places[own->size++] = (uint32_t)i;
    }
    return 0;
}

/* Explains the decisive passage as a document of its own. The last row gets what the other rows
 * leave of the log-odds that are told: the biases, and the margin of passages. */
static int explain_passage(struct nb_verdict_private *p, size_t *count,
                           struct nb_evidence_sums *sums)
{
    const struct nb_published *published = p->published;
    const struct nb_scores *scores = &p->stacked;
    struct nb_passage_features *own = &p->own;
    int rc = take_passage(p);
    struct nb_found found = {.rows = own->rows, .cells = own->cells};
    p->inputs.wants_passages = false;
    nb_stack_inputs_twin(&p->inputs, published->weights, false);
    if (rc == 0)
        rc = nb_stack_inputs_found(published->stack, p->judge->counts, own->features, own->size,
                                   &found, &p->inputs, NULL);
    if (rc == 0)
        rc = nb_stack_explain(published->stack, p->judge->counts, published->weights, own->features,
                              own->size, own->rows, &p->inputs, scores, sums, p->evidence, count);
    if (rc != 0)
        return rc;
    double rest = scores->log_scores[scores->best] - scores->log_scores[scores->second];
    for (size_t i = 0; i + 1 < *count; i++) {
        struct nb_evidence *row = &p->evidence[i];
        assert(row->given == 0); /* the stack has no trees */
        rest -= row->evidence;
        row->feature = own->places[row->feature];
    }
    p->evidence[*count - 1].evidence = rest;
    return 0;
}

/* Sets *probability to that of the label by all of the text. Returns 0 or NB_NO_MEMORY. */
static int judge_whole(struct nb_verdict_private *p, double *probability)
{
    const struct nb_scores *raised = &p->stacked;
    struct nb_scores *whole = &p->whole;
    if (nb_scores_grow(whole, raised->size) != 0)
        return NB_NO_MEMORY;
    whole->size = raised->size;
    memcpy(whole->sureness, raised->sureness, sizeof whole->sureness);
    memcpy(whole->documents, raised->documents, raised->size * sizeof *whole->documents);
    for (size_t v = 0; v < raised->size; v++)
        whole->log_scores[v] = raised->log_scores[v] / p->moderation;
    nb_stack_add_odds(whole, p->passage_place, -p->raised);
    (void)nb_scores_moderate(whole);
    *probability = whole->probabilities[p->passage_place];
    return 0;
}

/* Tells which passage decides. Returns 0 or NB_NO_MEMORY. */
static int tell_passage(struct nb_verdict *verdict)
{
    enum { MOST = 256 }; /* bytes that are shown */
    struct nb_verdict_private *p = verdict->private_;
    struct nb_decisive_passage *told = &verdict->passage;
    const struct nb_buffer *visible = &p->bag.visible;
    size_t begin, to;
    nb_bag_passage(&p->bag, p->worst.first, &told->from, &to);
    nb_bag_passage(&p->bag, p->worst.first + p->worst.count - 1, &begin, &told->to);
    to = told->to < told->from + MOST ? told->to : told->from + MOST;
    to = to < visible->length ? to : visible->length;
    told->text = (struct nb_string){NULL, 0};
    if (told->from < to)
        told->text = (struct nb_string){(const char *)visible->bytes + told->from, to - told->from};
    if (told->to > p->bag.visible_length)
        told->to = p->bag.visible_length;
    told->label = verdict->labels[p->passage_place];
    return judge_whole(p, &told->whole);
}

/* Whether a passage decides between the winner and the runner-up. */
static bool is_of_passage(const struct nb_verdict_private *p)
{
    return p->raised > 0 &&
           (p->passage_place == p->stacked.best || p->passage_place == p->stacked.second);
}

/* What the passage adds to the log-odds that are explained, of the winner against the runner-up,
 * before they are moderated. */
static double raise_of_explained(const struct nb_verdict_private *p)
{
    return p->passage_place == p->stacked.best ? p->raised : -p->raised;
}

/* ---- the explanation ------------------------------------------------------------------------- */

/* Computes the evidence of all tokens, in the order of the bag, and its sums by field. */
static int find_evidence(struct nb_verdict_private *p, size_t *count, struct nb_evidence_sums *sums)
{
    const struct nb_published *published = p->published;
    const struct nb_feature *features = p->bag.features;
    size_t size = p->bag.size;
    bool stacked = nb_published_is_stacked(published) && !p->is_prior;
    int rc = 0;
    if (stacked && p->refined != NULL) {
        rc = nb_pooled_explain(&p->pooled, &p->chain, features, size, &p->stacked, p->evidence,
                               count);
    } else if (p->judge == NULL) {
        sums->factor = stacked ? p->moderation : 1;
        nb_blend_explain(&p->chain.blend, features, size, stacked ? &p->stacked : &p->scores,
                         stacked, p->evidence, count);
        if (stacked && is_of_passage(p))
            p->evidence[*count - 1].evidence += raise_of_explained(p);
    } else if (stacked && is_of_passage(p)) {
        sums->factor = p->moderation;
        return explain_passage(p, count, sums);
    } else if (stacked) {
        sums->factor = p->moderation;
        return nb_stack_explain(published->stack, p->judge->counts, published->weights, features,
                                size, p->rows, &p->inputs, &p->stacked, sums, p->evidence, count);
    } else {
        rc = nb_explain(nb_verdict_scorer(p), p->judge->counts, features, size, p->rows, &p->scores,
                        p->evidence, count);
    }
    if (rc == 0)
        nb_evidence_sum(features, p->evidence, *count, sums);
    return rc;
}

/* Names the models that the evidence comes from, if the model has a parent. */
static void name_sources(struct nb_verdict *verdict)
{
    const struct nb_parent_chain *chain = &verdict->private_->chain;
    verdict->source_count = chain->count > 1 ? chain->contributor_count : 0;
    for (size_t i = 0; i < verdict->source_count; i++)
        verdict->sources[i] = chain->live[chain->contributors[i]]->name;
}

static void put_shares(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    struct nb_verdict_private *p = verdict->private_;
    const struct nb_feature *feature =
        e->feature == NB_NO_FEATURE ? NULL : &p->bag.features[e->feature];
    memset(x->shares, 0, sizeof x->shares);
    if (p->judge == NULL)
        nb_blend_shares(&p->chain.blend, feature, x->shares);
    else
        x->shares[0] = 1;
}

/* Sets the token's occurrences in documents of the two labels. Numbers have none. */
static void put_counts(struct nb_verdict *verdict, const struct nb_evidence *e,
                       struct nb_explained *x)
{
    const struct nb_verdict_private *p = verdict->private_;
    x->has_counts = false;
    x->counts[0] = x->counts[1] = 0;
    if (!verdict->wants_counts || p->judge == NULL || p->refined != NULL ||
        e->feature == NB_NO_FEATURE)
        return;
    const struct nb_model *counts = p->judge->counts;
    struct nb_row row = {p->bag.features[e->feature].id, p->cells[e->feature]};
    x->has_counts = p->rows[e->feature] != NB_NO_ROW;
    x->counts[0] = nb_counts_occurrences_of(counts, row, p->scores.labels[verdict->best]);
    x->counts[1] = nb_counts_occurrences_of(counts, row, p->scores.labels[verdict->second]);
}

/* Sets the token, and the value that it depends on; the prior's row has neither. */
static void put_token(const struct nb_verdict_private *p, const struct nb_evidence *e,
                      struct nb_explained *x)
{
    x->token = x->given = (struct nb_string){NULL, 0};
    x->count = 0;
    x->field = NB_FIELD_BODY;
    if (e->feature == NB_NO_FEATURE)
        return;
    x->token = p->bag.texts[e->feature];
    if (e->given != 0)
        x->given = p->bag.texts[e->given - 1];
    x->field = nb_feature_field(p->bag.features[e->feature].id);
    x->count = p->bag.features[e->feature].count;
}

int nb_verdict_explain(struct nb_verdict *verdict, size_t most)
{
    struct nb_verdict_private *p = verdict->private_;
    struct nb_evidence_sums sums = {.factor = 1};
    size_t count = 0;
    size_t room = p->bag.size + 1; /* twice the room: for the rows, and to sort them */
    int rc = nb_array_reserve(&p->evidence, &p->evidence_room, 2 * room, sizeof *p->evidence);
    if (rc == 0)
        rc = find_evidence(p, &count, &sums);
    assert(rc != 0 || count > 0);
    if (rc == 0) {
        memcpy(verdict->field_evidence, sums.fields, sizeof sums.fields);
        nb_evidence_sort(p->evidence, count - 1, most, p->evidence + room);
    }
    size_t wanted = count < most + 1 ? count : most + 1;
    if (rc == 0)
        rc = nb_array_reserve(&verdict->explanation, &p->explanation_room, wanted,
                              sizeof *verdict->explanation);
    if (rc != 0)
        return rc;
    verdict->second = verdict->stacked && !p->is_prior ? p->stacked.second : p->scores.second;
    for (size_t i = 0; i < wanted; i++) {
        /* The prior's row is the last one, and stays last. */
        const struct nb_evidence *e = &p->evidence[i + 1 == wanted ? count - 1 : i];
        struct nb_explained *x = &verdict->explanation[i];
        x->evidence = e->evidence;
        put_token(p, e, x);
        put_shares(verdict, e, x);
        put_counts(verdict, e, x);
    }
    name_sources(verdict);
    if (verdict->stacked && !p->is_prior && is_of_passage(p))
        rc = tell_passage(verdict);
    verdict->explanation_count = wanted;
    return rc;
}
