/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/sending.h"

#include <string.h>

#include "core/archive/dump/dump_records.h"
#include "core/model/live/relay.h"
#include "core/model/live/relayed.h"

void nb_sending_init(struct nb_sending *s, struct nb_engine *engine, struct nb_string model,
                     struct nb_string source)
{
    *s = (struct nb_sending){.engine = engine, .model = model, .source = source};
    nb_staged_new_id(s->id);
}

void nb_sending_deinit(struct nb_sending *s)
{
    nb_buffer_deinit(&s->record);
    nb_buffer_deinit(&s->parent);
}

static struct nb_relayed_change relayed_change_of(const struct nb_sending *s,
                                                  enum nb_relayed_change_kind kind)
{
    return (struct nb_relayed_change){.kind = kind,
                                      .model = s->model,
                                      .source = s->source,
                                      .from = nb_string_of(s->id),
                                      .last = s->pieces};
}

static int send_piece(struct nb_sending *s, struct nb_string bytes, struct nb_error *error)
{
    struct nb_relayed_change relayed_change = relayed_change_of(s, NB_RELAYED_CHANGE_STAGE);
    relayed_change.settings = bytes;
    int rc = nb_relay_ask(s->engine, &relayed_change, NULL, error);
    s->pieces++; /* also counts a piece that may still arrive */
    return rc;
}

/* Sends whole pieces; with `all` the rest, too. */
static int send(struct nb_sending *s, bool all, struct nb_error *error)
{
    size_t at = 0, length = s->record.length;
    int rc = 0;
    while (rc == 0 && (length - at >= NB_STAGED_BYTES || (all && length > at))) {
        size_t some = length - at < NB_STAGED_BYTES ? length - at : NB_STAGED_BYTES;
        rc = send_piece(s, (struct nb_string){s->record.bytes + at, some}, error);
        at += some;
    }
    if (at > 0)
        memmove(s->record.bytes, s->record.bytes + at, length - at);
    s->record.length -= at;
    return rc;
}

static int written(struct nb_sending *s, int rc, struct nb_error *error)
{
    return rc != 0 ? nb_error_no_memory(error) : send(s, false, error);
}

int nb_sending_parent(struct nb_sending *s, const char *parent, struct nb_error *error)
{
    s->parent.length = 0;
    if (parent != NULL && nb_buffer_append(&s->parent, parent, strlen(parent)) != 0)
        return nb_error_no_memory(error);
    return 0;
}

int nb_sending_header(struct nb_sending *s, const struct nb_dump_header *header,
                      struct nb_error *error)
{
    int rc = nb_sending_parent(s, header->settings.parent, error);
    return rc != 0 ? rc : written(s, nb_dump_write_header(header, &s->record), error);
}

int nb_sending_words(struct nb_sending *s, const struct nb_dump_words *words,
                     struct nb_error *error)
{
    return written(s, nb_dump_write_words(words, &s->record), error);
}

int nb_sending_document(struct nb_sending *s, const struct nb_dump_document *document,
                        struct nb_error *error)
{
    return written(s, nb_dump_write_document(document, &s->record), error);
}

int nb_sending_empty(struct nb_sending *s, struct nb_error *error)
{
    return send_piece(s, (struct nb_string){"", 0}, error);
}

int nb_sending_end(struct nb_sending *s, const struct nb_dump_totals *totals, struct nb_string from,
                   bool only_new, struct nb_relayed_change_done *done, struct nb_error *error)
{
    if (totals != NULL && nb_dump_write_end(totals, &s->record) != 0)
        return nb_error_no_memory(error);
    int rc = send(s, true, error);
    struct nb_relayed_change relayed_change = relayed_change_of(s, NB_RELAYED_CHANGE_IMPORT);
    relayed_change.to = from;
    relayed_change.settings = nb_buffer_string(&s->parent);
    relayed_change.only_new = only_new;
    return rc != 0 ? rc : nb_relay_ask(s->engine, &relayed_change, done, error);
}

void nb_sending_give_up(struct nb_sending *s)
{
    struct nb_relayed_change relayed_change = relayed_change_of(s, NB_RELAYED_CHANGE_UNSTAGE);
    if (s->pieces > 0)
        (void)nb_relay_ask(s->engine, &relayed_change, NULL, NULL);
}
