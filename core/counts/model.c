/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/model.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/array.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/counts/model_private.h"

/* Returns the size of the block of the table, the vocabularies and the sums. Moments have a block
 * of their own. */
static size_t bytes_of(unsigned count, uint32_t label_room)
{
    return sizeof(struct nb_parts) + count * sizeof(uint64_t) +
           (size_t)label_room * count * sizeof(struct nb_part_sum);
}

static size_t moments_of(unsigned count, uint32_t label_room)
{
    return (size_t)label_room * count / 2;
}

/* Makes a table with room for so many parts and labels, and with the sums of `from` (NULL: all are
 * 0), which must not have more of either. It has moments if `has_moments` or if `from` has them.
 * NULL: out of memory. */
static struct nb_parts *parts_new(unsigned count, uint32_t label_room, bool has_moments,
                                  const struct nb_parts *from)
{
    struct nb_parts *parts = calloc(1, bytes_of(count, label_room));
    if (parts == NULL)
        return NULL;
    has_moments = has_moments || (from != NULL && from->moments != NULL);
    if (has_moments) {
        parts->moments = calloc(moments_of(count, label_room) + 1, sizeof *parts->moments);
        if (parts->moments == NULL) {
            free(parts);
            return NULL;
        }
    }
    parts->count = count;
    parts->label_room = label_room;
    parts->vocabulary = (uint64_t *)(parts + 1);
    parts->sums = (struct nb_part_sum *)(parts->vocabulary + count);
    if (from == NULL)
        return parts;
    assert(from->count <= count && from->label_room <= label_room);
    memcpy(parts->vocabulary, from->vocabulary, from->count * sizeof *from->vocabulary);
    for (uint32_t label = 0; label < from->label_room; label++) {
        memcpy(nb_parts_at(parts, label, 0), nb_parts_at(from, label, 0),
               from->count * sizeof *from->sums);
        if (from->moments != NULL)
            memcpy(nb_parts_moments(parts, label, 0), nb_parts_moments(from, label, 0),
                   from->count / 2 * sizeof *from->moments);
    }
    return parts;
}

static void parts_free(struct nb_parts **parts)
{
    if (*parts != NULL)
        free((*parts)->moments);
    free(*parts);
    *parts = NULL;
}

size_t nb_parts_memory(const struct nb_parts *parts)
{
    if (parts == NULL)
        return 0;
    size_t moments = parts->moments == NULL ? 0 : moments_of(parts->count, parts->label_room) + 1;
    return bytes_of(parts->count, parts->label_room) + moments * sizeof *parts->moments;
}

enum { FIRST_INDEX = 64 };

void nb_model_write_lock(struct nb_model *model)
{
    nb_lock_write(model->lock);
}

/* Generations are unique in the process. A model takes 2^32 of them at a time. A reloaded model
 * takes others, so that data computed from the old model's counts never pass for the new one's. */
enum { GENERATION_BITS = 32 };
static _Atomic uint64_t generation_blocks;

static uint64_t first_generation(void)
{
    return (atomic_fetch_add(&generation_blocks, 1) + 1) << GENERATION_BITS;
}

/* Under the write lock. */
void nb_model_next_generation(struct nb_model *model)
{
    model->generation++;
    if ((model->generation & ((UINT64_C(1) << GENERATION_BITS) - 1)) == 0)
        model->generation = first_generation();
}

struct nb_model *nb_model_new(void)
{
    struct nb_model *model = calloc(1, sizeof *model);
    if (model == NULL)
        return NULL;
    if (nb_platform_lock_init(&model->lock_storage) != 0) {
        free(model);
        return NULL;
    }
    model->lock = &model->lock_storage;
    model->generation = model->renames = first_generation();
    nb_segments_init(&model->rows, sizeof(struct nb_packed_row), NB_ROW_SEGMENT_BITS);
    if (nb_cell_pool_init(&model->pool) != 0 || nb_index_init(&model->index, FIRST_INDEX) != 0)
        nb_model_free(&model);
    else
        atomic_store(&model->other_bytes, sizeof *model + nb_index_memory(&model->index));
    return model;
}

