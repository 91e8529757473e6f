/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/dump/dump.h"
#include "core/base/array.h"
#include "core/base/key.h"
#include "core/base/number.h"
#include "core/engine/writer.h"
#include "core/ledger/entries/record.h"
#include "core/model/live/model_transaction.h"
#include "core/model/live/relay.h"
#include "core/model/live/stream_states.h"

static_assert(NB_PART_ENTRIES < 1 << NB_SERIALS_ENTRY_BITS, "numbers of one position");

enum { PAGE_BYTES = 8192 };
static const int64_t PATIENCE = INT64_C(86400000); /* milliseconds until parts are dropped: a day */

bool nb_import_is_id(struct nb_string id)
{
    uint64_t value;
    return id.length == NB_IMPORT_ID && nb_hex_read(id, &value);
}

/* ---- finding parts --------------------------------------------------------------------------- */

struct finding {
    struct nb_import_parts *parts;
    struct nb_string id; /* parts of this import; empty: of any import, ... */
    int64_t before;      /* ... if they are older than this time */
};

static int find_part(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct finding *f = user;
    struct nb_import_parts *p = f->parts;
    if (f->id.length == 0 && (int64_t)one->checksum >= f->before)
        return 1; /* the later parts are younger */
    if (f->id.length > 0 && !nb_string_same(f->id, one->id))
        return 0;
    if (nb_array_reserve(&p->positions, &p->room, p->count + 1, sizeof *p->positions) != 0)
        return nb_error_no_memory(error);
    p->positions[p->count++] = one->position;
    return 0;
}

int nb_import_parts_find(struct nb_engine *engine, struct nb_string id, uint64_t count,
                         struct nb_import_parts *parts, struct nb_error *error)
{
    struct finding f = {parts, id, 0};
    *parts = (struct nb_import_parts){.stream = nb_relay_applied()->stream};
    int rc = nb_message_scan(engine, NB_KEPT_PART, parts->stream, 0, find_part, &f, error);
    if (rc == 0 && (count == 0 || parts->count != count))
        rc = nb_error_set(error, NB_CONFLICT,
                          "the import was given up: %zu of %" PRIu64
                          " parts are there; begin it again",
                          parts->count, count);
    if (rc != 0) {
        free(parts->positions);
        *parts = (struct nb_import_parts){.count = 0};
    }
    return rc;
}

int nb_import_parts_number(struct nb_import_parts *p, uint64_t *number, struct nb_error *error)
{
    if (p->used / NB_PART_ENTRIES >= p->count)
        return nb_error_set(error, NB_TOO_LARGE,
                            "the model has more documents than when it was asked for: ask again");
    *number = nb_serials_first(p->stream) +
              (p->positions[p->used / NB_PART_ENTRIES] << NB_SERIALS_ENTRY_BITS) +
              p->used % NB_PART_ENTRIES + 1;
    p->used++;
    return 0;
}

static int read_part(void *user, const struct nb_traced *one, struct nb_error *error)
{
    return nb_buffer_append(user, one->message.bytes, one->message.length) == 0
               ? 1
               : nb_error_no_memory(error);
}

int nb_import_parts_read(struct nb_engine *engine, const struct nb_import_parts *p, size_t which,
                         struct nb_buffer *bytes, struct nb_error *error)
{
    bytes->length = 0;
    int rc = nb_message_scan(engine, NB_KEPT_PART, p->stream, p->positions[which], read_part, bytes,
                             error);
    assert(rc != 0); /* the part was found before, and only this thread deletes parts */
    return rc == 1 ? 0 : rc;
}

int nb_import_parts_delete(const struct nb_view *view, const struct nb_import_parts *p,
                           struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->count; i++)
        rc = nb_message_delete(view, NB_KEPT_PART, p->stream, p->positions[i], error);
    return rc;
}

/* ---- keeping parts --------------------------------------------------------------------------- */

/* A part to store, or (`id` not empty) an import whose parts are to be dropped. */
struct keeping {
    const struct nb_relayed_change *part;
    const struct nb_relayed *here;
    struct nb_string id;
};

