/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/levels.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/error.h"

struct nb_level_member {
    struct nb_string name; /* of its label at the level */
    size_t index;          /* of the original label */
};

size_t nb_level_length(const char *label, unsigned level)
{
    size_t i = 0;
    for (unsigned slashes = 0; label[i] != '\0'; i++)
        if (label[i] == '/' && i > 0 && label[i - 1] != '/' && ++slashes == level)
            break;
    return i;
}

void nb_levels_deinit(struct nb_levels *levels)
{
    free(levels->labels);
    free(levels->documents);
    free(levels->log_scores);
    free(levels->probabilities);
    free(levels->members);
    nb_buffer_deinit(&levels->names);
    *levels = (struct nb_levels){0};
}

static int make_room(struct nb_levels *l, size_t size)
{
    if (nb_array_reserve(&l->members, &l->member_room, size, sizeof *l->members) != 0)
        return NB_NO_MEMORY;
    if (size <= l->room)
        return 0;
    if (nb_array_resize(&l->labels, size, sizeof *l->labels) != 0 ||
        nb_array_resize(&l->documents, size, sizeof *l->documents) != 0 ||
        nb_array_resize(&l->log_scores, size, sizeof *l->log_scores) != 0 ||
        nb_array_resize(&l->probabilities, size, sizeof *l->probabilities) != 0)
        return NB_NO_MEMORY;
    l->room = size;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const struct nb_level_member *x = a, *y = b;
    int order = nb_string_compare(x->name, y->name);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Sorts labels by their names at the level, so that equal names are adjacent. In the order of full
 * names they are not: "sci-fi/new" lies between "sci" and "sci/med". */
static int sort(struct nb_levels *l, const struct nb_level_scores *scores, unsigned level)
{
    size_t bytes = 0;
    for (size_t i = 0; i < scores->size; i++) {
        const char *label = scores->labels[i];
        struct nb_string name = {label, nb_level_length(label, level)};
        l->members[i] = (struct nb_level_member){name, i};
        bytes += name.length + 1;
    }
    qsort(l->members, scores->size, sizeof *l->members, by_name);
    l->names.length = 0;
    return nb_buffer_reserve(&l->names, bytes);
}

/* ln(exp(a) + exp(b)), where either may be -infinity. */
static double add_logs(double a, double b)
{
    double most = fmax(a, b), least = fmin(a, b);
    return isinf(least) ? most : most + log1p(exp(least - most));
}

static void begin(struct nb_levels *l, struct nb_string name)
{
    size_t i = l->size++;
    char *copy = l->names.bytes + l->names.length;
    assert(l->names.capacity - l->names.length > name.length);
    memcpy(copy, name.bytes, name.length);
    copy[name.length] = '\0';
    l->names.length += name.length + 1;
    l->labels[i] = copy;
    l->documents[i] = 0;
    l->log_scores[i] = -(double)INFINITY;
    l->probabilities[i] = 0;
}

static void sum(struct nb_levels *l, const struct nb_level_scores *scores)
{
    l->size = 0;
    for (size_t k = 0; k < scores->size; k++) {
        const struct nb_level_member *m = &l->members[k];
        if (k == 0 || nb_string_compare(m->name, m[-1].name) != 0)
            begin(l, m->name);
        size_t at = l->size - 1;
        l->documents[at] += scores->documents[m->index];
        l->log_scores[at] = add_logs(l->log_scores[at], scores->log_scores[m->index]);
        l->probabilities[at] += scores->probabilities[m->index];
    }
}

int nb_levels_sum(struct nb_levels *levels, const struct nb_level_scores *scores, unsigned level)
{
    assert(scores->size > 0 && level > 0);
    if (make_room(levels, scores->size) != 0 || sort(levels, scores, level) != 0)
        return NB_NO_MEMORY;
    sum(levels, scores);
    levels->best = 0;
    for (size_t i = 0; i < levels->size; i++) {
        levels->probabilities[i] = fmin(levels->probabilities[i], 1);
        if (levels->probabilities[i] > levels->probabilities[levels->best])
            levels->best = i;
    }
    return 0;
}
