/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counts/growth.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "core/counts/wides.h"

enum { AHEAD = 32 }; /* rows whose buckets are under way */

struct nb_growth {
    pthread_t thread;
    unsigned char **table; /* owned; its segments are the model's */
    uint32_t rows;
    uint64_t room;
    /* The thread's until it has ended: */
    struct nb_index index;
    int code;
};

void nb_index_put_rows(struct nb_index *index, unsigned char *const *table, uint32_t start,
                       uint32_t end)
{
    for (uint64_t i = start; i < (uint64_t)end + AHEAD; i++) {
        if (i < end)
            nb_index_ask(index, nb_row_at(table, (uint32_t)i)->id);
        if (i < (uint64_t)start + AHEAD)
            continue;
        uint32_t row = (uint32_t)i - AHEAD;
        if (!nb_model_is_dropped(nb_row_at(table, row)->id))
            nb_index_insert(index, nb_row_at(table, row)->id, row);
    }
}

static void *growth_main(void *user)
{
    struct nb_growth *growth = user;
    growth->code = nb_index_init(&growth->index, growth->room);
    if (growth->code == 0)
        nb_index_put_rows(&growth->index, growth->table, 0, growth->rows);
    return NULL;
}

struct nb_growth *nb_growth_begin(unsigned char *const *table, uint32_t rows, uint64_t room)
{
    size_t segments = ((size_t)rows + (1u << NB_ROW_SEGMENT_BITS) - 1) >> NB_ROW_SEGMENT_BITS;
    struct nb_growth *growth = calloc(1, sizeof *growth);
    assert(rows > 0 && rows <= room && room <= NB_INDEX_ROWS_MOST);
    if (growth == NULL)
        return NULL;
    *growth = (struct nb_growth){
        .table = malloc(segments * sizeof *growth->table), .rows = rows, .room = room};
    if (growth->table != NULL) {
        memcpy(growth->table, table, segments * sizeof *growth->table);
        if (pthread_create(&growth->thread, NULL, growth_main, growth) == 0) {
            (void)pthread_setname_np(growth->thread, "index");
            return growth;
        }
    }
    free(growth->table);
    free(growth);
    return NULL;
}

size_t nb_growth_memory(const struct nb_growth *growth)
{
    return growth == NULL ? 0 : nb_index_bytes(growth->room);
}

int nb_growth_end(struct nb_growth **growth, struct nb_index *index, uint32_t *rows)
{
    struct nb_growth *g = *growth;
    *growth = NULL;
    pthread_join(g->thread, NULL);
    int rc = g->code;
    if (rc == 0) {
        *index = g->index;
        *rows = g->rows;
    }
    free(g->table);
    free(g);
    return rc;
}

void nb_growth_drop(struct nb_growth **growth)
{
    struct nb_index index;
    uint32_t rows;
    if (*growth != NULL && nb_growth_end(growth, &index, &rows) == 0)
        nb_index_deinit(&index);
}

void nb_growth_spare(struct nb_growth **growth, uint32_t row)
{
    if (*growth != NULL && row < (*growth)->rows)
        nb_growth_drop(growth);
}