static int write(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct keeping *k = argument;
    struct nb_import_parts old = {.stream = k->here->stream};
    struct finding f = {&old, k->id, k->here->time - PATIENCE};
    int rc = 0;
    (void)engine;
    if (k->part == NULL || k->part->last == 0) /* another import begins */
        rc = nb_message_walk(view, NB_KEPT_PART, old.stream, 0, find_part, &f, error);
    if (rc >= 0)
        rc = nb_import_parts_delete(view, &old, error);
    free(old.positions);
    if (rc != 0 || k->part == NULL)
        return rc;
    const struct nb_traced one = {k->here->position, (uint64_t)k->here->time, k->part->from,
                                  k->part->settings};
    return nb_message_put(view, NB_KEPT_PART, k->here->stream, &one, error);
}

static int keep_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    const struct keeping *k = argument;
    size_t bytes = k->part == NULL ? 0 : k->part->settings.length + PAGE_BYTES;
    return nb_transaction(engine, bytes, write, argument, error);
}

int nb_import_parts_add(struct nb_engine *engine, const struct nb_relayed_change *part,
                        struct nb_error *error)
{
    struct keeping k = {part, nb_relay_applied(), {"", 0}};
    return nb_writer_run(engine, keep_task, &k, error);
}

int nb_import_parts_drop(struct nb_engine *engine, struct nb_string id, struct nb_error *error)
{
    struct keeping k = {NULL, nb_relay_applied(), id};
    return nb_writer_run(engine, keep_task, &k, error);
}

/* ---- sending --------------------------------------------------------------------------------- */

void nb_sending_init(struct nb_sending *s, struct nb_engine *engine, struct nb_string model,
                     struct nb_string source)
{
    *s = (struct nb_sending){.engine = engine, .model = model, .source = source};
    (void)snprintf(s->id, sizeof s->id, "%016" PRIx64, nb_key_random());
}

static struct nb_relayed_change change_of(const struct nb_sending *s,
                                          enum nb_relayed_change_kind kind)
{
    return (struct nb_relayed_change){.kind = kind,
                                      .model = s->model,
                                      .source = s->source,
                                      .from = nb_string_of(s->id),
                                      .last = s->parts};
}

static int send_part(struct nb_sending *s, struct nb_string bytes, struct nb_error *error)
{
    struct nb_relayed_change part = change_of(s, NB_RELAYED_CHANGE_PART);
    part.settings = bytes;
    int rc = nb_relay_ask(s->engine, &part, NULL, error);
    s->parts++; /* also counts a part that may still arrive */
    return rc;
}

/* Sends whole parts, and with `all` also the incomplete rest. */
static int send(struct nb_sending *s, bool all, struct nb_error *error)
{
    size_t at = 0, length = s->rest.length;
    int rc = 0;
    while (rc == 0 && (length - at >= NB_PART_BYTES || (all && length > at))) {
        size_t some = length - at < NB_PART_BYTES ? length - at : NB_PART_BYTES;
        rc = send_part(s, (struct nb_string){s->rest.bytes + at, some}, error);
        at += some;
    }
    if (at > 0)
        memmove(s->rest.bytes, s->rest.bytes + at, length - at);
    s->rest.length -= at;
    return rc;
}

int nb_sending_written(struct nb_sending *s, int rc, struct nb_error *error)
{
    return rc != 0 ? nb_error_no_memory(error) : send(s, false, error);
}

int nb_sending_empty(struct nb_sending *s, struct nb_error *error)
{
    return send_part(s, (struct nb_string){"", 0}, error);
}

int nb_sending_end(struct nb_sending *s, const struct nb_dump_totals *totals, struct nb_string from,
                   bool only_new, struct nb_relayed_change_done *done, struct nb_error *error)
{
    if (totals != NULL && nb_dump_write_end(totals, &s->rest) != 0)
        return nb_error_no_memory(error);
    int rc = send(s, true, error);
    struct nb_relayed_change import = change_of(s, NB_RELAYED_CHANGE_IMPORT);
    import.to = from;
    import.only_new = only_new;
    return rc != 0 ? rc : nb_relay_ask(s->engine, &import, done, error);
}

/* Requests an import of 0 parts: all nodes refuse it and drop its parts. */
void nb_sending_give_up(struct nb_sending *s)
{
    bool has_some = s->parts > 0;
    s->parts = 0;
    struct nb_relayed_change import = change_of(s, NB_RELAYED_CHANGE_IMPORT);
    if (has_some)
        (void)nb_relay_ask(s->engine, &import, NULL, NULL);
}
