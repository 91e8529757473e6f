/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/dump/shared.h"

#include "core/archive/dump/dump_records.h"
#include "core/archive/dump/entries.h"
#include "core/archive/dump/import.h"
#include "core/model/live/relayed.h"

struct arriving {
    struct nb_import *import;
    bool is_end;
    struct nb_dump_totals totals;
    struct nb_error why; /* of the import */
};

static int take_header(void *user, const struct nb_dump_header *header)
{
    struct arriving *a = user;
    return nb_import_header(a->import, header, &a->why);
}

static int take_words(void *user, const struct nb_dump_words *words)
{
    struct arriving *a = user;
    return nb_import_words(a->import, words, &a->why);
}

static int take_document(void *user, const struct nb_dump_document *document)
{
    struct arriving *a = user;
    return nb_import_document(a->import, document, &a->why);
}

static int take_end(void *user, const struct nb_dump_totals *totals)
{
    struct arriving *a = user;
    a->is_end = true;
    a->totals = *totals;
    return 0;
}

static int read_pieces(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                       struct arriving *a, struct nb_error *error)
{
    const struct nb_dump_sink sink = {take_header, take_words, take_document, take_end, a};
    struct nb_dump_reading reading = {.rest = {NULL, 0, 0}};
    struct nb_buffer piece = {0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < relayed_change->last; i++) {
        rc = nb_staged_read(engine, relayed_change->from, i, &piece, error);
        if (rc == 0)
            rc = nb_dump_read(&reading, nb_buffer_string(&piece), &sink, error);
    }
    if (rc == 0 && reading.rest.length > 0)
        rc = nb_error_set(error, NB_INVALID, "the last piece of the import ends within a record");
    nb_dump_reading_deinit(&reading);
    nb_buffer_deinit(&piece);
    return rc == 0 || a->why.code == 0 ? rc : nb_error_set(error, rc, "%s", a->why.text);
}

int nb_import_shared_end(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                         int rc)
{
    if (rc == 0 || nb_error_is_passing(rc))
        return rc;
    int given_up = nb_staged_drop(engine, relayed_change->from, NULL);
    return given_up != 0 ? given_up : rc;
}

int nb_import_shared(struct nb_engine *engine, const struct nb_relayed_change *relayed_change,
                     struct nb_relayed_change_done *done, struct nb_error *error)
{
    struct arriving a = {.import = NULL};
    int rc = nb_import_start(engine, relayed_change->model, relayed_change->source,
                             relayed_change->from, relayed_change->last, &a.import, error);
    if (rc == 0)
        rc = read_pieces(engine, relayed_change, &a, error);
    if (rc == 0 && relayed_change->only_new)
        nb_import_only_new(a.import);
    if (rc == 0)
        rc = nb_import_commit(&a.import, a.is_end ? &a.totals : NULL, &done->created,
                              &done->dropped, error);
    else
        nb_import_abort(&a.import);
    return nb_import_shared_end(engine, relayed_change, rc);
}
