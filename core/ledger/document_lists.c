/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/document_lists.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"
#include "core/ledger/quarantine_entries.h"

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

size_t nb_current_entries_between(const struct nb_current_entries *l, uint64_t after,
                                  uint64_t before, uint64_t *numbers, size_t most)
{
    size_t count = 0;
    for (size_t place = place_of(l, after + 1);
         place < l->size && l->entries[place].number < before && count < most; place++)
        if (l->entries[place].is_current)
            numbers[count++] = l->entries[place].number;
    return count;
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

enum {
    LIVING = 1,             /* byte of a current labelled entry in ENTRIES (core/ledger/ledger.h) */
    STEPS_PER_DOCUMENT = 4, /* most entries that are read to find a current one */
    SPARE = 1024,           /* documents that the list may have in addition to its window */
    BIN_BITS = 6,
};
_Static_assert(1 << BIN_BITS == NB_SIGNATURE_BINS, "a bin has a number of BIN_BITS bits");

struct listed {
    uint64_t number;
    uint32_t label; /* GONE: the document was removed */
    struct nb_signature signature;
};
#define GONE UINT32_MAX

struct nb_near_duplicate_list {
    uint64_t window;
    struct listed *list; /* owned; by number */
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
        (struct listed){.number = number, .label = label, .signature = *signature};
    return 0;
}

static bool near_duplicate_list_is_below(const void *list, size_t at, const void *number)
{
    return ((const struct listed *)list)[at].number < *(const uint64_t *)number;
}

void nb_near_duplicate_list_remove(struct nb_near_duplicate_list *near_duplicate_list,
                                   uint64_t number)
{
    size_t at = nb_search(near_duplicate_list->list, near_duplicate_list->size, &number,
                          near_duplicate_list_is_below);
    if (at < near_duplicate_list->size && near_duplicate_list->list[at].number == number)
        near_duplicate_list->list[at].label = GONE;
}

struct nb_nearest
nb_near_duplicate_list_find(const struct nb_near_duplicate_list *near_duplicate_list,
                            uint32_t label, const struct nb_signature *signature, double similarity)
{
    struct nb_nearest found = {.similarity = 0};
    uint64_t seen = 0;
    for (size_t i = near_duplicate_list->size; i > 0 && seen < near_duplicate_list->window; i--) {
        const struct listed *t = &near_duplicate_list->list[i - 1];
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

static int near_duplicate_list_load_one(struct loading *l, uint64_t number, struct nb_error *error)
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
        (struct listed){.number = number, .label = c->label, .signature = signature};
    return 0;
}

static void reverse(struct nb_near_duplicate_list *near_duplicate_list)
{
    for (size_t i = 0; i < near_duplicate_list->size / 2; i++) {
        struct listed other = near_duplicate_list->list[i];
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
            rc = near_duplicate_list_load_one(l, number + 1, error);
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

enum { MOVED_MOST = 128 << 20 }; /* bytes that one transaction moves */
enum { UNTRAIN = 1, TRUNCATED = 2, FLAGS = 3 };

int nb_quarantined_add(struct nb_buffer *features, const struct nb_quarantined_feature *feature)
{
    struct nb_packer p = {.out = features};
    nb_pack_u64(&p, feature->id);
    nb_pack_varint(&p, feature->count);
    nb_pack_string(&p, feature->text);
    return p.code;
}

int nb_quarantined_write(const struct nb_quarantined *q, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, (uint8_t)((q->untrain ? UNTRAIN : 0) | (q->truncated ? TRUNCATED : 0)));
    nb_pack_u64(&p, (uint64_t)q->time);
    nb_pack_string(&p, q->source);
    nb_pack_string(&p, q->label);
    nb_pack_varint(&p, q->fields);
    nb_pack_varint(&p, q->positions);
    nb_pack_bytes(&p, q->features.bytes, q->features.length);
    return p.code;
}

struct nb_quarantined_feature nb_quarantined_next(struct nb_unpacker *u)
{
    struct nb_quarantined_feature feature = {.id = nb_unpack_u64(u)};
    feature.count = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    feature.text = nb_unpack_string(u);
    return feature;
}

int nb_quarantined_read(struct nb_quarantined *q, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t flags = nb_unpack_u8(&u);
    *q = (struct nb_quarantined){.untrain = (flags & UNTRAIN) != 0,
                                 .truncated = (flags & TRUNCATED) != 0};
    q->time = (int64_t)nb_unpack_u64(&u);
    q->source = nb_unpack_string(&u);
    q->label = nb_unpack_string(&u);
    q->fields = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    q->positions = nb_unpack_varint(&u);
    q->features = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    bool good = !u.failed && (flags & ~FLAGS) == 0;
    for (; good && u.at < u.end && !u.failed; q->feature_count++)
        good = nb_quarantined_next(&u).count > 0;
    if (good && !u.failed && (!q->untrain || q->feature_count == 0))
        return 0;
    return nb_error_set(error, NB_CORRUPT, "a change in the quarantine does not read back");
}

/* ---- the table ------------------------------------------------------------------------------- */

int nb_quarantine_sums(const struct nb_view *view, uint32_t model, struct nb_quarantine_sums *sums,
                       struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string value;
    *sums = (struct nb_quarantine_sums){.documents = 0};
    int rc = nb_store_get(view, NB_TABLE_WAITING, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    sums->documents = nb_unpack_varint(&u);
    sums->bytes = nb_unpack_varint(&u);
    if (nb_unpacker_done(&u) && sums->documents > 0)
        return 0;
    return nb_error_set(error, NB_CORRUPT, "the sums of a quarantine do not read back");
}

static int put_sums(const struct nb_view *view, uint32_t model,
                    const struct nb_quarantine_sums *sums, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_buffer stored = {0};
    struct nb_packer p = {.out = &stored};
    if (sums->documents == 0)
        return nb_store_delete(view, NB_TABLE_WAITING, nb_store_key_string(&key), error);
    nb_pack_varint(&p, sums->documents);
    nb_pack_varint(&p, sums->bytes);
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_WAITING, nb_store_key_string(&key),
                                        (struct nb_string){stored.bytes, stored.length}, error);
    nb_buffer_deinit(&stored);
    return rc;
}

/* Subtracts from the sums, which may be too small if changes were lost, but not below 0. */
static void subtract(struct nb_quarantine_sums *sums, uint64_t documents, uint64_t bytes)
{
    sums->documents -= documents < sums->documents ? documents : sums->documents;
    sums->bytes -= bytes < sums->bytes ? bytes : sums->bytes;
}

int nb_quarantine_sums_without(const struct nb_view *view, uint32_t model, struct nb_string id,
                               struct nb_quarantine_sums *sums, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_quarantine_sums(view, model, sums, error);
    if (rc != 0)
        return rc;
    rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc == 0 || rc == NB_CORRUPT)
        subtract(sums, 1, rc == 0 ? value.length : 0);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

/* Subtracts removed changes from the sums. */
static int count_removed(const struct nb_view *view, uint32_t model, uint64_t documents,
                         uint64_t bytes, struct nb_error *error)
{
    struct nb_quarantine_sums sums;
    int rc = nb_quarantine_sums(view, model, &sums, error);
    if (rc == NB_CORRUPT || (rc == 0 && sums.documents == 0))
        return 0;
    if (rc != 0)
        return rc;
    subtract(&sums, documents, bytes);
    return put_sums(view, model, &sums, error);
}

int nb_quarantine_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                         struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc != 0 && rc != NB_CORRUPT)
        return rc == NB_NOT_FOUND ? 0 : rc;
    uint64_t bytes = rc == 0 ? value.length : 0;
    rc = nb_store_delete(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), error);
    return rc != 0 ? rc : count_removed(view, model, 1, bytes, error);
}