void nb_model_retire(struct nb_model *model, struct nb_label *label)
{
    label->retired = model->retired;
    model->retired = label;
}

void nb_label_free(struct nb_label *label)
{
    if (label == NULL)
        return;
    free(label->name);
    free(label);
}

static void free_retired(struct nb_model *model)
{
    while (model->retired != NULL) {
        struct nb_label *label = model->retired;
        model->retired = label->retired;
        nb_label_free(label);
    }
}

void nb_model_free(struct nb_model **model)
{
    struct nb_model *m = *model;
    *model = NULL;
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->label_count; i++)
        nb_model_retire(m, m->labels[i]);
    free_retired(m);
    nb_label_free(m->spare);
    free(m->dropped);
    free(m->labels);
    free(m->sorted);
    parts_free(&m->parts);
    nb_pairs_free(&m->pairs);
    nb_growth_drop(&m->growth);
    nb_index_deinit(&m->index);
    nb_segments_deinit(&m->rows);
    nb_wides_deinit(&m->wides);
    nb_cell_pool_deinit(&m->pool);
    pthread_rwlock_destroy(m->lock);
    free(m);
}

void nb_model_read_lock(const struct nb_model *model)
{
    nb_lock_read(model->lock);
}

void nb_model_unlock(const struct nb_model *model)
{
    nb_lock_release(model->lock);
}

/* ---- sums ------------------------------------------------------------------------------------ */

uint64_t nb_model_documents(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return model->labels[label]->documents;
}

uint64_t nb_model_documents_all(const struct nb_model *model)
{
    return model->documents;
}

uint32_t nb_model_label_count(const struct nb_model *model)
{
    return model->label_count;
}

struct nb_string nb_model_label_name(const struct nb_model *model, uint32_t label)
{
    assert(label < model->label_count);
    return (struct nb_string){model->labels[label]->name, model->labels[label]->length};
}

const uint32_t *nb_model_labels_sorted(const struct nb_model *model)
{
    return model->sorted;
}

uint32_t nb_model_labels_with_documents(const struct nb_model *model)
{
    uint32_t found = 0;
    for (uint32_t v = 0; v < model->label_count; v++)
        found += model->labels[v]->documents != 0;
    return found;
}

void nb_model_add_documents(struct nb_model *model, uint32_t label, int64_t change)
{
    assert(label < model->label_count);
    nb_model_write_lock(model);
    assert(change >= 0 || model->labels[label]->documents >= (uint64_t)0 - (uint64_t)change);
    model->labels[label]->documents += (uint64_t)change;
    model->documents += (uint64_t)change;
    nb_model_next_generation(model);
    nb_model_unlock(model);
}

static uint64_t over_fields(const uint64_t counts[NB_FIELDS], unsigned field)
{
    if (field < NB_FIELDS)
        return counts[field];
    uint64_t sum = 0;
    for (unsigned f = 0; f < NB_FIELDS; f++)
        sum += nb_field_is_token((enum nb_field)f) ? counts[f] : 0;
    return sum;
}

unsigned nb_model_parts(const struct nb_model *model)
{
    return model->parts == NULL ? 0 : model->parts->count;
}

int nb_model_grow_parts(struct nb_model *model, unsigned count, uint32_t label_room,
                        bool has_moments)
{
    struct nb_parts *old = model->parts;
    struct nb_parts *made = parts_new(count, label_room, has_moments, old);
    if (made == NULL)
        return NB_NO_MEMORY;
    nb_model_write_lock(model);
    model->parts = made;
    nb_model_unlock(model);
    atomic_fetch_add(&model->other_bytes, nb_parts_memory(made) - nb_parts_memory(old));
    parts_free(&old);
    return 0;
}

/* The parts of attributes that a sum covers in addition to fields. */
struct parts_range {
    unsigned first, end, step;
};

static struct parts_range parts_of(const struct nb_model *model, unsigned field)
{
    unsigned count = nb_model_parts(model), part = field - NB_FIRST_PART;
    if (field >= NB_FIRST_PART)
        return (struct parts_range){part, part < count ? part + 1 : part, 1};
    return (struct parts_range){0, field == NB_ALL_TOKENS ? count : 0, 2}; /* the parts of values */
}

