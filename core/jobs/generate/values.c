/* SPDX-License-Identifier: Apache-2.0 */
#include "core/jobs/generate/values.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/heap.h"
#include "core/ledger/entries/row_texts.h"
#include "core/model/live/state.h"

struct listing {
    const struct nb_label_walk *walk;
    const struct nb_distribution_sink *sink;
    double mass;
    struct nb_heap heap; /* of struct nb_walked_value */
    struct nb_row_texts texts;
};

/* More probable first; of equal ones the lower row. */
static int compare(const void *a, const void *b)
{
    const struct nb_walked_value *x = a, *y = b;
    if (x->law.probability < y->law.probability || x->law.probability > y->law.probability)
        return x->law.probability > y->law.probability ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int by_field(const void *a, const void *b)
{
    const struct nb_walked_value *x = a, *y = b;
    if (x->law.attribute != y->law.attribute)
        return x->law.attribute < y->law.attribute ? -1 : 1;
    return compare(a, b);
}

static void offer(void *user, const struct nb_walked_value *value)
{
    nb_heap_add(user, value);
}

static int find_values(struct listing *l, size_t limit, struct nb_error *error)
{
    size_t rows = nb_model_rows(l->walk->live->counts);
    l->heap = (struct nb_heap){.most = limit < rows ? limit : rows,
                               .item_size = sizeof(struct nb_walked_value),
                               .compare = compare};
    l->heap.items = malloc((l->heap.most + 1) * sizeof(struct nb_walked_value));
    if (l->heap.items == NULL)
        return nb_error_no_memory(error);
    int rc = l->heap.most == 0 ? 0 : nb_label_walk_values(l->walk, offer, &l->heap, error);
    qsort(l->heap.items, l->heap.count, sizeof(struct nb_walked_value), by_field);
    return rc;
}

/* ---- telling --------------------------------------------------------------------------------- */

struct nb_string nb_value_of_text(struct nb_string text, struct nb_string field)
{
    assert(text.length > field.length);
    return (struct nb_string){text.bytes + field.length + 1, text.length - field.length - 1};
}

static struct nb_interval interval_of(const struct nb_value_law *law, double mass)
{
    if (!(law->own > 0))
        return (struct nb_interval){0, 0};
    if (!(law->others > 0))
        return (struct nb_interval){1, 1};
    return nb_beta_interval(law->own, law->others, mass);
}

static int tell_value(struct listing *l, struct nb_string field,
                      const struct nb_walked_value *value, struct nb_error *error)
{
    struct nb_string text;
    bool is_kept = false;
    int rc = nb_row_texts_get(&l->texts, value->row, value->feature, &text, &is_kept, error);
    if (rc == NB_NOT_FOUND)
        return 0; /* forgotten meanwhile */
    if (rc != 0)
        return rc;
    const struct nb_value_posterior posterior = {
        .value = is_kept ? nb_value_of_text(text, field) : text,
        .count = value->law.count,
        .posterior = {value->law.probability, interval_of(&value->law, l->mass)}};
    return l->sink->value(l->sink->user, &posterior);
}

/* Training between the steps may have left the label behind the field. */
static int tell_field(const struct listing *l, size_t attribute, struct nb_string name,
                      struct nb_error *error)
{
    struct nb_attribute_law law;
    uint64_t documents;
    int rc = nb_label_walk_attribute(l->walk, attribute, &law, &documents, error);
    if (rc != 0)
        return rc;
    const struct nb_field_posterior field = {
        .name = name,
        .kind = l->walk->published->settings.attributes[attribute].kind,
        .documents = law.documents,
        .missing = documents > law.documents ? documents - law.documents : 0,
        .values = law.values,
        .has_number = law.has_number,
        .mean = law.mean,
        .deviation = law.deviation};
    return l->sink->field(l->sink->user, &field);
}

static int tell_all(struct listing *l, struct nb_error *error)
{
    const struct nb_walked_value *values = l->heap.items;
    int rc = 0;
    for (size_t i = 0, at = 0; rc == 0 && i < nb_label_walk_attributes(l->walk); i++) {
        struct nb_string name = nb_string_of(l->walk->published->settings.attributes[i].name);
        rc = tell_field(l, i, name, error);
        for (; rc == 0 && at < l->heap.count && values[at].law.attribute == i; at++)
            rc = tell_value(l, name, &values[at], error);
    }
    return rc;
}

int nb_list_values(const struct nb_label_walk *walk, size_t limit, double mass,
                   const struct nb_distribution_sink *sink, struct nb_error *error)
{
    struct listing l = {.walk = walk, .sink = sink, .mass = mass};
    const struct nb_live *live = walk->live;
    int rc = find_values(&l, limit, error);
    if (rc == 0) {
        rc = nb_row_texts_begin(&l.texts, walk->engine->store, live->number, live->key, error);
        if (rc == 0)
            rc = tell_all(&l, error);
        nb_row_texts_end(&l.texts);
    }
    free(l.heap.items);
    return rc;
}