int nb_quarantine_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_quarantine_sums sums;
    int rc = nb_quarantine_remove(view, model, id, error);
    if (rc == 0)
        rc = nb_quarantine_sums(view, model, &sums, error);
    if (rc != 0)
        return rc;
    sums.documents++;
    sums.bytes += stored.length;
    rc = put_sums(view, model, &sums, error);
    return rc != 0
               ? rc
               : nb_store_put(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), stored, error);
}

int nb_quarantine_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    int rc =
        nb_store_clear(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), most, deleted, error);
    if (rc == 0 && *deleted == most)
        return count_removed(view, model, *deleted, 0, error);
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_WAITING, nb_store_key_string(&key), error);
}

/* Counts a change that is in the table, independently of the stored sums. */
static int look(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct nb_quarantine_sums *found = user;
    struct nb_quarantined quarantined;
    (void)key;
    found->documents++;
    found->bytes += value.length;
    return nb_quarantined_read(&quarantined, value, error);
}

struct first {
    struct nb_buffer id, stored;
};

static int take_first(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct first *first = user;
    struct nb_string id = nb_string_from(key, sizeof(uint32_t));
    first->id.length = first->stored.length = 0;
    if (nb_buffer_append(&first->id, id.bytes, id.length) != 0 ||
        nb_buffer_append(&first->stored, value.bytes, value.length) != 0)
        return nb_error_no_memory(error);
    return 1;
}

static int move_all(const struct nb_view *view, uint32_t from, uint32_t to, struct nb_error *error)
{
    struct nb_store_key all = nb_store_key_model(from);
    struct nb_string prefix = nb_store_key_string(&all);
    struct first f = {.id = {NULL, 0, 0}};
    int rc;
    do {
        rc = nb_store_scan(view, NB_TABLE_QUARANTINE, prefix, prefix.length, take_first, &f, error);
        if (rc <= 0)
            break;
        struct nb_store_key old =
            nb_store_key_id(from, (struct nb_string){f.id.bytes, f.id.length});
        struct nb_store_key new = nb_store_key_id(to, (struct nb_string){f.id.bytes, f.id.length});
        rc = nb_store_put(view, NB_TABLE_QUARANTINE, nb_store_key_string(&new),
                          (struct nb_string){f.stored.bytes, f.stored.length}, error);
        if (rc == 0)
            rc = nb_store_delete(view, NB_TABLE_QUARANTINE, nb_store_key_string(&old), error);
    } while (rc == 0);
    nb_buffer_deinit(&f.id);
    nb_buffer_deinit(&f.stored);
    return rc;
}

int nb_quarantine_move(const struct nb_view *view, uint32_t from, uint32_t to, uint64_t *left,
                       struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(from);
    struct nb_string prefix = nb_store_key_string(&key);
    struct nb_quarantine_sums found = {.documents = 0};
    struct nb_quarantine_sums sums;
    *left = 0;
    struct nb_error why;
    int rc = nb_store_scan(view, NB_TABLE_QUARANTINE, prefix, prefix.length, look, &found, &why);
    if (rc == NB_CORRUPT || found.bytes > MOVED_MOST) {
        *left = nb_quarantine_sums(view, from, &sums, NULL) == 0 ? sums.documents : found.documents;
        return 0;
    }
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    rc = put_sums(view, to, &found, error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_WAITING, prefix, error);
    return rc != 0 ? rc : move_all(view, from, to, error);
}

int nb_quarantine_has(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, bool *has, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    *has = rc == 0 && nb_string_same(value, stored);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}
