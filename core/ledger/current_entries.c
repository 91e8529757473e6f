/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/current_entries.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/ledger/ledger.h"

/* Current places are counted for each block, so that a search for the n-th current place need not
 * read all places. */
enum { BLOCK = 512, PACK_FROM = 2 * BLOCK };

struct place {
    uint64_t number : 63;
    uint64_t is_current : 1;
};

struct nb_current_entries {
    struct place *entries; /* owned; by number */
    size_t size, room;
    uint32_t *blocks; /* owned; number of current places in each block */
    size_t block_room;
    size_t count; /* number of current places */
    uint64_t last;
};

struct nb_current_entries *nb_current_entries_new(void)
{
    return calloc(1, sizeof(struct nb_current_entries));
}

void nb_current_entries_free(struct nb_current_entries **current)
{
    struct nb_current_entries *l = *current;
    *current = NULL;
    if (l == NULL)
        return;
    free(l->entries);
    free(l->blocks);
    free(l);
}

size_t nb_current_entries_memory(const struct nb_current_entries *l)
{
    return l == NULL ? 0
                     : sizeof *l + l->room * sizeof *l->entries + l->block_room * sizeof *l->blocks;
}

static int load_one(void *user, uint64_t number)
{
    return nb_current_entries_add(user, number);
}

int nb_current_entries_load(const struct nb_view *view, uint32_t model,
                            struct nb_current_entries **current, struct nb_error *error)
{
    struct nb_current_entries *made = nb_current_entries_new();
    if (made == NULL)
        return nb_error_no_memory(error);
    int rc = nb_ledger_list_labelled(view, model, load_one, made, error);
    if (rc == 0)
        *current = made;
    else
        nb_current_entries_free(&made);
    return rc;
}

static bool is_below(const void *entries, size_t at, const void *number)
{
    return ((const struct place *)entries)[at].number < *(const uint64_t *)number;
}

/* Returns the first place whose number is not below `number`. */
static size_t place_of(const struct nb_current_entries *l, uint64_t number)
{
    return nb_search(l->entries, l->size, &number, is_below);
}

bool nb_current_entries_has(const struct nb_current_entries *l, uint64_t number)
{
    size_t place = place_of(l, number);
    return place < l->size && l->entries[place].number == number && l->entries[place].is_current;
}

/* Removes superseded places. */
static void pack(struct nb_current_entries *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->size; i++)
        if (l->entries[i].is_current)
            l->entries[kept++] = l->entries[i];
    assert(kept == l->count);
    l->size = kept;
    for (size_t block = 0; block * BLOCK < kept; block++)
        l->blocks[block] =
            (uint32_t)(kept - block * BLOCK < BLOCK ? kept - block * BLOCK : (size_t)BLOCK);
}

int nb_current_entries_add(struct nb_current_entries *l, uint64_t number)
{
    assert(number > l->last);
    if (nb_array_reserve(&l->entries, &l->room, l->size + 1, sizeof *l->entries) != 0 ||
        nb_array_reserve(&l->blocks, &l->block_room, l->size / BLOCK + 1, sizeof *l->blocks) != 0)
        return NB_NO_MEMORY;
    if (l->size % BLOCK == 0)
        l->blocks[l->size / BLOCK] = 0;
    l->blocks[l->size / BLOCK]++;
    l->entries[l->size++] = (struct place){.number = number & INT64_MAX, .is_current = true};
    l->last = number;
    l->count++;
    return 0;
}

void nb_current_entries_remove(struct nb_current_entries *l, uint64_t number)
{
    if (!nb_current_entries_has(l, number))
        return;
    size_t place = place_of(l, number);
    l->entries[place].is_current = false;
    l->blocks[place / BLOCK]--;
    l->count--;
    if (l->size > PACK_FROM && l->count < l->size / 2)
        pack(l);
}

uint64_t nb_current_entries_count(const struct nb_current_entries *l)
{
    return l->count;
}

uint64_t nb_current_entries_draw(const struct nb_current_entries *l, struct nb_random *random)
{
    uint64_t left = nb_random_below(random, l->count);
    size_t block = 0;
    while (left >= l->blocks[block])
        left -= l->blocks[block++];
    size_t place = block * BLOCK;
    for (;; place++) {
        assert(place < l->size);
        if (l->entries[place].is_current && left-- == 0)
            return l->entries[place].number;
    }
}

/* Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2, algorithm S). */
void nb_current_entries_sample(const struct nb_current_entries *l, struct nb_random *random,
                               uint64_t count, uint64_t *numbers)
{
    uint64_t left = l->count;
    size_t chosen = 0;
    assert(count <= l->count);
    for (size_t i = 0; chosen < count; i++) {
        if (!l->entries[i].is_current)
            continue;
        if (nb_random_below(random, left--) < count - chosen)
            numbers[chosen++] = l->entries[i].number;
    }
}
