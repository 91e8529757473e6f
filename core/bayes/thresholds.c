/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/thresholds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"

void nb_label_thresholds_free(struct nb_label_threshold *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].label);
    free(list);
}

int nb_label_thresholds_copy(const struct nb_label_threshold *list, size_t count,
                             struct nb_label_threshold **to)
{
    struct nb_label_threshold *copy = NULL;
    assert(count == 0 || list != NULL);
    if (count != 0 && (copy = calloc(count, sizeof *copy)) == NULL)
        return NB_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        copy[i] = list[i];
        copy[i].label = strdup(list[i].label);
        if (copy[i].label == NULL) {
            nb_label_thresholds_free(copy, i);
            return NB_NO_MEMORY;
        }
    }
    *to = copy;
    return 0;
}

bool nb_label_thresholds_have(const struct nb_label_threshold *list, size_t count,
                              enum nb_threshold_kind kind)
{
    bool have = false;
    for (size_t i = 0; i < count; i++)
        have = have || list[i].kind == (int)kind;
    return have;
}

void nb_label_thresholds_write(struct nb_packer *w, const struct nb_label_threshold *list,
                               size_t count, bool has_kinds)
{
    nb_pack_varint(w, count);
    for (size_t i = 0; i < count; i++) {
        assert(has_kinds || list[i].kind == NB_THRESHOLD_NUMBER);
        nb_pack_string(w, nb_string_of(list[i].label));
        if (has_kinds)
            nb_pack_u8(w, (uint8_t)list[i].kind);
        if (list[i].kind == NB_THRESHOLD_COSTS) {
            nb_pack_double(w, list[i].cost_fp);
            nb_pack_double(w, list[i].cost_fn);
        } else {
            nb_pack_double(w, list[i].number);
        }
    }
}

static int read_one(struct nb_unpacker *r, bool has_kinds, struct nb_label_threshold *one)
{
    struct nb_string label = nb_unpack_string(r);
    uint64_t kind = has_kinds ? nb_unpack_u8(r) : NB_THRESHOLD_NUMBER;
    if (!r->failed && kind > NB_THRESHOLD_COSTS)
        return NB_VERSION;
    one->kind = (int)kind;
    if (kind == NB_THRESHOLD_COSTS) {
        one->cost_fp = nb_unpack_double(r);
        one->cost_fn = nb_unpack_double(r);
    } else {
        one->number = nb_unpack_double(r);
    }
    if (r->failed || memchr(label.bytes, '\0', label.length) != NULL)
        return NB_CORRUPT;
    one->label = nb_string_copy(label);
    return one->label == NULL ? NB_NO_MEMORY : 0;
}

int nb_label_thresholds_read(struct nb_unpacker *r, bool has_kinds,
                             struct nb_label_threshold **list, size_t *count)
{
    /* Each takes at least a length byte and eight bytes of a number, which bounds the allocation.
     */
    size_t wanted = (size_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at) / 9);
    if (wanted == 0)
        return r->failed ? NB_CORRUPT : 0;
    *list = calloc(wanted, sizeof **list);
    if (*list == NULL)
        return NB_NO_MEMORY;
    for (; *count < wanted; ++*count) {
        int rc = read_one(r, has_kinds, &(*list)[*count]);
        if (rc != 0)
            return rc;
    }
    return 0;
}
