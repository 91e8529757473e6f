/* SPDX-License-Identifier: Apache-2.0
 *
 * Values drawn in one walk over the rows. A category has the value with the least ln(-ln u) - ln
 * P(m|v) / T, u uniform in (0, 1) and of each value its own: then each has it with its share
 * (Gumbel 1954; the exponential clocks of Efraimidis and Spirakis 2006). A set has a value where
 * logit(u) is below logit(P(m|v)) / T. A Gaussian to the power 1 / T has T times its variance; it
 * is drawn by the transform of Box and Muller (1958). What a value draws depends on the seed and
 * its feature alone, and not on other values.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/random.h"
#include "core/generate/generate.h"
#include "core/generate/label_walk.h"
#include "core/generate/values.h"
#include "core/live/state.h"
#include "core/store/row_texts.h"

/* A value that the document has. */
struct drawn {
    double key; /* of a category: the least so far */
    uint64_t feature;
    uint32_t row;
    bool is_there;
};

struct member {
    struct drawn value;
    size_t attribute;
};

struct drawing {
    struct nb_label_walk walk;
    const struct nb_sampling *sampling;
    const struct nb_values_sink *sink;
    struct nb_row_texts texts;
    struct drawn *categories; /* owned; by attribute */
    struct member *members;   /* owned; of sets, in the order of the rows */
    size_t member_count, member_room;
    bool is_short; /* of memory */
};

static const struct nb_attribute *attribute_at(const struct drawing *d, size_t attribute)
{
    return &d->walk.published->settings.attributes[attribute];
}

