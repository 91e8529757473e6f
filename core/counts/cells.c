/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/cells.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"

/* The table of segments doubles. The cells of a segment grow by an eighth: little to copy, and
 * little waste. */
enum { FIRST_SEGMENTS = 1, FIRST_CELLS = 1, LEAST_STEP = 8, STEP_SHARE = 8 };

/* ---- places ---------------------------------------------------------------------------------- */

#define BIT(shift) (UINT64_C(1) << (shift))

const struct nb_pair_place *nb_pair_places(uint32_t label)
{
    enum {
        ONE = NB_CODE_PAIR_D, /* position of d of label 1; below: of its n - d, and of the bit above
                                 that */
        ONE_MORE = NB_CODE_PAIR_MORES + NB_CODE_PAIR_MORE,
        ABOVE = ONE_MORE + NB_CODE_PAIR_MORE,
        WIDE_ONE = NB_PAIR_D,
        WIDE_ONE_MORE = NB_PAIR_MORES + NB_PAIR_MORE,
        WIDE_ABOVE = WIDE_ONE_MORE + NB_PAIR_MORE
    };
    static const struct nb_pair_place places[][2] = {
        {{1, BIT(ONE) | BIT(ONE_MORE), NB_CODE_SINGLE, NB_CODE_PAIR_MORE_MOST, NB_CODE_PAIR_MORES},
         {1, BIT(WIDE_ONE) | BIT(WIDE_ONE_MORE), NB_FORM_SPILLED, NB_PAIR_MORE_MOST,
          NB_PAIR_MORES}},
        {{BIT(ONE), BIT(NB_CODE_PAIR_MORES) | BIT(ABOVE), NB_CODE_SINGLE, NB_CODE_PAIR_MORE_MOST,
          ONE_MORE},
         {BIT(WIDE_ONE), BIT(NB_PAIR_MORES) | BIT(WIDE_ABOVE), NB_FORM_SPILLED, NB_PAIR_MORE_MOST,
          WIDE_ONE_MORE}},
        {{.most = -1}, {.most = -1}}};
    return places[label < 2 ? label : 2];
}

/* ---- memory ---------------------------------------------------------------------------------- */

void nb_wides_deinit(struct nb_wides *wides)
{
    for (uint32_t i = 0; i < wides->count; i++)
        free(wides->segments[i].cells);
    free(wides->segments);
    *wides = (struct nb_wides){.count = 0};
}

/* ---- segments -------------------------------------------------------------------------------- */

static int make_segments(struct nb_wide_segment *segments, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        segments[i] =
            (struct nb_wide_segment){.cells = calloc(FIRST_CELLS, sizeof *segments[i].cells),
                                     .room = FIRST_CELLS,
                                     .free = NB_NO_ROW};
        if (segments[i].cells == NULL) {
            while (i-- > from)
                free(segments[i].cells);
            return NB_NO_MEMORY;
        }
    }
    return 0;
}

