/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/backup/backup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/backup/format.h"
#include "core/base/system.h"
#include "core/model/state.h"
#include "core/store/lease.h"

enum {
    PIECE_BYTES = 256 * 1024, /* read in about a millisecond, for which the writer may wait */
    MORE = 1                  /* the piece is full, and the table has more values */
};

struct nb_backup {
    struct nb_lease *lease;
    unsigned table;        /* the present table; NB_TABLES: all were read */
    struct nb_buffer last; /* the last key that was read from it; empty: none */
    uint64_t blocks, values;
    /* Used while a piece is written: */
    struct nb_buffer *out;
    size_t limit; /* length of `out` at which the piece ends */
};

int nb_backup_begin(struct nb_engine *engine, uint64_t seconds, struct nb_backup **out,
                    struct nb_error *error)
{
    struct nb_backup *backup = calloc(1, sizeof *backup);
    if (backup == NULL)
        return nb_error_no_memory(error);
    int rc = nb_lease_take(engine->store, seconds, &backup->lease, error);
    if (rc == 0)
        *out = backup;
    else
        nb_backup_end(&backup);
    return rc;
}

/* Whether a key is left out: the number of the format, which a new store has already, and the queue
 * of a node, which only that node publishes. */
static bool is_left_out(const struct nb_backup *backup, struct nb_string key)
{
    static const char QUEUE[] = "queue";
    return backup->table == NB_TABLE_META &&
           (nb_string_equals(key, "format") ||
            (key.length >= sizeof QUEUE - 1 && memcmp(key.bytes, QUEUE, sizeof QUEUE - 1) == 0));
}

static int take_value(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct nb_backup *backup = user;
    struct nb_string last = {backup->last.bytes, backup->last.length};
    if (nb_string_same(key, last) || is_left_out(backup, key))
        return 0;
    if (backup->out->length >= backup->limit)
        return MORE;
    backup->last.length = 0;
    if (nb_backup_put_value(backup->out, key, value) != 0 ||
        nb_buffer_append(&backup->last, key.bytes, key.length) != 0)
        return nb_error_no_memory(error);
    backup->values++;
    return 0;
}

/* Appends a block with values of the present table, from the key that was read last. */
static int add_block(struct nb_backup *backup, const struct nb_view *view, struct nb_error *error)
{
    assert(backup->table < NB_TABLES && backup->blocks > 0);
    enum nb_table table = (enum nb_table)backup->table;
    struct nb_buffer from = {0};
    uint64_t before = backup->values;
    size_t at;
    if (nb_buffer_append(&from, backup->last.bytes, backup->last.length) != 0 ||
        nb_backup_begin_values(backup->out, nb_store_table_name(table), &at) != 0) {
        nb_buffer_deinit(&from);
        return nb_error_no_memory(error);
    }
    int rc = nb_store_scan(view, table, (struct nb_string){from.bytes, from.length}, 0, take_value,
                           backup, error);
    nb_buffer_deinit(&from);
    if (rc == 0) {
        backup->table++;
        backup->last.length = 0;
    }
    if (rc < 0)
        return rc;
    if (backup->values == before) {
        backup->out->length = at; /* drops a block without values */
        return 0;
    }
    return nb_backup_end_block(backup->out, at, backup->blocks++, error);
}

static int add_blocks(struct nb_backup *backup, struct nb_error *error)
{
    const struct nb_view *view;
    int rc = nb_lease_enter(backup->lease, &view, error);
    if (rc != 0)
        return rc;
    while (rc == 0 && backup->table < NB_TABLES && backup->out->length < backup->limit)
        rc = add_block(backup, view, error);
    nb_lease_leave(backup->lease);
    return rc;
}

static int add_head(struct nb_backup *backup, struct nb_error *error)
{
    if (backup->blocks > 0)
        return 0;
    if (nb_backup_put_head(backup->out, NB_STORE_FORMAT, nb_clock_now()) != 0)
        return nb_error_no_memory(error);
    backup->blocks = 1;
    return 0;
}

int nb_backup_next(struct nb_backup *backup, struct nb_buffer *out, bool *end,
                   struct nb_error *error)
{
    size_t before = out->length;
    uint64_t blocks = backup->blocks;
    assert(backup->lease != NULL && backup->table <= NB_TABLES);
    backup->out = out;
    backup->limit = before + PIECE_BYTES;
    int rc = add_head(backup, error);
    if (rc == 0)
        rc = add_blocks(backup, error);
    *end = rc == 0 && backup->table == NB_TABLES;
    if (*end && nb_backup_put_end(out, backup->blocks, backup->values) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0) {
        out->length = before;
        backup->blocks = blocks;
    }
    return rc;
}

void nb_backup_give_up(struct nb_backup *backup, const struct nb_error *why, struct nb_buffer *out)
{
    size_t before = out->length;
    assert(why->text[0] != '\0');
    if (nb_backup_put_failure(out, backup->blocks, why->text) != 0)
        out->length = before;
}

void nb_backup_end(struct nb_backup **out)
{
    struct nb_backup *backup = *out;
    *out = NULL;
    if (backup == NULL)
        return;
    nb_lease_end(&backup->lease);
    nb_buffer_deinit(&backup->last);
    free(backup);
}
