/* SPDX-License-Identifier: Apache-2.0 */
#include "core/chain/trail.h"

#include "core/base/pack.h"

void nb_trail_add(struct nb_trail *t, struct nb_chained at)
{
    for (unsigned i = 0; i < NB_TRAIL_SIZES; i++) {
        uint64_t newest = t->first[i].position >> (NB_TRAIL_LOW + i);
        if (at.position >> (NB_TRAIL_LOW + i) <= newest && t->first[i].position != 0)
            continue;
        t->before[i] = t->first[i];
        t->first[i] = at;
    }
}

static void insert(struct nb_chained *points, size_t *count, struct nb_chained one)
{
    size_t at = *count;
    while (at > 0 && points[at - 1].position > one.position)
        at--;
    if (at > 0 && points[at - 1].position == one.position)
        return;
    for (size_t i = (*count)++; i > at; i--)
        points[i] = points[i - 1];
    points[at] = one;
}

size_t nb_trail_list(const struct nb_trail *t, uint64_t limit,
                     struct nb_chained points[NB_TRAIL_POINTS])
{
    size_t count = 0;
    for (unsigned i = 0; i < NB_TRAIL_POINTS; i++) {
        struct nb_chained one = i < NB_TRAIL_SIZES ? t->first[i] : t->before[i - NB_TRAIL_SIZES];
        if (one.position != 0 && one.position < limit)
            insert(points, &count, one);
    }
    return count;
}

static void pack_all(const struct nb_chained *all, struct nb_packer *w)
{
    for (unsigned i = 0; i < NB_TRAIL_SIZES; i++) {
        nb_pack_varint(w, all[i].position);
        nb_pack_u64(w, all[i].chain);
    }
}

void nb_trail_pack(const struct nb_trail *t, struct nb_packer *w)
{
    pack_all(t->first, w);
    pack_all(t->before, w);
}

static void unpack_all(struct nb_chained *all, struct nb_unpacker *u)
{
    for (unsigned i = 0; i < NB_TRAIL_SIZES; i++) {
        all[i].position = nb_unpack_varint(u);
        all[i].chain = nb_unpack_u64(u);
    }
}

void nb_trail_unpack(struct nb_trail *t, struct nb_unpacker *u)
{
    unpack_all(t->first, u);
    unpack_all(t->before, u);
}