static struct nb_part_sum part_sums(const struct nb_model *model, uint32_t label, unsigned field)
{
    struct parts_range r = parts_of(model, field);
    struct nb_part_sum sum = {0, 0};
    for (unsigned part = r.first; part < r.end; part += r.step) {
        const struct nb_part_sum *s = nb_parts_at(model->parts, label, part);
        sum.occurrences += s->occurrences;
        sum.presences += s->presences;
    }
    return sum;
}

uint64_t nb_model_occurrences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    uint64_t fields =
        field < NB_FIRST_PART ? over_fields(model->labels[label]->occurrences, field) : 0;
    return field < NB_ALL_TOKENS ? fields : fields + part_sums(model, label, field).occurrences;
}

uint64_t nb_model_presences(const struct nb_model *model, uint32_t label, unsigned field)
{
    assert(label < model->label_count);
    uint64_t fields =
        field < NB_FIRST_PART ? over_fields(model->labels[label]->presences, field) : 0;
    return field < NB_ALL_TOKENS ? fields : fields + part_sums(model, label, field).presences;
}

uint64_t nb_model_vocabulary(const struct nb_model *model, unsigned field)
{
    uint64_t sum = field < NB_FIRST_PART ? over_fields(model->vocabulary, field) : 0;
    struct parts_range r = parts_of(model, field);
    for (unsigned part = r.first; part < r.end; part += r.step)
        sum += model->parts->vocabulary[part];
    return sum;
}

struct nb_moments nb_model_moments(const struct nb_model *model, uint32_t label, unsigned attribute)
{
    assert(label < model->label_count);
    if (attribute >= nb_model_parts(model) / 2 || model->parts->moments == NULL)
        return (struct nb_moments){0};
    return *nb_parts_moments(model->parts, label, attribute * 2);
}

uint64_t nb_model_generation(const struct nb_model *model)
{
    return model->generation;
}

size_t nb_model_memory(const struct nb_model *model)
{
    return atomic_load(&model->other_bytes) + atomic_load(&model->rows.bytes) +
           atomic_load(&model->wides.bytes) + atomic_load(&model->pool.cells.bytes);
}

/* ---- finding rows ---------------------------------------------------------------------------- */

/* Finds rows by the ids of features, many at once, and reads their cells. Formulas and explanations
 * of a document read the same rows, and unpacking cells takes as many instructions as using them.
 * So the look-up also reads the cells, because it knows their addresses, for four rows of the same
 * bit layout at once. */

uint32_t nb_model_find(const struct nb_model *model, uint64_t id)
{
    const struct nb_index *index = &model->index;
    uint64_t where = nb_index_where(index, id);
    uint32_t tag = nb_index_tag(index, where);
    uint64_t bucket = where >> 32;
    for (uint64_t nth = 0; nth <= index->bucket_count; nth++) {
        const struct nb_bucket *b = &index->buckets[bucket];
        unsigned places = nb_bucket_places(b, index->row_bits, tag);
        for (; places != 0; places &= places - 1) {
            uint32_t row = nb_bucket_row(b, index->row_bits, places);
            if (nb_model_packed(model, row)->id == id)
                return row;
        }
        if (!nb_bucket_is_passed(b, tag))
            return NB_NO_ROW;
        bucket = nb_index_further(index, bucket, tag, nth);
    }
    return NB_NO_ROW;
}

/* The home bucket does not have the feature, but some of its rows lie in further buckets. The
 * number is below NB_NO_ROW and above all possible rows. */
#define LOOK_FURTHER (NB_NO_ROW - 1)

/* Stands for the row of a feature without a row. */
static const struct nb_packed_row no_row = {.id = NB_DROPPED_ID};
static const uint64_t no_cells = 0;

/* Returns a row that does not belong to the feature, whatever its id. */
static inline const struct nb_packed_row *another_row(uint64_t id)
{
    static const struct nb_packed_row zero = {.id = 0};
    return nb_model_is_dropped(id) ? &zero : &no_row;
}

