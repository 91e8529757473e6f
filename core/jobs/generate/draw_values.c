/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/draw_values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/error.h"

int nb_positions_begin(struct nb_positions *positions, size_t length, uint64_t seed,
                       double temperature)
{
    assert(length < UINT32_MAX && temperature > 0);
    *positions = (struct nb_positions){.power = 1 / temperature, .last = -1};
    positions->heap = calloc(length + 1, sizeof *positions->heap);
    if (positions->heap == NULL)
        return NB_NO_MEMORY;
    positions->length = length;
    for (size_t i = 0; i < length; i++)
        positions->heap[i] = (struct nb_position){
            .random = nb_random_of(seed, i), .row = UINT32_MAX, .place = (uint32_t)i};
    return 0;
}

void nb_positions_deinit(struct nb_positions *positions)
{
    free(positions->heap);
    *positions = (struct nb_positions){0};
}

/* ---- the walk -------------------------------------------------------------------------------- */

static double fraction(struct nb_random *random)
{
    return (double)((nb_random_next(random) >> 11) + 1) * 0x1p-53;
}

static void sift(struct nb_positions *p)
{
    struct nb_position moved = p->heap[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= p->length)
            break;
        if (child + 1 < p->length && p->heap[child + 1].next < p->heap[child].next)
            child++;
        if (moved.next <= p->heap[child].next)
            break;
        p->heap[at] = p->heap[child];
        at = child;
    }
    p->heap[at] = moved;
}

static double weight_of(struct nb_positions *p, double count)
{
    if (p->power == 1)
        return count;
    if (count < p->last || count > p->last) {
        p->last = count;
        p->last_weight = pow(count, p->power);
    }
    return p->last_weight;
}

