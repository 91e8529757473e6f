/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/near_duplicate_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/ledger/rows_coding.h"

enum {
    LIVING = 1,             /* byte of a current labelled entry in ENTRIES (core/ledger/ledger.h) */
    STEPS_PER_DOCUMENT = 4, /* most entries that are read to find a current one */
    SPARE = 1024,           /* documents that the list may have in addition to its window */
    BIN_BITS = 6,
};
_Static_assert(1 << BIN_BITS == NB_SIGNATURE_BINS, "a bin has a number of BIN_BITS bits");

struct twin {
    uint64_t number;
    uint32_t label; /* GONE: the document was removed */
    struct nb_signature signature;
};
#define GONE UINT32_MAX

struct nb_near_duplicate_list {
    uint64_t window;
    struct twin *list; /* owned; by number */
    size_t size, room;
};

/* ---- signatures ------------------------------------------------------------------------------ */

void nb_signature_begin(struct nb_signature_maker *maker)
{
    memset(maker->least, 0xff, sizeof maker->least);
}

/* The finalizer of SplitMix64 (Steele, Lea and Flood 2014). Ids need mixing because some of their
 * bits have the field. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void nb_signature_add(struct nb_signature_maker *maker, uint64_t feature)
{
    uint64_t hash = mix(feature);
    uint32_t *least = &maker->least[hash >> (64 - BIN_BITS)];
    uint32_t value = (uint32_t)hash & 0x7fffffffu; /* below the value of an empty bin */
    if (value < *least)
        *least = value;
}

void nb_signature_end(const struct nb_signature_maker *maker, struct nb_signature *signature)
{
    signature->is_sparse = false;
    for (size_t i = 0; i < NB_SIGNATURE_BINS; i++) {
        bool is_empty = maker->least[i] == UINT32_MAX;
        signature->bins[i] = is_empty ? 0 : (uint8_t)(1 + maker->least[i] % 255);
        signature->is_sparse |= is_empty;
    }
}

/* Counts equal bytes of `a` and `b`, 16 at a time, which compilers do not do by themselves. */
static unsigned count_equal(const uint8_t a[NB_SIGNATURE_BINS], const uint8_t b[NB_SIGNATURE_BINS])
{
    typedef int8_t bytes __attribute__((vector_size(16)));
    bytes sums = {0};
    uint64_t halves[2];
    for (size_t i = 0; i < NB_SIGNATURE_BINS; i += sizeof(bytes)) {
        bytes x;
        bytes y;
        memcpy(&x, a + i, sizeof x);
        memcpy(&y, b + i, sizeof y);
        sums -= x == y; /* -1 where they are equal */
    }
    memcpy(halves, &sums, sizeof halves);
    /* Each byte is at most 4: no carry passes from one to the next. */
    return (unsigned)((halves[0] + halves[1]) * UINT64_C(0x0101010101010101) >> 56);
}

double nb_signature_similarity(const struct nb_signature *a, const struct nb_signature *b)
{
    static const uint8_t zeros[NB_SIGNATURE_BINS];
    unsigned equal = count_equal(a->bins, b->bins);
    unsigned empty = 0;
    if (a->is_sparse && b->is_sparse) {
        uint8_t both[NB_SIGNATURE_BINS];
        for (size_t i = 0; i < NB_SIGNATURE_BINS; i++)
            both[i] = a->bins[i] | b->bins[i];
        empty = count_equal(both, zeros);
    }
    return empty == NB_SIGNATURE_BINS
               ? 1
               : (double)(equal - empty) / (double)(NB_SIGNATURE_BINS - empty);
}

/* ---- the list -------------------------------------------------------------------------------- */

void nb_near_duplicate_list_free(struct nb_near_duplicate_list **near_duplicate_list)
{
    if (*near_duplicate_list != NULL)
        free((*near_duplicate_list)->list);
    free(*near_duplicate_list);
    *near_duplicate_list = NULL;
}

uint64_t nb_near_duplicate_list_window(const struct nb_near_duplicate_list *near_duplicate_list)
{
    return near_duplicate_list->window;
}

size_t nb_near_duplicate_list_memory(const struct nb_near_duplicate_list *near_duplicate_list)
{
    return near_duplicate_list == NULL
               ? 0
               : sizeof *near_duplicate_list +
                     near_duplicate_list->room * sizeof *near_duplicate_list->list;
}

/* Drops the oldest documents if there are too many. */
static void shorten(struct nb_near_duplicate_list *near_duplicate_list)
{
    if (near_duplicate_list->size < near_duplicate_list->window * 2 + SPARE)
        return;
    size_t kept = (size_t)near_duplicate_list->window;
    memmove(near_duplicate_list->list,
            near_duplicate_list->list + (near_duplicate_list->size - kept),
            kept * sizeof *near_duplicate_list->list);
    near_duplicate_list->size = kept;
}

int nb_near_duplicate_list_add(struct nb_near_duplicate_list *near_duplicate_list, uint64_t number,
                               uint32_t label, const struct nb_signature *signature)
{
    assert(near_duplicate_list->size == 0 ||
           near_duplicate_list->list[near_duplicate_list->size - 1].number < number);
    shorten(near_duplicate_list);
    if (nb_array_reserve(&near_duplicate_list->list, &near_duplicate_list->room,
                         near_duplicate_list->size + 1, sizeof *near_duplicate_list->list) != 0)
        return NB_NO_MEMORY;
    near_duplicate_list->list[near_duplicate_list->size++] =
        (struct twin){.number = number, .label = label, .signature = *signature};
    return 0;
}