/* Returns the first row in a bucket that has the tag of an id, or NB_NO_ROW, or LOOK_FURTHER. Sets
 * *at to the address of that row, or of some other row if there is none. Prefetches what is needed
 * next. */
static inline uint32_t guess(const struct nb_index *index, uint64_t bucket, uint32_t tag,
                             unsigned char *const *table, uint64_t id,
                             const struct nb_packed_row **at)
{
    const struct nb_bucket *b = &index->buckets[bucket];
    unsigned places = nb_bucket_places(b, index->row_bits, tag);
    if (__builtin_expect(places == 0, 0)) { /* rare: most features of a document are known */
        *at = another_row(id);
        if (!nb_bucket_is_passed(b, tag))
            return NB_NO_ROW;
        __builtin_prefetch(&index->buckets[nb_index_further(index, bucket, tag, 0)]);
        return LOOK_FURTHER;
    }
    uint32_t row = nb_bucket_row(b, index->row_bits, places);
    *at = nb_row_at(table, row);
    nb_packed_row_prefetch(*at);
    return row;
}

/* ---- many at once ---------------------------------------------------------------------------- */

/* What a look-up wants: the rows alone; whether they are unused, too; or their cells, too. */
enum wanted { ROWS, USE, CELLS };

/* A feature passes these stages: prefetch its bucket; NB_MODEL_AHEAD features later, guess its row;
 * ROWS_AHEAD features later, guess again if the row lies further on; then confirm the row; then
 * read its cells, for four features at once. */
enum {
    ROWS_AHEAD = NB_MODEL_AHEAD / 2,
    CONFIRMED = NB_MODEL_AHEAD + 2 * ROWS_AHEAD,
    STAGES = CONFIRMED + ROWS_AHEAD,
    WAITING = NB_MODEL_AHEAD, /* features in each of the arrays below */
    TOGETHER = 4
};
_Static_assert(WAITING == 2 * ROWS_AHEAD && ROWS_AHEAD % TOGETHER == 0,
               "a feature takes the place of the one that leaves it");

/* The data of a look-up: copies that stores to `rows` or `cells` cannot change. */
struct look_up {
    const struct nb_model *model;
    struct nb_index index;
    unsigned char *const *table;
    const struct nb_wide_segment *segments;
    const struct nb_feature *features;
    size_t size;
    uint32_t *rows;
    bool *unused;    /* if USE is wanted */
    uint64_t *cells; /* if CELLS are wanted */
};

/* The state of features between stages, at their numbers modulo WAITING: their place in the index,
 * until a row is guessed; the address of that row, until it is confirmed; then its code, and the
 * address of its wide cells (of another row's if it is not wide). */
struct waiting {
    uint64_t places[WAITING];
    const struct nb_packed_row *rows[WAITING];
    uint32_t codes[WAITING];
    const uint64_t *wides[WAITING];
};

/* Guesses the row of the feature at `j` again, in the first further bucket: one row in fourteen
 * lies outside its home. */
static inline void guess_again(const struct look_up *l, struct waiting *waiting, size_t j)
{
    uint64_t id = l->features[j].id;
    uint64_t place = nb_index_where(&l->index, id);
    uint32_t tag = nb_index_tag(&l->index, place);
    l->rows[j] = guess(&l->index, nb_index_further(&l->index, place >> 32, tag, 0), tag, l->table,
                       id, &waiting->rows[j % WAITING]);
}

/* Searches the row of the feature at `j` after a wrong guess. Returns its address, or that of
 * no_row. */
static inline const struct nb_packed_row *search(const struct look_up *l, size_t j)
{
    if (l->rows[j] != NB_NO_ROW)
        l->rows[j] = nb_model_find(l->model, l->features[j].id);
    return l->rows[j] == NB_NO_ROW ? &no_row : nb_row_at(l->table, l->rows[j]);
}

/* Sets the row of the feature at `j`, and reads or notes what else the look-up wants. `slot` is j
 * modulo WAITING. */
