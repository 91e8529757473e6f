/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/settings/label_weights.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/search.h"

void nb_label_weights_free(struct nb_prior_weight *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].label);
    free(list);
}

int nb_label_weights_copy(const struct nb_prior_weight *list, size_t count,
                          struct nb_prior_weight **to)
{
    struct nb_prior_weight *copy = NULL;
    assert(count == 0 || list != NULL);
    if (count != 0) {
        copy = calloc(count, sizeof *copy);
        if (copy == NULL)
            return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i].weight = list[i].weight;
        copy[i].label = strdup(list[i].label);
        if (copy[i].label == NULL) {
            nb_label_weights_free(copy, i);
            return NB_NO_MEMORY;
        }
    }
    *to = copy;
    return 0;
}

static bool is_before(const void *list, size_t at, const void *label)
{
    return strcmp(((const struct nb_prior_weight *)list)[at].label, label) < 0;
}

double nb_label_weights_find(const struct nb_prior_weight *list, size_t count, const char *label)
{
    size_t at = nb_search(list, count, label, is_before);
    double sum = 0;
    if (at < count && strcmp(list[at].label, label) == 0)
        return list[at].weight;
    for (size_t i = 0; i < count; i++)
        sum += list[i].weight;
    return sum / (double)count; /* not below the least of them, as a sum of quotients may be */
}

void nb_label_weights_write(struct nb_packer *w, const struct nb_prior_weight *list, size_t count)
{
    nb_pack_varint(w, count);
    for (size_t i = 0; i < count; i++) {
        nb_pack_string(w, nb_string_of(list[i].label));
        nb_pack_double(w, list[i].weight);
    }
}

int nb_label_weights_read(struct nb_unpacker *r, struct nb_prior_weight **list, size_t *count)
{
    /* each takes a length byte and eight of the weight at least, which bounds the allocation */
    size_t wanted = (size_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at) / 9);
    if (wanted == 0)
        return 0;
    *list = calloc(wanted, sizeof **list);
    if (*list == NULL)
        return NB_NO_MEMORY;
    for (; *count < wanted; ++*count) {
        struct nb_prior_weight *w = &(*list)[*count];
        struct nb_string label = nb_unpack_string(r);
        w->weight = nb_unpack_double(r);
        if (r->failed || memchr(label.bytes, '\0', label.length) != NULL)
            return NB_CORRUPT;
        w->label = nb_string_copy(label);
        if (w->label == NULL)
            return NB_NO_MEMORY;
    }
    return 0;
}