static bool is_below(const void *list, size_t at, const void *number)
{
    return ((const struct twin *)list)[at].number < *(const uint64_t *)number;
}

void nb_near_duplicate_list_remove(struct nb_near_duplicate_list *near_duplicate_list,
                                   uint64_t number)
{
    size_t at = nb_search(near_duplicate_list->list, near_duplicate_list->size, &number, is_below);
    if (at < near_duplicate_list->size && near_duplicate_list->list[at].number == number)
        near_duplicate_list->list[at].label = GONE;
}

struct nb_twin nb_near_duplicate_list_find(const struct nb_near_duplicate_list *near_duplicate_list,
                                           uint32_t label, const struct nb_signature *signature,
                                           double similarity)
{
    struct nb_twin found = {.similarity = 0};
    uint64_t seen = 0;
    for (size_t i = near_duplicate_list->size; i > 0 && seen < near_duplicate_list->window; i--) {
        const struct twin *t = &near_duplicate_list->list[i - 1];
        seen += t->label != GONE;
        if (t->label != label)
            continue;
        double near = nb_signature_similarity(&t->signature, signature);
        found.count += near >= similarity;
        if (near >= found.similarity) {
            found.similarity = near;
            found.number = t->number;
        }
    }
    return found;
}

/* ---- from the ledger ------------------------------------------------------------------------- */

struct loading {
    const struct nb_view *view;
    uint32_t model;
    const struct nb_model *counts;
    struct nb_near_duplicate_list *near_duplicate_list;
    struct nb_entry entry;
    struct nb_rows rows;
};

static int load_one(struct loading *l, uint64_t number, struct nb_error *error)
{
    const struct nb_change *c = &l->entry.change;
    struct nb_signature_maker maker;
    struct nb_signature signature;
    int rc = nb_ledger_read(l->view, number, &l->entry, error);
    if (rc == 0 && c->kind != NB_CHANGE_TRAIN)
        return 0;
    if (rc == 0)
        rc = nb_bag_decode(c->bag, nb_model_rows(l->counts), &l->rows, error);
    if (rc != 0) /* other code, which needs the entry, reports the damage */
        return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
    nb_signature_begin(&maker);
    for (size_t i = 0; i < l->rows.size; i++)
        nb_signature_add(&maker, nb_model_row_id(l->counts, l->rows.counts[i].row));
    nb_signature_end(&maker, &signature);
    if (nb_array_reserve(&l->near_duplicate_list->list, &l->near_duplicate_list->room,
                         l->near_duplicate_list->size + 1,
                         sizeof *l->near_duplicate_list->list) != 0)
        return nb_error_no_memory(error);
    l->near_duplicate_list->list[l->near_duplicate_list->size++] =
        (struct twin){.number = number, .label = c->label, .signature = signature};
    return 0;
}

static void reverse(struct nb_near_duplicate_list *near_duplicate_list)
{
    for (size_t i = 0; i < near_duplicate_list->size / 2; i++) {
        struct twin other = near_duplicate_list->list[i];
        near_duplicate_list->list[i] = near_duplicate_list->list[near_duplicate_list->size - 1 - i];
        near_duplicate_list->list[near_duplicate_list->size - 1 - i] = other;
    }
}

/* Reads backwards from the newest entry. */
static int load_all(struct loading *l, struct nb_error *error)
{
    uint64_t number = UINT64_MAX;
    uint64_t steps = l->near_duplicate_list->window * STEPS_PER_DOCUMENT;
    int rc = 0;
    while (rc == 0 && steps-- > 0 &&
           l->near_duplicate_list->size < l->near_duplicate_list->window && number > 0) {
        struct nb_store_key from = nb_store_key_sequence(l->model, number);
        struct nb_string key, value;
        rc = nb_store_floor(l->view, NB_TABLE_ENTRIES, nb_store_key_string(&from), sizeof(uint32_t),
                            &key, &value, error);
        if (rc == NB_NOT_FOUND)
            break;
        number = rc == 0 ? nb_store_key_tail(key) - 1 : 0;
        if (rc == 0 && value.length == 1 && value.bytes[0] == LIVING)
            rc = load_one(l, number + 1, error);
    }
    reverse(l->near_duplicate_list);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

int nb_near_duplicate_list_load(const struct nb_view *view, uint32_t model,
                                const struct nb_model *counts, uint64_t window,
                                struct nb_near_duplicate_list **out, struct nb_error *error)
{
    struct loading l = {.view = view, .model = model, .counts = counts};
    l.near_duplicate_list = calloc(1, sizeof *l.near_duplicate_list);
    if (l.near_duplicate_list == NULL)
        return nb_error_no_memory(error);
    l.near_duplicate_list->window = window;
    int rc = model != 0 ? load_all(&l, error) : 0;
    nb_entry_deinit(&l.entry);
    nb_rows_deinit(&l.rows);
    if (rc != 0)
        nb_near_duplicate_list_free(&l.near_duplicate_list);
    *out = l.near_duplicate_list;
    return rc;
}