void nb_positions_offer(struct nb_positions *positions, uint64_t feature, uint32_t row,
                        double count)
{
    if (positions->length == 0)
        return;
    double weight = weight_of(positions, count);
    if (!(weight > 0)) /* the estimate is 0, or a power that a double cannot hold */
        return;
    positions->sum += weight;
    while (positions->heap[0].next <= positions->sum) {
        struct nb_position *p = &positions->heap[0];
        p->feature = feature;
        p->row = row;
        p->next = positions->sum / fraction(&p->random);
        if (p->next <= positions->sum) /* u was 1: the next word takes the place */
            p->next = nextafter(positions->sum, INFINITY);
        sift(positions);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct nb_position *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

void nb_positions_sort(struct nb_positions *positions)
{
    if (positions->length > 0)
        qsort(positions->heap, positions->length, sizeof *positions->heap, by_place);
}

/* By inversion: the least k at which P(X <= k) reaches u, and no more than `most`. */
static size_t draw_length(struct nb_random *series, double mean, size_t most)
{
    double u = nb_random_fraction(series), log_p = -mean, below = exp(log_p);
    size_t k = 0;
    while (k < most && mean > 0 && below < u) {
        log_p += log(mean) - log((double)++k);
        double p = exp(log_p);
        if ((double)k > mean &&
            below + p <= below) /* u is above the sum only because of rounding */
            break;
        below += p;
    }
    return k;
}

int nb_draw_text_begin(struct nb_positions *text, struct nb_random *series, double mean,
                       double temperature, size_t *left)
{
    assert(mean >= 0);
    size_t length = draw_length(series, mean, *left);
    *left -= length;
    return nb_positions_begin(text, length, nb_random_next(series), temperature);
}

struct texts_walk {
    const struct nb_label_walk *walk;
    struct nb_positions *texts;
};

static void pass_row(void *user, const struct nb_attribute_scores *scores, uint32_t row,
                     uint32_t place)
{
    const struct texts_walk *w = user;
    const struct nb_model *counts = w->walk->live->counts;
    const struct nb_settings *settings = &w->walk->published->settings;
    struct nb_text_word word;
    if (nb_text_word_of(scores, settings, counts, nb_model_row(counts, row), place, &word))
        nb_positions_offer(&w->texts[word.attribute], nb_model_row_id(counts, row), row,
                           (double)word.count + word.addend);
}

/* Draws the words of the texts, indexed by attribute, in one walk over the rows; without a walk if
 * all texts are empty. Returns as nb_label_walk_law. */
static int draw_texts(struct nb_label_walk *walk, struct nb_positions *texts,
                      struct nb_error *error)
{
    struct texts_walk w = {walk, texts};
    size_t attributes = nb_label_walk_attributes(walk), words = 0;
    for (size_t i = 0; i < attributes; i++)
        words += texts[i].length;
    int rc = words > 0 ? nb_label_walk_rows(walk, pass_row, &w, error) : 0;
    for (size_t i = 0; i < attributes; i++)
        nb_positions_sort(&texts[i]);
    return rc;
}

/* A value of a category that depends on another one: drawn when all values are known. */
struct candidate {
    uint64_t feature;
    double probability; /* used if the document has no value of the parent */
    uint32_t row;
    uint32_t attribute;
};

struct drawing {
    struct nb_label_walk *walk;
    uint64_t seed;
    double temperature;
    struct nb_drawn_values *drawn;
    struct nb_random *series; /* owned; by attribute */
    bool has_tree;
    struct candidate *candidates; /* owned */
    size_t candidate_count, candidate_room;
    size_t words_left; /* number of words that the texts may still have */
    bool is_short;     /* memory has run out */
};

/* ---- presence of values ---------------------------------------------------------------------- */

/* Begins the text of a field that the document has. */
static int begin_text(struct drawing *d, size_t attribute, const struct nb_attribute_law *law)
{
    double mean = (double)law->words / (double)law->documents;
    return nb_draw_text_begin(&d->drawn->texts[attribute], &d->series[attribute], mean,
                              d->temperature, &d->words_left);
}

static int draw_presence(struct drawing *d, size_t attribute, struct nb_error *error)
{
    struct nb_attribute_law law;
    uint64_t documents;
    int rc = nb_label_walk_attribute(d->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    uint64_t id = nb_feature_value_id((unsigned)attribute * 2, 0);
    d->series[attribute] = nb_random_of(d->seed, id);
    double u = nb_random_fraction(&d->series[attribute]);
    d->drawn->has[attribute] = u * (double)documents < (double)law.documents;
    bool is_text = d->walk->published->settings.attributes[attribute].kind == NB_FIELD_KIND_TEXT;
    if (d->drawn->has[attribute] && is_text && begin_text(d, attribute, &law) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void offer(struct drawing *d, size_t attribute, uint64_t feature, uint32_t row, double p)
{
    assert(d->drawn->categories != NULL);
    struct nb_drawn_value *best = &d->drawn->categories[attribute];
    double u = nb_random_fraction(&d->series[attribute]);
    double key = log(-log(u)) - log(p) / d->temperature;
    if (p > 0 && (!best->is_there || key < best->key))
        *best = (struct nb_drawn_value){feature, row, true, key};
}

static void draw_member(struct drawing *d, const struct nb_walked_value *value)
{
    struct nb_drawn_values *drawn = d->drawn;
    size_t attribute = value->law.attribute;
    double p = value->law.probability;
    double u = nb_random_fraction(&d->series[attribute]);
    if (!(log(u) - log1p(-u) < (log(p) - log1p(-p)) / d->temperature))
        return;
    if (nb_array_reserve(&drawn->members, &drawn->member_room, drawn->member_count + 1,
                         sizeof *drawn->members) != 0) {
        d->is_short = true;
        return;
    }
    drawn->members[drawn->member_count++] =
        (struct nb_drawn_member){{value->feature, value->row, true, 0}, attribute};
}

static void keep(struct drawing *d, const struct nb_walked_value *value)
{
    if (nb_array_reserve(&d->candidates, &d->candidate_room, d->candidate_count + 1,
                         sizeof *d->candidates) != 0) {
        d->is_short = true;
        return;
    }
    d->candidates[d->candidate_count++] = (struct candidate){
        value->feature, value->law.probability, value->row, (uint32_t)value->law.attribute};
}

static void pass_value(void *user, const struct nb_walked_value *value)
{
    struct drawing *d = user;
    size_t attribute = value->law.attribute;
    if (!d->drawn->has[attribute])
        return;
    if (d->walk->published->settings.attributes[attribute].kind == NB_FIELD_KIND_SET)
        draw_member(d, value);
    else if (d->has_tree)
        keep(d, value);
    else
        offer(d, attribute, value->feature, value->row, value->law.probability);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool is_still(const struct drawing *d, uint32_t row, uint64_t feature)
{
    const struct nb_model *counts = d->walk->live->counts;
    return row < nb_model_rows(counts) && nb_model_row_id(counts, row) == feature;
}

static void draw_category(struct drawing *d, const struct nb_attribute_scores *scores,
                          uint32_t place, size_t attribute, size_t parent)
{
    const struct nb_drawn_value *given =
        parent < nb_label_walk_attributes(d->walk) ? &d->drawn->categories[parent] : NULL;
    bool is_given = given != NULL && given->is_there && is_still(d, given->row, given->feature);
    for (size_t i = 0; i < d->candidate_count; i++) {
        const struct candidate *c = &d->candidates[i];
        if (c->attribute != attribute || !is_still(d, c->row, c->feature))
            continue;
        double p =
            is_given ? nb_value_law_given(scores, d->walk->live->counts, c->row, given->row, place)
                     : c->probability;
        offer(d, attribute, c->feature, c->row, p);
    }
}

/* Draws each category after its parent: at most as many rounds as there are categories. */
static void draw_tree(void *user, const struct nb_attribute_scores *scores, uint32_t place)
{
    struct drawing *d = user;
    size_t count = nb_label_walk_attributes(d->walk);
    bool done[NB_ATTRIBUTES_MOST] = {false};
    for (bool has_drawn = true; has_drawn;) {
        has_drawn = false;
        for (size_t i = 0; i < count; i++) {
            size_t parent = nb_attribute_law_parent(scores, i);
            if (done[i] || (parent < count && !done[parent]))
                continue;
            if (d->drawn->has[i])
                draw_category(d, scores, place, i, parent);
            done[i] = has_drawn = true;
        }
    }
}

/* ---- the whole job --------------------------------------------------------------------------- */

static int by_attribute(const void *a, const void *b)
{
    const struct nb_drawn_member *x = a, *y = b;
    if (x->attribute != y->attribute)
        return x->attribute < y->attribute ? -1 : 1;
    return (x->value.row > y->value.row) - (x->value.row < y->value.row);
}

static int draw_all(struct drawing *d, struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < nb_label_walk_attributes(d->walk); i++)
        rc = draw_presence(d, i, error);
    if (rc == 0)
        rc = nb_label_walk_values(d->walk, pass_value, d, error);
    if (rc == 0 && d->is_short)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = draw_texts(d->walk, d->drawn->texts, error);
    return rc == 0 && d->has_tree ? nb_label_walk_look(d->walk, draw_tree, d, error) : rc;
}

int nb_draw_values(struct nb_label_walk *walk, uint64_t seed, double temperature, size_t words_most,
                   struct nb_drawn_values *drawn, struct nb_error *error)
{
    struct drawing d = {.walk = walk,
                        .seed = seed,
                        .temperature = temperature,
                        .words_left = words_most,
                        .drawn = drawn};
    size_t count = nb_label_walk_attributes(walk);
    *drawn = (struct nb_drawn_values){.attributes = count};
    d.has_tree = walk->published->settings.structure == NB_STRUCTURE_TAN;
    d.series = calloc(count, sizeof *d.series);
    drawn->has = calloc(count, sizeof *drawn->has);
    drawn->categories = calloc(count, sizeof *drawn->categories);
    drawn->texts = calloc(count, sizeof *drawn->texts);
    bool has_room =
        d.series != NULL && drawn->has != NULL && drawn->categories != NULL && drawn->texts != NULL;
    int rc = has_room ? draw_all(&d, error) : nb_error_no_memory(error);
    if (drawn->member_count > 0)
        qsort(drawn->members, drawn->member_count, sizeof *drawn->members, by_attribute);
    free(d.series);
    free(d.candidates);
    return rc;
}

void nb_drawn_values_deinit(struct nb_drawn_values *drawn)
{
    for (size_t i = 0; drawn->texts != NULL && i < drawn->attributes; i++)
        nb_positions_deinit(&drawn->texts[i]);
    free(drawn->texts);
    free(drawn->has);
    free(drawn->categories);
    free(drawn->members);
    *drawn = (struct nb_drawn_values){0};
}