static inline __attribute__((always_inline)) void
confirm(const struct look_up *l, struct waiting *waiting, size_t j, size_t slot, enum wanted wanted)
{
    const struct nb_packed_row *row = waiting->rows[slot];
    if (row->id != l->features[j].id) {
        row = search(l, j);
        if (wanted == CELLS && row == &no_row) {
            waiting->codes[slot] = 0;
            waiting->wides[slot] = &no_cells;
            return;
        }
    }
    uint16_t code = row->code;
    if (wanted == USE)
        l->unused[j] = !nb_code_is_used(code);
    if (wanted != CELLS)
        return;
    const uint64_t *wide = nb_wides_at(l->segments, l->rows[j], code);
    __builtin_prefetch(wide);
    waiting->codes[slot] = code;
    waiting->wides[slot] = wide;
}

#ifdef __SSE2__
/* Four rows at once: with one at a time, classifying a mail takes 5 % more processor time, a text
 * by the book 6 %. */

/* As nb_code_pair for four codes: returns the lower halves of the cells, with d of both labels. */
static inline __m128i documents_of(__m128i codes)
{
    const __m128i both = _mm_set1_epi32(NB_CODE_PAIR_D_MOST << NB_PAIR_D | NB_CODE_PAIR_D_MOST);
    return _mm_and_si128(_mm_or_si128(codes, _mm_slli_epi32(codes, NB_PAIR_D - NB_CODE_PAIR_D)),
                         both);
}

/* As documents_of: returns the upper halves, with n - d of both labels. */
static inline __m128i mores_of(__m128i codes)
{
    enum { SHIFT = (int)NB_PAIR_MORE - (int)NB_CODE_PAIR_MORES - (int)NB_CODE_PAIR_MORE };
    const __m128i both =
        _mm_set1_epi32(NB_CODE_PAIR_MORE_MOST << NB_PAIR_MORE | NB_CODE_PAIR_MORE_MOST);
    _Static_assert((int)NB_PAIR_MORES == 32 && (int)SHIFT >= (int)NB_CODE_PAIR_MORE,
                   "they do not meet");
    return _mm_and_si128(
        _mm_or_si128(_mm_srli_epi32(codes, NB_CODE_PAIR_MORES), _mm_slli_epi32(codes, SHIFT)),
        both);
}

/* Returns the cells of two rows: from `wides` if the row is wide, else from `pairs`. */
static inline __m128i two_cells(__m128i pairs, __m128i are_wide, const uint64_t *const wides[2])
{
    __m128d cells = _mm_loadh_pd(_mm_load_sd((const double *)(const void *)wides[0]),
                                 (const double *)(const void *)wides[1]);
    return _mm_or_si128(pairs, _mm_and_si128(_mm_castpd_si128(cells), are_wide));
}

/* Reads the cells of four rows. Returns whether one of the codes is a single; the results are
 * invalid then. */
static inline bool put_four(const uint32_t codes[4], const uint64_t *const wides[4],
                            uint64_t *cells)
{
    __m128i four = _mm_loadu_si128((const __m128i *)codes);
    __m128i form = _mm_srli_epi32(four, NB_CODE_FORM_SHIFT);
    __m128i are_wide = _mm_cmpgt_epi32(four, _mm_set1_epi32(NB_CODE_WIDE - 1));
    __m128i low = _mm_andnot_si128(are_wide, documents_of(four));
    __m128i high = _mm_andnot_si128(are_wide, mores_of(four));
    _mm_storeu_si128((__m128i *)cells, two_cells(_mm_unpacklo_epi32(low, high),
                                                 _mm_unpacklo_epi32(are_wide, are_wide), wides));
    _mm_storeu_si128((__m128i *)(cells + 2),
                     two_cells(_mm_unpackhi_epi32(low, high),
                               _mm_unpackhi_epi32(are_wide, are_wide), wides + 2));
    return _mm_movemask_epi8(_mm_cmpeq_epi32(form, _mm_set1_epi32(1))) != 0;
}
#else
static inline bool put_four(const uint32_t codes[4], const uint64_t *const wides[4],
                            uint64_t *cells)
{
    (void)codes, (void)wides, (void)cells;
    return true;
}
#endif

static inline __attribute__((always_inline)) void read_four(const struct look_up *l,
                                                            const struct waiting *waiting, size_t j)
{
    size_t at = j % WAITING;
    if (__builtin_expect(put_four(waiting->codes + at, waiting->wides + at, l->cells + j), 0))
        nb_model_read_cells(l->model, l->rows + j, TOGETHER, l->cells + j);
}

