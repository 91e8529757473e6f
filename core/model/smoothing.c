/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/smoothing.h"

#include <assert.h>

#include "core/base/error.h"

const char *const nb_smoothing_p_names[] = {"uniform", "vocabulary", "parent", NULL};

/* In the store; ONE is not stored. */
static const char *const kinds[] = {"one", "labels", "beta", "m", NULL};

void nb_smoothing_deinit(struct nb_smoothing *smoothing)
{
    nb_label_weights_free(smoothing->labels, smoothing->label_count);
    *smoothing = (struct nb_smoothing){.kind = NB_SMOOTHING_ONE};
}

int nb_smoothing_copy(struct nb_smoothing *to, const struct nb_smoothing *from)
{
    struct nb_prior_weight *labels;
    if (nb_label_weights_copy(from->labels, from->label_count, &labels) != 0)
        return NB_NO_MEMORY;
    *to = *from;
    to->labels = labels;
    return 0;
}

void nb_smoothing_write(struct nb_packer *w, const struct nb_smoothing *smoothing)
{
    assert(smoothing->kind > NB_SMOOTHING_ONE && smoothing->kind <= NB_SMOOTHING_M);
    nb_pack_string(w, nb_string_of(kinds[smoothing->kind]));
    if (smoothing->kind == NB_SMOOTHING_LABELS)
        nb_label_weights_write(w, smoothing->labels, smoothing->label_count);
    else if (smoothing->kind == NB_SMOOTHING_BETA)
        nb_pack_double(w, smoothing->beta);
    else
        nb_pack_string(w, nb_string_of(nb_smoothing_p_names[smoothing->p]));
}

/* Returns whether the name is one of the list; sets *index. */
static bool find_name(const char *const *names, struct nb_string name, int *index)
{
    for (*index = 0; names[*index] != NULL; ++*index)
        if (nb_string_equals(name, names[*index]))
            return true;
    return false;
}

int nb_smoothing_read(struct nb_unpacker *r, struct nb_smoothing *smoothing)
{
    int kind;
    if (!find_name(kinds, nb_unpack_string(r), &kind))
        return r->failed ? NB_CORRUPT : NB_VERSION;
    smoothing->kind = kind;
    if (kind == NB_SMOOTHING_LABELS)
        return nb_label_weights_read(r, &smoothing->labels, &smoothing->label_count);
    if (kind == NB_SMOOTHING_BETA)
        smoothing->beta = nb_unpack_double(r);
    else if (kind == NB_SMOOTHING_M && !find_name(nb_smoothing_p_names, nb_unpack_string(r), &kind))
        return r->failed ? NB_CORRUPT : NB_VERSION;
    if (smoothing->kind == NB_SMOOTHING_M)
        smoothing->p = kind;
    return smoothing->kind == NB_SMOOTHING_ONE ? NB_CORRUPT : 0;
}
