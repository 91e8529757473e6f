/* SPDX-License-Identifier: Apache-2.0 */
#include "core/stack/weights/slots_stored.h"

#include <assert.h>
#include <endian.h>
#include <math.h>
#include <string.h>

#include "core/base/error.h"

enum { SLOT_BITS = 64, SHIFT = 32, SLOT_MOST = NB_VARINT_MOST + (int)sizeof(uint64_t) };

static uint64_t bits_of(const struct nb_slots *s, uint32_t slot)
{
    uint32_t value, squares;
    memcpy(&value, &s->table.values[slot], sizeof value);
    memcpy(&squares, &s->table.squares[slot], sizeof squares);
    return (uint64_t)squares << SHIFT | value;
}

/* A varint and 64 bits, with one look at the room for both: a commit has thousands of them. */
static void write_slot(const struct nb_slots *s, uint32_t slot, uint32_t *next,
                       struct nb_packer *to)
{
    uint64_t bits = htole64(bits_of(s, slot));
    assert(slot >= *next);
    if (to->code == 0)
        to->code = nb_buffer_reserve(to->out, SLOT_MOST);
    if (to->code != 0)
        return;
    char *at = nb_put_varint(to->out->bytes + to->out->length, slot - *next);
    memcpy(at, &bits, sizeof bits);
    to->out->length = (size_t)(at - to->out->bytes) + sizeof bits;
    *next = slot + 1;
}

bool nb_slots_range_is_zero(const struct nb_slots *s, uint32_t range)
{
    uint64_t all = 0;
    assert(range < nb_slots_ranges(s));
    for (uint32_t i = 0; i < NB_SLOTS_RANGE; i++)
        all |= bits_of(s, range * NB_SLOTS_RANGE + i);
    return all == 0;
}

void nb_slots_write_range(const struct nb_slots *s, uint32_t range, struct nb_packer *to)
{
    uint32_t next = 0;
    assert(range < nb_slots_ranges(s));
    nb_pack_u8(to, (uint8_t)s->table.bits);
    for (uint32_t i = 0; i < NB_SLOTS_RANGE; i++)
        if (bits_of(s, range * NB_SLOTS_RANGE + i) != 0)
            write_slot(s, range * NB_SLOTS_RANGE + i, &next, to);
}

/* The bits of noted slots sort and make unique what changed: nothing is noted after the mark. */
void nb_slots_write_changed(struct nb_slots *s, struct nb_packer *to)
{
    uint64_t *noted = s->table.noted;
    uint32_t next = 0;
    assert(!s->is_whole && s->before_size == 0);
    (void)nb_slots_mark(s);
    nb_pack_u8(to, (uint8_t)s->table.bits);
    for (size_t i = 0; i < s->old_size; i++)
        noted[s->old[i].slot / SLOT_BITS] |= UINT64_C(1) << s->old[i].slot % SLOT_BITS;
    for (uint32_t word = 0; word < nb_slots_count(s) / SLOT_BITS; word++) {
        for (uint64_t left = noted[word]; left != 0; left &= left - 1)
            write_slot(s, word * SLOT_BITS + (uint32_t)__builtin_ctzll(left), &next, to);
        noted[word] = 0;
    }
}

static int read_slot(struct nb_slots *s, uint64_t slot, uint64_t bits)
{
    uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> SHIFT);
    float value, squares;
    memcpy(&value, &low, sizeof value);
    memcpy(&squares, &high, sizeof squares);
    if (slot >= nb_slots_count(s) || !isfinite(value) || !isfinite(squares) || squares < 0)
        return NB_CORRUPT;
    s->table.values[slot] = value;
    s->table.squares[slot] = squares;
    return 0;
}

int nb_slots_read(struct nb_slots *s, struct nb_string stored)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned bits = nb_unpack_u8(&r);
    uint64_t next = 0;
    if (bits < NB_SLOTS_LEAST_BITS || bits > NB_SLOTS_MOST_BITS)
        return NB_CORRUPT;
    if (s->table.values == NULL && nb_slots_grow(s, UINT64_C(1) << bits, NULL) != 0)
        return NB_NO_MEMORY;
    nb_slots_commit(s);
    if (s->table.bits != bits)
        return NB_CORRUPT;
    while (r.at < r.end && !r.failed) {
        uint64_t slot = next + nb_unpack_bounded(&r, nb_slots_count(s));
        uint64_t value = nb_unpack_u64(&r);
        if (r.failed || read_slot(s, slot, value) != 0)
            return NB_CORRUPT;
        next = slot + 1;
    }
    return nb_unpacker_done(&r) ? 0 : NB_CORRUPT;
}
