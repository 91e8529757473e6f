/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/draw_values.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/jobs/generate/draw_texts.h"

/* A value of a category that depends on another one: drawn when all values are known. */
struct candidate {
    uint64_t feature;
    double probability; /* where the document has no value of the parent */
    uint32_t row;
    uint32_t attribute;
};

struct drawing {
    struct nb_label_walk *walk;
    const struct nb_sampling *sampling;
    struct nb_drawn_values *drawn;
    struct nb_random *series; /* owned; by attribute */
    bool has_tree;
    struct candidate *candidates; /* owned */
    size_t candidate_count, candidate_room;
    size_t words_left; /* that the texts may have */
    bool is_short;     /* of memory */
};

/* ---- has it a value? ------------------------------------------------------------------------- */

/* Of a field that the document has. */
static int begin_text(struct drawing *d, size_t attribute, const struct nb_attribute_law *law)
{
    double mean = (double)law->words / (double)law->documents;
    return nb_draw_text_begin(&d->drawn->texts[attribute], &d->series[attribute], mean,
                              d->sampling->temperature, &d->words_left);
}

static int draw_presence(struct drawing *d, size_t attribute, struct nb_error *error)
{
    struct nb_attribute_law law;
    uint64_t documents;
    int rc = nb_label_walk_attribute(d->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    uint64_t id = nb_feature_value_id((unsigned)attribute * 2, 0);
    d->series[attribute] = nb_random_of(d->sampling->seed, id);
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
    double key = log(-log(u)) - log(p) / d->sampling->temperature;
    if (p > 0 && (!best->is_there || key < best->key))
        *best = (struct nb_drawn_value){feature, row, true, key};
}

static void draw_member(struct drawing *d, const struct nb_walked_value *value)
{
    struct nb_drawn_values *drawn = d->drawn;
    size_t attribute = value->law.attribute;
    double p = value->law.probability;
    double u = nb_random_fraction(&d->series[attribute]);
    if (!(log(u) - log1p(-u) < (log(p) - log1p(-p)) / d->sampling->temperature))
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

/* Each category when its parent was drawn: at most as many rounds as there are categories. */
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

/* ---- the whole ------------------------------------------------------------------------------- */

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
        rc = nb_draw_texts(d->walk, d->drawn->texts, error);
    return rc == 0 && d->has_tree ? nb_label_walk_look(d->walk, draw_tree, d, error) : rc;
}

int nb_draw_values(struct nb_label_walk *walk, const struct nb_sampling *sampling,
                   struct nb_drawn_values *drawn, struct nb_error *error)
{
    struct drawing d = {.walk = walk, .sampling = sampling, .drawn = drawn};
    d.words_left = sampling->words_most;
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