/* Does one step: the first stage for the four features from `i` on, and the later stages for the
 * features before them, whose data have arrived by now. Later stages go first, because earlier ones
 * overwrite their slots. Callers pass constants: `is_inside`, if all stages are at features of the
 * document; and `wanted`. */
static inline __attribute__((always_inline)) void
look(const struct look_up *l, struct waiting *waiting, size_t i, bool is_inside, enum wanted wanted)
{
    const struct nb_feature *features = l->features;
    const size_t size = l->size, first = i, slot = i % WAITING;
    size_t j = i - STAGES; /* before the first: a very large number, as below */
    if (wanted == CELLS && (is_inside || j < size / TOGETHER * TOGETHER))
        read_four(l, waiting, j);
#pragma GCC unroll 4 /* a loop's end would be mispredicted among the other branches */
    for (size_t k = 0; k < TOGETHER; k++) {
        i = first + k;
        j = i - CONFIRMED;
        if (is_inside || j < size)
            confirm(l, waiting, j, slot + k, wanted);
        j += ROWS_AHEAD;
        if ((is_inside || j < size) && l->rows[j] == LOOK_FURTHER)
            guess_again(l, waiting, j);
        j += ROWS_AHEAD;
        if (is_inside || j < size) {
            uint64_t place = waiting->places[slot + k];
            l->rows[j] = guess(&l->index, place >> 32, nb_index_tag(&l->index, place), l->table,
                               features[j].id, &waiting->rows[slot + k]);
        }
        if (is_inside || i < size) {
            uint64_t place = nb_index_where(&l->index, features[i].id);
            __builtin_prefetch(&l->index.buckets[place >> 32]);
            waiting->places[slot + k] = place;
        }
    }
}

/* Callers pass a constant `wanted`. */
static inline __attribute__((always_inline)) void look_up(const struct look_up *l,
                                                          enum wanted wanted)
{
    const size_t stages = wanted == CELLS ? STAGES : STAGES - ROWS_AHEAD;
    struct waiting waiting;
    size_t i = 0;
    assert(l->size < SIZE_MAX - STAGES); /* so that wrapped numbers are not below it */
    for (; i < stages; i += TOGETHER)
        look(l, &waiting, i, false, wanted);
    for (; i + TOGETHER <= l->size; i += TOGETHER)
        look(l, &waiting, i, true, wanted);
    for (; i < l->size + stages; i += TOGETHER)
        look(l, &waiting, i, false, wanted);
}

static struct look_up look_up_of(const struct nb_model *model, const struct nb_feature *features,
                                 size_t size, uint32_t *rows)
{
    return (struct look_up){.model = model,
                            .index = model->index,
                            .table = model->rows.table,
                            .segments = model->wides.segments,
                            .features = features,
                            .size = size,
                            .rows = rows};
}

void nb_model_find_all(const struct nb_model *model, const struct nb_feature *features, size_t size,
                       uint32_t *rows)
{
    const struct look_up l = look_up_of(model, features, size, rows);
    look_up(&l, ROWS);
}

void nb_model_find_use(const struct nb_model *model, const struct nb_feature *features, size_t size,
                       uint32_t *rows, bool *unused)
{
    struct look_up l = look_up_of(model, features, size, rows);
    l.unused = unused;
    look_up(&l, USE);
}

void nb_model_find_cells(const struct nb_model *model, const struct nb_feature *features,
                         size_t size, uint32_t *rows, uint64_t *cells)
{
    struct look_up l = look_up_of(model, features, size, rows);
    const size_t four = size / TOGETHER * TOGETHER;
    l.cells = cells;
    look_up(&l, CELLS);
    nb_model_read_cells(model, rows + four, size - four, cells + four);
}

void nb_model_read_cells(const struct nb_model *model, const uint32_t *rows, size_t size,
                         uint64_t *cells)
{
    for (size_t i = 0; i < size; i++)
        cells[i] = nb_model_row_or_none(model, rows[i]).cells;
}
