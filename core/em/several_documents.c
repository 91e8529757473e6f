/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/several_documents.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/base/array.h"
#include "core/em/em_corpus.h"
#include "core/ledger/bag_coding.h"
#include "core/ledger/ledger.h"

enum { SLICE_DOCUMENTS = 500 };

void nb_several_documents_deinit(struct nb_several_documents *documents)
{
    free(documents->numbers);
    free(documents->sets);
    free(documents->begin);
    free(documents->rows);
    free(documents->hashes);
    *documents = (struct nb_several_documents){.count = 0};
}

struct reading {
    struct nb_live *live;
    struct nb_several_documents *documents;
    struct nb_rows bag;
};

static int make_room(struct nb_several_documents *d, size_t rows)
{
    bool good =
        nb_array_reserve(&d->numbers, &d->number_room, d->count + 1, sizeof *d->numbers) == 0 &&
        nb_array_reserve(&d->sets, &d->set_room, d->count + 1, sizeof *d->sets) == 0 &&
        nb_array_reserve(&d->begin, &d->begin_room, d->count + 2, sizeof *d->begin) == 0 &&
        nb_array_reserve(&d->hashes, &d->hash_room, d->count + 1, sizeof *d->hashes) == 0 &&
        nb_array_reserve(&d->rows, &d->row_room, d->size + rows + 1, sizeof *d->rows) == 0;
    return good ? 0 : NB_NO_MEMORY;
}

static int take(void *user, struct nb_entry *entry, struct nb_error *error)
{
    struct reading *r = user;
    struct nb_several_documents *d = r->documents;
    nb_model_read_lock(r->live->counts);
    uint32_t rows = nb_model_rows(r->live->counts);
    nb_model_unlock(r->live->counts);
    int rc = nb_bag_decode(entry->change.bag, rows, &r->bag, error);
    if (rc != 0)
        return rc;
    if (d->count == NB_CORPUS_DOCUMENTS_MOST || d->size + r->bag.size > NB_CORPUS_USES_MOST)
        return nb_error_set(error, NB_TOO_LARGE,
                            "the model has more than %d documents, or %d features in all of them",
                            NB_CORPUS_DOCUMENTS_MOST, NB_CORPUS_USES_MOST);
    if (make_room(d, r->bag.size) != 0)
        return nb_error_no_memory(error);
    d->hashes[d->count] = XXH3_64bits(entry->change.id.bytes, entry->change.id.length);
    d->numbers[d->count] = entry->number;
    d->sets[d->count] = entry->change.label;
    d->begin[d->count++] = d->size;
    for (size_t i = 0; i < r->bag.size; i++)
        d->rows[d->size++] = r->bag.counts[i];
    d->begin[d->count] = d->size;
    return 0;
}

struct placed {
    uint64_t hash, number;
    size_t begin, end;
    uint32_t set;
};

static int compare(const void *a, const void *b)
{
    const struct placed *one = a, *other = b;
    if (one->hash != other->hash)
        return one->hash < other->hash ? -1 : 1;
    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* Puts the documents into the order of their hashes, with their rows. */
static int sort(struct nb_several_documents *d)
{
    struct placed *placed = malloc((d->count + 1) * sizeof *placed);
    struct nb_row_count *rows = malloc((d->size + 1) * sizeof *rows);
    size_t at = 0;
    if (placed == NULL || rows == NULL) {
        free(placed);
        free(rows);
        return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < d->count; i++)
        placed[i] =
            (struct placed){d->hashes[i], d->numbers[i], d->begin[i], d->begin[i + 1], d->sets[i]};
    qsort(placed, d->count, sizeof *placed, compare);
    for (size_t i = 0; i < d->count; i++) {
        size_t size = placed[i].end - placed[i].begin;
        memcpy(rows + at, d->rows + placed[i].begin, size * sizeof *rows);
        d->numbers[i] = placed[i].number;
        d->sets[i] = placed[i].set;
        d->begin[i] = at;
        at += size;
        d->begin[i + 1] = at;
    }
    free(placed);
    free(d->rows);
    d->rows = rows;
    return 0;
}

int nb_several_documents_read(struct nb_engine *engine, struct nb_live *live,
                              bool (*stop)(void *user), void *user,
                              struct nb_several_documents *documents, struct nb_error *error)
{
    struct reading r = {.live = live, .documents = documents};
    struct nb_ledger_steps steps = {.store = engine->store,
                                    .model = live->number,
                                    .only = NB_LEDGER_LABELLED,
                                    .most = SLICE_DOCUMENTS,
                                    .visit = take,
                                    .user = &r};
    int rc = nb_ledger_steps_all(&steps, stop, user, error);
    nb_rows_deinit(&r.bag);
    if (rc == 0 && documents->count > 0 && sort(documents) != 0)
        rc = nb_error_no_memory(error);
    return rc == NB_STOPPING ? nb_error_set(error, rc, "the fit was broken off") : rc;
}
