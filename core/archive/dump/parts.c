/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/archive/dump/dump.h"
#include "core/base/key.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"
#include "core/writer/writer.h"

enum { PAGE_BYTES = 8192 };
static const int64_t PATIENCE = INT64_C(86400000); /* milliseconds until parts are dropped: a day */

/* ---- keeping parts --------------------------------------------------------------------------- */

/* Finds one part: of the import with this id, or older than a time. */
struct finding {
    struct nb_string id;
    int64_t before;
    uint64_t position;       /* of the part */
    struct nb_buffer *bytes; /* gets the part; NULL: not wanted */
};

static int find_part(void *user, const struct nb_traced *one, struct nb_error *error)
{
    struct finding *f = user;
    if (!nb_string_same(f->id, one->id) && (int64_t)one->checksum >= f->before)
        return 0;
    f->position = one->position;
    return f->bytes == NULL ||
                   nb_buffer_append(f->bytes, one->message.bytes, one->message.length) == 0
               ? 1
               : nb_error_no_memory(error);
}

int nb_import_parts_read(struct nb_engine *engine, struct nb_string id, uint64_t *at,
                         struct nb_buffer *bytes, struct nb_error *error)
{
    struct finding f = {.id = id, .bytes = bytes};
    bytes->length = 0;
    int rc = nb_message_scan(engine, NB_KEPT_PART, nb_relay_applied()->stream, *at, find_part, &f,
                             error);
    *at = f.position + 1;
    if (rc != 0)
        return rc == 1 ? 0 : rc;
    return nb_error_set(error, NB_CONFLICT,
                        "the import was given up, some of its parts are not "
                        "there any more: begin it again");
}

int nb_import_parts_delete(const struct nb_view *view, struct nb_string id, int64_t before,
                           struct nb_error *error)
{
    struct finding f = {.id = id, .before = before};
    unsigned stream = nb_relay_applied()->stream;
    int rc;
    while ((rc = nb_message_walk(view, NB_KEPT_PART, stream, f.position, find_part, &f, error)) >
           0) {
        rc = nb_message_delete(view, NB_KEPT_PART, stream, f.position++, error);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static int write(struct nb_engine *engine, struct nb_view *view, void *argument,
                 struct nb_error *error)
{
    const struct nb_relayed_change *e = argument;
    const struct nb_relayed *here = nb_relay_applied();
    int rc = 0;
    (void)engine;
    if (e->kind == NB_RELAYED_CHANGE_IMPORT)
        return nb_import_parts_delete(view, e->from, 0, error);
    if (e->last == 0) /* another import begins */
        rc = nb_import_parts_delete(view, (struct nb_string){"", 0}, here->time - PATIENCE, error);
    const struct nb_traced one = {here->one.position, (uint64_t)here->time, e->from, e->settings};
    return rc != 0 ? rc : nb_message_put(view, NB_KEPT_PART, here->stream, &one, error);
}

int nb_import_parts_write(struct nb_engine *engine, struct nb_relayed_change change,
                          struct nb_error *error)
{
    return nb_writer_transact(engine, change.settings.length + PAGE_BYTES, write, &change, error);
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

/* Sends whole parts, and with `all` also the incomplete rest. */
static int send(struct nb_sending *s, bool all, struct nb_error *error)
{
    size_t at = 0, length = s->rest.length;
    int rc = 0;
    while (rc == 0 && (length - at >= NB_PART_BYTES || (all && length > at))) {
        struct nb_relayed_change part = change_of(s, NB_RELAYED_CHANGE_PART);
        size_t some = length - at < NB_PART_BYTES ? length - at : NB_PART_BYTES;
        part.settings = (struct nb_string){s->rest.bytes + at, some};
        rc = nb_relay_ask(s->engine, &part, NULL, error);
        s->parts++; /* also counts a part that may still arrive */
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
    struct nb_relayed_change import = change_of(s, NB_RELAYED_CHANGE_IMPORT);
    import.last = 0;
    if (s->parts > 0)
        (void)nb_relay_ask(s->engine, &import, NULL, NULL);
    s->parts = 0;
}
