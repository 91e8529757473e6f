/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/wides.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/threads.h"

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
