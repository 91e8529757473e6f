/* SPDX-License-Identifier: Apache-2.0 */
#include "core/copy/copy.h"

#include "core/base/error.h"

/* How often it begins again because the store had to grow. Each time the map has doubled. */
enum { TIMES_MOST = 8 };

struct copying {
    struct nb_import *import;
    struct nb_dump_totals totals;
    struct nb_error why; /* of the import, which the export does not know */
};

static int put_header(void *user, const struct nb_dump_header *header)
{
    struct copying *c = user;
    return nb_import_header(c->import, header, &c->why);
}

static int put_words(void *user, const struct nb_dump_words *words)
{
    struct copying *c = user;
    return nb_import_words(c->import, words, &c->why);
}

static int put_document(void *user, const struct nb_dump_document *document)
{
    struct copying *c = user;
    return nb_import_document(c->import, document, &c->why);
}

static int put_end(void *user, const struct nb_dump_totals *totals)
{
    struct copying *c = user;
    c->totals = *totals;
    return 0;
}

static int copy_records(struct nb_export *export, struct copying *c, bool (*stop)(void *user),
                        void *user, struct nb_error *error)
{
    const struct nb_dump_sink sink = {put_header, put_words, put_document, put_end, c};
    bool is_end = false;
    int rc = 0;
    while (rc == 0 && !is_end) {
        if (stop(user))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        rc = nb_export_next(export, &sink, &is_end, error);
    }
    if (rc != 0 && c->why.code != 0 && error != NULL)
        *error = c->why;
    return rc != 0 && c->why.code != 0 ? c->why.code : rc;
}

/* Sets *again where another try may succeed. */
static int try_copy(struct nb_engine *engine, struct nb_string from, struct nb_string source,
                    uint64_t seconds, struct nb_string to, bool (*stop)(void *user), void *user,
                    bool *again, struct nb_error *error)
{
    struct copying c = {.import = NULL};
    struct nb_export *export;
    bool created;
    uint64_t dropped;
    *again = false;
    int rc = nb_export_begin(engine, from, seconds, &export, error);
    if (rc != 0)
        return rc;
    rc = nb_import_begin(engine, to, source, &c.import, error);
    if (rc == 0)
        rc = copy_records(export, &c, stop, user, error);
    *again = rc != 0 && nb_export_is_lost(export);
    nb_export_end(&export);
    if (rc != 0) {
        if (c.import != NULL)
            nb_import_abort(&c.import);
        return rc;
    }
    nb_import_only_new(c.import);
    return nb_import_commit(&c.import, &c.totals, &created, &dropped, error);
}

int nb_model_copy(struct nb_engine *engine, struct nb_string from, struct nb_string to,
                  struct nb_string source, uint64_t seconds, bool (*stop)(void *user), void *user,
                  struct nb_error *error)
{
    struct nb_model_info existing;
    bool again = true;
    int rc = nb_check_model_name(to, error);
    if (rc == 0 && nb_engine_model(engine, to, &existing, NULL) == 0) {
        nb_model_info_deinit(&existing);
        rc = nb_error_set(error, NB_CONFLICT, "the model '%.*s' exists", (int)to.length, to.bytes);
    }
    for (int times = 0; (times == 0 ? rc == 0 : rc != 0) && again && times < TIMES_MOST; times++)
        rc = try_copy(engine, from, source, seconds, to, stop, user, &again, error);
    return rc;
}