int nb_wides_reserve(struct nb_wides *wides, uint32_t segments, pthread_rwlock_t *lock)
{
    uint32_t count = wides->count == 0 ? FIRST_SEGMENTS : wides->count;
    if (segments <= wides->count)
        return 0;
    while (count < segments)
        count *= 2;
    struct nb_wide_segment *larger = malloc(count * sizeof *larger);
    if (larger == NULL)
        return NB_NO_MEMORY;
    if (wides->count > 0)
        memcpy(larger, wides->segments, wides->count * sizeof *larger);
    if (make_segments(larger, wides->count, count) != 0) {
        free(larger);
        return NB_NO_MEMORY;
    }
    struct nb_wide_segment *old = wides->segments;
    if (lock != NULL)
        nb_lock_write(lock);
    wides->segments = larger;
    if (lock != NULL)
        nb_lock_release(lock);
    free(old);
    atomic_fetch_add(&wides->bytes, (count - wides->count) *
                                        (sizeof *larger + FIRST_CELLS * sizeof *larger->cells));
    wides->count = count;
    return 0;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static struct nb_wide_segment *segment_of(const struct nb_wides *wides, uint32_t row)
{
    assert(row >> NB_ROW_SEGMENT_BITS < wides->count);
    return &wides->segments[row >> NB_ROW_SEGMENT_BITS];
}

int nb_wides_reserve_cells(struct nb_wides *wides, uint32_t row)
{
    struct nb_wide_segment *s = segment_of(wides, row);
    if (s->free != NB_NO_ROW || s->used < s->room || s->room == NB_CODE_WIDE)
        return 0; /* full: every row of the segment has its own cells */
    uint32_t step = s->room / STEP_SHARE > LEAST_STEP ? s->room / STEP_SHARE : LEAST_STEP;
    uint32_t room = s->room + step < NB_CODE_WIDE ? s->room + step : NB_CODE_WIDE;
    uint64_t *cells = realloc(s->cells, room * sizeof *cells);
    if (cells == NULL)
        return NB_NO_MEMORY;
    atomic_fetch_add(&wides->bytes, (room - s->room) * sizeof *cells);
    s->cells = cells;
    s->room = room;
    return 0;
}

static uint32_t take_cells(struct nb_wide_segment *s)
{
    if (s->free == NB_NO_ROW) {
        assert(s->used < s->room);
        return s->used++;
    }
    uint32_t number = s->free;
    s->free = (uint32_t)s->cells[number];
    return number;
}

static void free_cells(struct nb_wide_segment *s, uint16_t code)
{
    uint32_t number = code & (NB_CODE_WIDE - 1);
    s->cells[number] = s->free;
    s->free = number;
}

/* Sets *code for the cells of a pair. False: they do not fit into a code. */
static bool code_of_pair(uint64_t cells, uint16_t *code)
{
    const struct nb_cell pair[] = {nb_pair_cell(cells, 0), nb_pair_cell(cells, 1)};
    return nb_code_of_pair(pair, 2, code);
}

static bool code_of_single(uint64_t cells, uint16_t *code)
{
    struct nb_cell cell = nb_single_cell(cells);
    uint32_t more = cell.occurrences - cell.documents;
    if (cell.label >= NB_CODE_SINGLE_LABELS || cell.documents - 1 > NB_CODE_SINGLE_MOST ||
        more > NB_CODE_SINGLE_MOST)
        return false;
    *code = (uint16_t)(NB_CODE_SINGLE | cell.label << 2 * NB_CODE_SINGLE_BITS |
                       more << NB_CODE_SINGLE_BITS | (cell.documents - 1));
    return true;
}

static bool code_of(uint64_t cells, uint16_t *code)
{
    if (cells < NB_FORM_SINGLE)
        return code_of_pair(cells, code);
    return cells < NB_FORM_TWO && code_of_single(cells, code);
}

void nb_wides_store(struct nb_wides *wides, struct nb_packed_row *packed, uint32_t row,
                    uint64_t cells)
{
    struct nb_wide_segment *s = segment_of(wides, row);
    uint16_t code = 0, before = packed->code;
    if (code_of(cells, &code)) {
        if (nb_code_is_wide(before))
            free_cells(s, before);
        packed->code = code;
        return;
    }
    if (!nb_code_is_wide(before))
        packed->code = (uint16_t)(NB_CODE_WIDE | take_cells(s));
    s->cells[packed->code & (NB_CODE_WIDE - 1)] = cells;
}

/* The first segment doubles while it is small, then grows by a quarter. */
enum { CACHE_LINE = 64, FIRST_RECORDS = 16, DOUBLED = 256, FIRST_TABLE = 4 };

enum { LARGE = 2 << 20 }; /* bytes; smaller arrays are not mapped */

static size_t segment_bytes(const struct nb_segments *s)
{
    return (size_t)s->record << s->bits;
}

/* Whether the segment of this number is mapped. */
static bool is_mapped(const struct nb_segments *s, uint32_t number)
{
    return number * segment_bytes(s) >= LARGE;
}

/* How many segments get their addresses together in the next step. */
static uint32_t segments_at_once(const struct nb_segments *s)
{
    return is_mapped(s, s->mapped) ? s->block : 1;
}

void nb_segments_init(struct nb_segments *s, uint32_t record, uint32_t bits)
{
    assert(bits <= NB_SEGMENT_BITS_MOST && record % 2 == 0);
    *s = (struct nb_segments){.bits = bits, .record = record, .block = 1};
    while (s->block * segment_bytes(s) % NB_HUGE_PAGE != 0)
        s->block++;
}

void nb_segments_deinit(struct nb_segments *s)
{
    for (uint32_t i = 0; i < s->mapped;) {
        if (is_mapped(s, i)) {
            (void)munmap(s->table[i], s->block * segment_bytes(s));
            i += s->block;
        } else
            free(s->table[i++]);
    }
    free(s->table);
    nb_segments_init(s, s->record, s->bits);
}

static void lock_if(pthread_rwlock_t *lock)
{
    if (lock != NULL)
        nb_lock_write(lock);
}

static void unlock_if(pthread_rwlock_t *lock)
{
    if (lock != NULL)
        nb_lock_release(lock);
}

/* Replaces the full table by one twice as large. */
static int grow_table(struct nb_segments *s, pthread_rwlock_t *lock)
{
    uint32_t room = s->table_room == 0 ? FIRST_TABLE : s->table_room * 2;
    unsigned char **table = malloc(room * sizeof *table);
    if (table == NULL)
        return NB_NO_MEMORY;
    unsigned char **old = s->table;
    if (s->mapped != 0)
        memcpy(table, old, s->mapped * sizeof *table);
    lock_if(lock);
    s->table = table;
    unlock_if(lock);
    free(old);
    atomic_fetch_add(&s->bytes, (room - s->table_room) * sizeof *table);
    s->table_room = room;
    return 0;
}

static uint32_t larger_room(const struct nb_segments *s, uint64_t records)
{
    uint32_t room = s->first_room == 0 ? FIRST_RECORDS : s->first_room;
    while (room < records && room < 1u << s->bits)
        room += room < DOUBLED ? room : room / 4 / FIRST_RECORDS * FIRST_RECORDS;
    return room < 1u << s->bits ? room : 1u << s->bits;
}

static size_t first_bytes(const struct nb_segments *s, uint32_t room)
{
    return ((size_t)room * s->record + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

/* Makes or enlarges the first segment, up to `records` or its full size. */
static int grow_first(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    uint32_t room = larger_room(s, records);
    unsigned char *segment = nb_aligned_alloc(CACHE_LINE, first_bytes(s, room));
    if (segment == NULL)
        return NB_NO_MEMORY;
    unsigned char *old = s->segment_count == 0 ? NULL : s->table[0];
    assert(room > s->first_room);
    if (old != NULL)
        memcpy(segment, old, (size_t)s->first_room * s->record);
    lock_if(lock);
    s->table[0] = segment;
    unlock_if(lock);
    free(old);
    atomic_fetch_add(&s->bytes, first_bytes(s, room) - first_bytes(s, s->first_room));
    s->first_room = room;
    s->segment_count = s->mapped = 1;
    return 0;
}

/* Maps addresses for whole huge pages, backed by small pages at first. NULL: out of memory. */
static unsigned char *map_pages(size_t size)
{
    unsigned char *mapped =
        mmap(NULL, size + NB_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)mapped & (NB_HUGE_PAGE - 1);
    unsigned char *pages = mapped + before;
    if (before > 0)
        (void)munmap(mapped, before);
    if (before < NB_HUGE_PAGE)
        (void)munmap(pages + size, NB_HUGE_PAGE - before);
    return pages;
}

/* Maps the addresses of further segments. The table has room for them. */
static int map_segments(struct nb_segments *s)
{
    size_t each = segment_bytes(s);
    uint32_t count = segments_at_once(s);
    unsigned char *block =
        is_mapped(s, s->mapped) ? map_pages(count * each) : nb_aligned_alloc(CACHE_LINE, each);
    if (block == NULL)
        return NB_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        s->table[s->mapped++] = block + i * each;
    return 0;
}

/* Requests the huge pages that the segments from `first` on complete. A huge page shared with older
 * segments consists of small pages by now. */
static void ask_for_huge_pages(const struct nb_segments *s, uint32_t first)
{
    size_t each = segment_bytes(s);
    for (uint32_t i = first; i < s->segment_count; i++) {
        unsigned char *segment = s->table[i];
        size_t before = (uintptr_t)segment % NB_HUGE_PAGE; /* offset in its first huge page */
        size_t full = (before + each) / NB_HUGE_PAGE * NB_HUGE_PAGE;
        if (!is_mapped(s, i) || full == 0)
            continue;
        nb_platform_want_huge_pages(segment - before, full, false);
        if (before > (i - first) * each)
            nb_platform_want_huge_pages(segment - before, NB_HUGE_PAGE, true);
    }
}

/* Takes the next segment, which may have an address already. */
static int add_segment(struct nb_segments *s)
{
    int rc = s->segment_count < s->mapped ? 0 : map_segments(s);
    if (rc != 0)
        return rc;
    s->segment_count++;
    atomic_fetch_add(&s->bytes, segment_bytes(s));
    return 0;
}

int nb_segments_reserve(struct nb_segments *s, uint64_t records, pthread_rwlock_t *lock)
{
    int rc = 0;
    uint32_t first = s->segment_count;
    assert(records <= (uint64_t)UINT32_MAX + 1);
    while (rc == 0 && nb_segments_room(s) < records) {
        while (rc == 0 && s->mapped + segments_at_once(s) > s->table_room)
            rc = grow_table(s, lock);
        if (rc == 0 && s->first_room < 1u << s->bits)
            rc = grow_first(s, records, lock);
        else if (rc == 0)
            rc = add_segment(s);
    }
    ask_for_huge_pages(s, first);
    return rc;
}

enum { SEGMENT_BITS = 16 };
_Static_assert((int)SEGMENT_BITS == (int)NB_RUN_ORDERS - 1, "a run never straddles two segments");

#define NB_RUNS_END NB_NO_ROW /* above all numbers of runs */

enum { FIRST_ORDER = 1 };

static void no_runs(struct nb_cell_pool *pool)
{
    nb_segments_init(&pool->cells, sizeof(struct nb_spill), SEGMENT_BITS);
    pool->used = 0;
    for (unsigned i = 0; i < NB_RUN_ORDERS; i++)
        pool->free[i] = NB_NO_ROW;
}

void nb_cell_pool_deinit(struct nb_cell_pool *pool)
{
    nb_segments_deinit(&pool->cells);
    no_runs(pool);
}

static void run_free(struct nb_cell_pool *pool, uint32_t run, uint32_t order)
{
    struct nb_spill *first = nb_segments_at(&pool->cells, run);
    first->order = pool->free[order];
    pool->free[order] = run;
}

/* Turns the rest of a segment, too small for the next run, into free runs. */
static void fill_segment(struct nb_cell_pool *pool, uint32_t need)
{
    uint32_t left = (1u << SEGMENT_BITS) - (pool->used & ((1u << SEGMENT_BITS) - 1));
    if (left >= need)
        return;
    while (left != 0) {
        uint32_t order = 31u - (uint32_t)__builtin_clz(left);
        run_free(pool, pool->used, order);
        pool->used += 1u << order;
        left -= 1u << order;
    }
}

static int run_new(struct nb_cell_pool *pool, uint32_t order, uint32_t *run)
{
    uint32_t need = 1u << order;
    if (pool->free[order] != NB_NO_ROW) {
        *run = pool->free[order];
        pool->free[order] = ((struct nb_spill *)nb_segments_at(&pool->cells, *run))->order;
    } else {
        uint32_t left = (1u << SEGMENT_BITS) - (pool->used & ((1u << SEGMENT_BITS) - 1));
        uint64_t end = (uint64_t)pool->used + need + (left < need ? left : 0);
        if (end > NB_RUNS_END || nb_segments_reserve(&pool->cells, end, NULL) != 0)
            return NB_NO_MEMORY;
        fill_segment(pool, need);
        *run = pool->used;
        pool->used += need;
    }
    struct nb_spill *cells = nb_segments_at(&pool->cells, *run);
    cells[0] = (struct nb_spill){.order = order};
    cells[1] = (struct nb_spill){.order = 0};
    return 0;
}

int nb_cell_pool_init(struct nb_cell_pool *pool)
{
    uint32_t none;
    no_runs(pool);
    int rc = run_new(pool, FIRST_ORDER, &none);
    assert(rc != 0 || none == 0);
    return rc;
}

static uint32_t find_in_run(const struct nb_spill *run, uint32_t label, bool *there)
{
    uint32_t low = 0;
    uint32_t high = run->used;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (run[middle].label < label)
            low = middle + 1;
        else
            high = middle;
    }
    *there = low < run->used && run[low].label == label;
    return low;
}

uint32_t nb_row_find(const struct nb_cell_pool *pool, struct nb_row row, uint32_t label,
                     bool *there)
{
    if (nb_row_is_spilled(row))
        return find_in_run(nb_row_run(pool, row), label, there);
    struct nb_cell cells[2];
    uint32_t size = nb_row_unpack(row, cells);
    uint32_t place = 0;
    while (place < size && cells[place].label < label)
        place++;
    *there = place < size && cells[place].label == label;
    return place;
}

static bool pack_pair(struct nb_row *row, const struct nb_cell *cells, size_t size)
{
    uint64_t packed = 0;
    for (size_t i = 0; i < size; i++) {
        uint64_t more = cells[i].occurrences - cells[i].documents;
        uint32_t label = cells[i].label;
        if (label > 1 || cells[i].documents > NB_PAIR_D_MOST || more > NB_PAIR_MORE_MOST)
            return false;
        packed |= (uint64_t)cells[i].documents << label * NB_PAIR_D |
                  more << (NB_PAIR_MORES + label * NB_PAIR_MORE);
    }
    row->cells = packed;
    return true;
}

/* Packs a single cell; fails for labels 0 and 1, so that a model with only these labels has only
 * pairs and spilled rows. */
static bool pack_single(struct nb_row *row, struct nb_cell cell)
{
    uint64_t more = cell.occurrences - cell.documents, label = cell.label;
    if (label <= 1 || cell.documents > NB_SINGLE_MOST || more > NB_SINGLE_MOST)
        return false;
    row->cells = NB_FORM_SINGLE | label << NB_SINGLE_LABEL | more << NB_SINGLE_D | cell.documents;
    return true;
}

static bool pack_two(struct nb_row *row, const struct nb_cell cells[2])
{
    uint64_t labels = (uint64_t)cells[0].label << NB_LABEL_BITS | cells[1].label;
    uint64_t packed = NB_FORM_TWO | labels << 2 * NB_TWO_BITS;
    for (size_t i = 0; i < 2; i++) {
        uint64_t more = cells[i].occurrences - cells[i].documents, d = cells[i].documents;
        if (d > NB_TWO_D_MOST || more > NB_TWO_MORE_MOST)
            return false;
        packed |= (d << NB_TWO_MORE | more) << (i == 0 ? NB_TWO_BITS : 0);
    }
    row->cells = packed;
    return true;
}

bool nb_row_pack(struct nb_row *row, const struct nb_cell *cells, size_t size)
{
    if (size > 2)
        return false;
    return pack_pair(row, cells, size) || (size == 1 && pack_single(row, cells[0])) ||
           (size == 2 && pack_two(row, cells));
}

/* Overwrites a cell without updating the sum of its run. */
static void put_spill(struct nb_spill *to, struct nb_cell cell)
{
    to->label = (uint16_t)cell.label;
    to->n = cell.occurrences;
    to->d = cell.documents;
}

/* Adds `change` to the run's sum of documents, after its cells have changed. */
static void add_to_sum(struct nb_spill *run, int64_t change)
{
    uint64_t sum = (uint64_t)run[1].order + (uint64_t)change;
    if (run[1].order == NB_SUM_UNKNOWN)
        sum = nb_run_documents(run);
    run[1].order = sum < NB_SUM_UNKNOWN ? (uint32_t)sum : NB_SUM_UNKNOWN;
}

/* Moves cells into a new run, which becomes the row's run. */
static int spill(struct nb_cell_pool *pool, struct nb_row *row, const struct nb_cell *cells,
                 uint32_t size)
{
    uint32_t order = size <= 2 ? FIRST_ORDER : 32u - (uint32_t)__builtin_clz(size - 1);
    uint32_t number;
    assert(!nb_row_is_spilled(*row));
    int rc = run_new(pool, order, &number);
    if (rc != 0)
        return rc;
    struct nb_spill *run = nb_segments_at(&pool->cells, number);
    uint64_t documents = 0;
    for (uint32_t i = 0; i < size; i++) {
        put_spill(&run[i], cells[i]);
        documents += cells[i].documents;
    }
    run->used = (uint16_t)size;
    run[1].order = documents < NB_SUM_UNKNOWN ? (uint32_t)documents : NB_SUM_UNKNOWN;
    row->cells = NB_FORM_SPILLED | number;
    return 0;
}

/* Stores the cells of a row that is not spilled: packed, or in a run if they do not fit. */
static int put_cells(struct nb_cell_pool *pool, struct nb_row *row, const struct nb_cell *cells,
                     uint32_t size)
{
    return nb_row_pack(row, cells, size) ? 0 : spill(pool, row, cells, size);
}

int nb_row_set(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place, struct nb_cell cell)
{
    if (!nb_row_is_spilled(*row)) {
        struct nb_cell cells[2];
        uint32_t size = nb_row_unpack(*row, cells);
        assert(place < size);
        cells[place] = cell;
        return put_cells(pool, row, cells, size);
    }
    struct nb_spill *run = nb_row_run(pool, *row);
    uint32_t before = run[place].d;
    put_spill(&run[place], cell);
    add_to_sum(run, (int64_t)cell.documents - before);
    return 0;
}

/* Makes room for one more cell: moves the cells of a full run into a run of twice the room. */
static int run_grow(struct nb_cell_pool *pool, struct nb_row *row)
{
    struct nb_spill *old = nb_row_run(pool, *row);
    uint32_t order = old->order;
    uint32_t used = old->used;
    if (used < 1u << order)
        return 0;
    uint32_t run;
    int rc = run_new(pool, order + 1, &run);
    if (rc != 0)
        return rc;
    old = nb_row_run(pool, *row); /* the pool may have moved */
    struct nb_spill *cells = nb_segments_at(&pool->cells, run);
    assert(used == 1u << order && order + 1 < NB_RUN_ORDERS);
    memcpy(cells, old, used * sizeof *cells);
    cells->order = order + 1;
    run_free(pool, (uint32_t)(row->cells & ~NB_FORM_SPILLED), order);
    row->cells = NB_FORM_SPILLED | run;
    return 0;
}

static int insert_in_run(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                         struct nb_cell cell)
{
    uint32_t size = nb_row_size(pool, *row);
    int rc = run_grow(pool, row);
    if (rc != 0)
        return rc;
    struct nb_spill *run = nb_row_run(pool, *row);
    for (uint32_t i = size; i > place; i--)
        put_spill(&run[i], nb_row_cell(pool, *row, i - 1));
    put_spill(&run[place], cell);
    run->used++;
    add_to_sum(run, cell.documents);
    return 0;
}

int nb_row_insert(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place,
                  struct nb_cell cell)
{
    struct nb_cell cells[3];
    assert(place <= nb_row_size(pool, *row) && cell.occurrences != 0);
    if (nb_row_is_spilled(*row))
        return insert_in_run(pool, row, place, cell);
    uint32_t size = nb_row_unpack(*row, cells);
    for (uint32_t i = size; i > place; i--)
        cells[i] = cells[i - 1];
    cells[place] = cell;
    return put_cells(pool, row, cells, size + 1);
}

/* Moves the cells of a run back into the row, if they fit. */
static void unspill(struct nb_cell_pool *pool, struct nb_row *row)
{
    uint32_t run = (uint32_t)(row->cells & ~NB_FORM_SPILLED);
    uint32_t size = nb_row_size(pool, *row);
    struct nb_cell cells[2];
    if (size > 2)
        return;
    for (uint32_t i = 0; i < size; i++)
        cells[i] = nb_row_cell(pool, *row, i);
    uint32_t order = nb_row_run(pool, *row)->order;
    if (nb_row_pack(row, cells, size))
        run_free(pool, run, order);
}

static void remove_from_run(struct nb_spill *run, uint32_t place)
{
    uint32_t gone = run[place].d;
    for (uint32_t i = place; i + 1 < run->used; i++)
        put_spill(&run[i], (struct nb_cell){run[i + 1].label, run[i + 1].n, run[i + 1].d});
    run->used--;
    put_spill(&run[run->used], (struct nb_cell){0});
    add_to_sum(run, -(int64_t)gone);
}

void nb_row_remove(struct nb_cell_pool *pool, struct nb_row *row, uint32_t place)
{
    assert(place < nb_row_size(pool, *row));
    if (nb_row_is_spilled(*row)) {
        remove_from_run(nb_row_run(pool, *row), place);
        unspill(pool, row);
        return;
    }
    struct nb_cell cells[2];
    uint32_t size = nb_row_unpack(*row, cells);
    if (place == 0)
        cells[0] = cells[1];
    bool fits = nb_row_pack(row, cells, size - 1);
    assert(fits); /* one remaining cell fits as a pair or a single */
    (void)fits;
}