/* Between 0 and 1, and neither. */
static double fraction(struct nb_random *random)
{
    return ((double)(nb_random_next(random) >> 12) + 0.5) * 0x1p-52;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void draw_category(struct drawing *d, const struct nb_walked_value *value, double u)
{
    struct drawn *best = &d->categories[value->law.attribute];
    double p = value->law.probability;
    double key = log(-log(u)) - log(p) / d->sampling->temperature;
    if (p > 0 && (!best->is_there || key < best->key))
        *best = (struct drawn){key, value->feature, value->row, true};
}

static void draw_member(struct drawing *d, const struct nb_walked_value *value, double u)
{
    double p = value->law.probability;
    if (!(log(u) - log1p(-u) < (log(p) - log1p(-p)) / d->sampling->temperature))
        return;
    if (nb_array_reserve(&d->members, &d->member_room, d->member_count + 1, sizeof *d->members) !=
        0) {
        d->is_short = true;
        return;
    }
    d->members[d->member_count++] =
        (struct member){{0, value->feature, value->row, true}, value->law.attribute};
}

static void pass_value(void *user, const struct nb_walked_value *value)
{
    struct drawing *d = user;
    struct nb_random random = nb_random_of(d->sampling->seed, value->feature);
    double u = fraction(&random);
    if (attribute_at(d, value->law.attribute)->kind == NB_FIELD_KIND_SET)
        draw_member(d, value, u);
    else
        draw_category(d, value, u);
}

static int by_attribute(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    if (x->attribute != y->attribute)
        return x->attribute < y->attribute ? -1 : 1;
    return (x->value.row > y->value.row) - (x->value.row < y->value.row);
}

static int draw_values(struct drawing *d, struct nb_error *error)
{
    d->categories = calloc(nb_label_walk_attributes(&d->walk), sizeof *d->categories);
    if (d->categories == NULL)
        return nb_error_no_memory(error);
    int rc = nb_label_walk_values(&d->walk, pass_value, d, error);
    if (rc == 0 && d->is_short)
        return nb_error_no_memory(error);
    if (d->member_count > 0)
        qsort(d->members, d->member_count, sizeof *d->members, by_attribute);
    return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Sets *value, whose bytes are NULL where it was forgotten meanwhile. */
static int text_of(struct drawing *d, const struct drawn *drawn, struct nb_string field,
                   struct nb_string *value, struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    *value = (struct nb_string){NULL, 0};
    int rc = nb_row_texts_get(&d->texts, drawn->row, drawn->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0;
    if (rc == 0 && !is_kept)
        rc = nb_error_set(error, NB_CONFLICT,
                          "values were learned without their texts ([store] keep_words = no): "
                          "there is nothing to write a document with");
    if (rc == 0)
        *value = nb_value_of_text(text, field);
    return rc;
}

static int tell_category(struct drawing *d, size_t attribute, struct nb_string field,
                         struct nb_error *error)
{
    struct nb_string value;
    if (!d->categories[attribute].is_there)
        return 0;
    int rc = text_of(d, &d->categories[attribute], field, &value, error);
    return rc != 0 || value.bytes == NULL ? rc : d->sink->category(d->sink->user, field, value);
}

/* *at is the place of the first member of this set or a later one. */
static int tell_set(struct drawing *d, size_t attribute, struct nb_string field, size_t *at,
                    struct nb_error *error)
{
    int rc = d->sink->set(d->sink->user, field);
    for (; rc == 0 && *at < d->member_count && d->members[*at].attribute == attribute; ++*at) {
        struct nb_string value;
        rc = text_of(d, &d->members[*at].value, field, &value, error);
        if (rc == 0 && value.bytes != NULL)
            rc = d->sink->member(d->sink->user, value);
    }
    return rc;
}

static int tell_number(const struct drawing *d, size_t attribute, struct nb_string field,
                       const struct nb_attribute_law *law)
{
    static const double two_pi = 6.283185307179586;
    uint64_t id = nb_feature_value_id((unsigned)attribute * 2 + 1, 0);
    struct nb_random random = nb_random_of(d->sampling->seed, id);
    double radius = sqrt(-2 * log(fraction(&random)) * d->sampling->temperature);
    double normal = radius * cos(two_pi * fraction(&random));
    return d->sink->number(d->sink->user, field, law->mean + law->deviation * normal);
}

static int tell_field(struct drawing *d, size_t attribute, size_t *at, struct nb_error *error)
{
    struct nb_string field = nb_string_of(attribute_at(d, attribute)->name);
    struct nb_attribute_law law;
    uint64_t documents;
    int rc = nb_label_walk_attribute(&d->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    if (law.has_number)
        return tell_number(d, attribute, field, &law);
    switch ((enum nb_field_kind)attribute_at(d, attribute)->kind) {
    case NB_FIELD_KIND_CATEGORY:
        return tell_category(d, attribute, field, error);
    case NB_FIELD_KIND_SET:
        return law.values > 0 ? tell_set(d, attribute, field, at, error) : 0;
    case NB_FIELD_KIND_NUMBER:
    case NB_FIELD_KIND_TEXT:
        break;
    }
    return 0;
}

static int tell_values(struct drawing *d, struct nb_error *error)
{
    const struct nb_live *live = d->walk.live;
    size_t at = 0;
    int rc = nb_row_texts_begin(&d->texts, d->walk.engine->store, live->number, live->key, error);
    for (size_t i = 0; rc == 0 && i < nb_label_walk_attributes(&d->walk); i++)
        rc = tell_field(d, i, &at, error);
    nb_row_texts_end(&d->texts);
    return rc;
}

int nb_generate_values(struct nb_engine *engine, struct nb_string model,
                       const struct nb_sampling *sampling, const struct nb_values_sink *sink,
                       struct nb_error *error)
{
    struct drawing d = {.sampling = sampling, .sink = sink};
    struct nb_error why = {0};
    int rc = nb_label_walk_begin(&d.walk, engine, model, sampling->label, error);
    if (rc != 0)
        return rc;
    if (nb_label_walk_attributes(&d.walk) > 0) {
        rc = draw_values(&d, &why);
        if (rc == 0)
            rc = tell_values(&d, &why);
        rc = nb_live_note(d.walk.live, rc, &why, error);
    }
    free(d.categories);
    free(d.members);
    nb_label_walk_end(&d.walk);
    return rc;
}
