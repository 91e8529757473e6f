/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/copy/copy.h"

#include <stdlib.h>
#include <string.h>

#include "core/archive/dump/dump.h"
#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/archive/dump/import_private.h"
#include "core/archive/dump/parts.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/model/relayed.h"

/* How often a copy begins again because the store had to grow. Each time the map has doubled. */
enum { TIMES_MOST = 8 };

/* Features in an entry of the copy. The old model's entries group features differently on each
 * node, but the entries of a copy must have the same numbers on all nodes. */
enum { WORDS_AT_ONCE = 4096 };

struct words {
    uint64_t ids[WORDS_AT_ONCE];
    size_t ends[WORDS_AT_ONCE]; /* end of each text in `texts` */
    struct nb_string strings[WORDS_AT_ONCE];
    size_t count;
    uint32_t first_row;
    bool has_texts;
    struct nb_buffer texts; /* owned */
};

struct copying {
    struct nb_import *import;
    struct nb_dump_totals totals;
    bool has_totals;
    struct nb_error why; /* error of the import, which the export does not pass on */
    struct words words;
};

static int put_header(void *user, const struct nb_dump_header *header)
{
    struct copying *c = user;
    return nb_import_header(c->import, header, &c->why);
}

static int flush_words(struct copying *c)
{
    struct words *w = &c->words;
    size_t start = 0;
    for (size_t i = 0; w->has_texts && i < w->count; start = w->ends[i++])
        w->strings[i] = (struct nb_string){w->texts.bytes + start, w->ends[i] - start};
    struct nb_dump_words words = {w->first_row, w->count, w->ids, w->has_texts ? w->strings : NULL};
    w->first_row += (uint32_t)w->count;
    int rc = w->count > 0 ? nb_import_words(c->import, &words, &c->why) : 0;
    w->count = w->texts.length = 0;
    return rc;
}

static int put_words(void *user, const struct nb_dump_words *words)
{
    struct copying *c = user;
    struct words *w = &c->words;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < words->count; i++) {
        bool has_texts = words->texts != NULL;
        if (w->count == WORDS_AT_ONCE || (w->count > 0 && w->has_texts != has_texts))
            rc = flush_words(c);
        w->has_texts = has_texts;
        if (rc == 0 && has_texts)
            rc = nb_buffer_append(&w->texts, words->texts[i].bytes, words->texts[i].length);
        w->ids[w->count] = words->ids[i];
        w->ends[w->count++] = w->texts.length;
    }
    return rc == NB_NO_MEMORY ? nb_error_no_memory(&c->why) : rc;
}

static int put_document(void *user, const struct nb_dump_document *document)
{
    struct copying *c = user;
    int rc = c->words.count > 0 ? flush_words(c) : 0;
    return rc != 0 ? rc : nb_import_document(c->import, document, &c->why);
}

static int put_end(void *user, const struct nb_dump_totals *totals)
{
    struct copying *c = user;
    c->totals = *totals;
    c->has_totals = true;
    return c->words.count > 0 ? flush_words(c) : 0;
}

static int say_why(const struct copying *c, int rc, struct nb_error *error)
{
    return rc == 0 || c->why.code == 0 ? rc : nb_error_set(error, c->why.code, "%s", c->why.text);
}

static int copy_records(struct nb_export *export, struct copying *c, const struct nb_copy *copy,
                        struct nb_error *error)
{
    const struct nb_dump_sink sink = {put_header, put_words, put_document, put_end, c};
    bool is_end = false;
    int rc = 0;
    while (rc == 0 && !is_end) {
        if (copy->stop != NULL && copy->stop(copy->user))
            return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
        rc = nb_export_next(export, &sink, &is_end, error);
    }
    return say_why(c, rc, error);
}

/* Makes the copy by an import. `asked`: all nodes make it, like this one; NULL: only this node
 * does. */
static int import_all(struct nb_engine *engine, const struct nb_copy *copy,
                      const struct nb_relayed_change *asked, struct nb_export *export,
                      struct nb_error *error)
{
    struct copying *c = calloc(1, sizeof *c);
    bool created;
    uint64_t dropped;
    if (c == NULL)
        return nb_error_no_memory(error);
    int rc = asked != NULL
                 ? nb_import_start(engine, copy->to, copy->source, asked, &c->import, error)
                 : nb_import_begin(engine, copy->to, copy->source, &c->import, error);
    if (rc == 0)
        rc = copy_records(export, c, copy, error);
    if (rc == 0) {
        nb_import_only_new(c->import);
        rc = nb_import_commit(&c->import, &c->totals, &created, &dropped, error);
    } else {
        nb_import_abort(&c->import);
    }
    nb_buffer_deinit(&c->words.texts);
    free(c);
    return rc;
}

/* Sets *again where another try may succeed. */
static int try_copy(struct nb_engine *engine, const struct nb_copy *copy,
                    const struct nb_relayed_change *asked, bool *again, struct nb_error *error)
{
    struct nb_export *export;
    *again = false;
    int rc = nb_export_begin(engine, copy->from, copy->seconds, &export, error);
    if (rc != 0)
        return rc;
    rc = import_all(engine, copy, asked, export, error);
    *again = rc != 0 && nb_export_is_lost(export);
    nb_export_end(&export);
    return rc;
}

static int copy_here(struct nb_engine *engine, const struct nb_copy *copy,
                     const struct nb_relayed_change *asked, struct nb_error *error)
{
    bool again = true;
    int rc = 0;
    for (int times = 0; (times == 0 || rc != 0) && again && times < TIMES_MOST; times++)
        rc = try_copy(engine, copy, asked, &again, error);
    return rc;
}

/* ---- nodes that share their changes ---------------------------------------------------------- */

enum { SECONDS_MOST = 3600 };

/* Passes words on with the grouping and row numbers of the dump. */
static int put_run(void *user, const struct nb_dump_words *words)
{
    struct copying *c = user;
    return nb_import_words(c->import, words, &c->why);
}

static int read_parts(struct nb_engine *engine, struct copying *c,
                      const struct nb_relayed_change *asked, struct nb_error *error)
{
    const struct nb_dump_sink sink = {put_header, put_run, put_document, put_end, c};
    struct nb_dump_reading reading = {.rest = {NULL, 0, 0}};
    struct nb_buffer bytes = {0};
    uint64_t at = 0;
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < asked->last; i++) {
        rc = nb_import_parts_read(engine, asked->from, &at, &bytes, error);
        if (rc == 0)
            rc = nb_dump_read(&reading, nb_buffer_string(&bytes), &sink, error);
    }
    if (rc == 0 && reading.rest.length > 0)
        rc = nb_error_set(error, NB_INVALID, "the last part of the import ends within a record");
    nb_dump_reading_deinit(&reading);
    nb_buffer_deinit(&bytes);
    return say_why(c, rc, error);
}

static int import_parts(struct nb_engine *engine, const struct nb_relayed_change *asked,
                        struct nb_relayed_change_done *done, struct nb_error *error)
{
    struct copying *c = calloc(1, sizeof *c);
    if (c == NULL)
        return nb_error_no_memory(error);
    int rc = asked->last == 0
                 ? nb_error_set(error, NB_CONFLICT, "the import was given up: begin it again")
                 : nb_import_start(engine, asked->model, asked->source, asked, &c->import, error);
    if (rc == 0)
        rc = read_parts(engine, c, asked, error);
    if (rc == 0 && asked->only_new)
        nb_import_only_new(c->import);
    if (rc == 0)
        rc = nb_import_commit(&c->import, c->has_totals ? &c->totals : NULL, &done->created,
                              &done->dropped, error);
    else
        nb_import_abort(&c->import);
    free(c);
    return rc;
}

int nb_import_shared(struct nb_engine *engine, const struct nb_relayed_change *asked,
                     struct nb_relayed_change_done *done, struct nb_error *error)
{
    const struct nb_copy copy = {
        .from = asked->to, .to = asked->model, .source = asked->source, .seconds = SECONDS_MOST};
    int rc = copy.from.length > 0 ? copy_here(engine, &copy, asked, error)
                                  : import_parts(engine, asked, done, error);
    int dropped =
        rc == 0 || nb_error_is_passing(rc) ? 0 : nb_import_parts_write(engine, *asked, NULL);
    return dropped != 0 ? dropped : rc;
}

/* Requests that all nodes make the copy, each from its state at that place in the stream. */
static int ask_for_copy(struct nb_engine *engine, const struct nb_copy *copy,
                        struct nb_error *error)
{
    struct nb_sending sending;
    struct nb_relayed_change_done done;
    unsigned from = nb_relay_stream(copy->from, engine->settings.streams);
    unsigned to = nb_relay_stream(copy->to, engine->settings.streams);
    if (from != to)
        return nb_error_set(error, NB_CONFLICT,
                            "'%.*s' is in stream %u and '%.*s' would be in stream "
                            "%u, as their names decide: a copy must be in the same one, so take "
                            "another name, or export the model and import it",
                            (int)copy->from.length, copy->from.bytes, from, (int)copy->to.length,
                            copy->to.bytes, to);
    nb_sending_init(&sending, engine, copy->to, copy->source);
    return nb_sending_end(&sending, NULL, copy->from, true, &done, error);
}

static int check_new(struct nb_engine *engine, struct nb_string name, struct nb_error *error)
{
    struct nb_model_info existing;
    int rc = nb_check_model_name(name, error);
    if (rc != 0 || nb_engine_model(engine, name, &existing, NULL) != 0)
        return rc;
    nb_model_info_deinit(&existing);
    return nb_error_set(error, NB_CONFLICT, "the model '%.*s' exists", (int)name.length,
                        name.bytes);
}

int nb_model_copy(struct nb_engine *engine, const struct nb_copy *copy, struct nb_error *error)
{
    int rc = check_new(engine, copy->to, error);
    if (rc != 0)
        return rc;
    return nb_relay_is_wanted(engine) ? ask_for_copy(engine, copy, error)
                                      : copy_here(engine, copy, NULL, error);
}

/* ---- a prior of less strength ---------------------------------------------------------------- */

/* The settings of a model with a parent; the caller deinits them after success. */
static int settings_below(struct nb_engine *engine, struct nb_string model, const char *parent,
                          uint64_t strength, struct nb_settings *settings, struct nb_error *error)
{
    struct nb_model_info info;
    int rc = nb_engine_model(engine, model, &info, error);
    if (rc != 0)
        return rc;
    if (info.is_damaged)
        rc = nb_error_set(error, NB_DAMAGED, "the model '%s' is damaged (%s)", info.name,
                          info.damage);
    else if (nb_settings_copy(settings, &info.settings) != 0)
        rc = nb_error_no_memory(error);
    nb_model_info_deinit(&info);
    if (rc != 0)
        return rc;
    free(settings->parent);
    settings->parent = strdup(parent);
    settings->parent_strength = strength;
    nb_calibration_free(&settings->fitted);
    rc = settings->parent == NULL ? nb_error_no_memory(error) : nb_settings_check(settings, error);
    if (rc != 0)
        nb_settings_deinit(settings);
    return rc;
}

/* Makes the child of the existing copy. */
static int put_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                     uint64_t strength, struct nb_error *error)
{
    struct nb_settings settings;
    bool created;
    int rc = settings_below(engine, nb_string_of(prior), prior, strength, &settings, error);
    if (rc != 0)
        return rc;
    rc = nb_engine_put_model(engine, copy->to, &settings, true, copy->source, &created, error);
    nb_settings_deinit(&settings);
    return rc;
}

/* Checks before the copy, as far as possible, what would be refused after it. */
static int check_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                       uint64_t strength, struct nb_error *error)
{
    struct nb_settings settings;
    int rc = settings_below(engine, copy->from, prior, strength, &settings, error);
    if (rc == 0)
        nb_settings_deinit(&settings);
    return rc;
}

/* Extends an error about the parent or the model named `prior`, which the caller did not request,
 * by the reason for which they exist. */
static void name_prior(const struct nb_copy *copy, const char *prior, struct nb_error *error)
{
    if (error == NULL || (error->code != NB_UNUSABLE && strstr(error->text, prior) == NULL))
        return;
    const struct nb_error why = *error;
    (void)nb_error_set(error, why.code,
                       "%s; with `strength` a copy of '%.*s', named '%s', becomes the parent of "
                       "the new model",
                       why.text, (int)copy->from.length, copy->from.bytes, prior);
}

static int copy_below(struct nb_engine *engine, const struct nb_copy *copy, const char *prior,
                      uint64_t strength, struct nb_error *error)
{
    struct nb_copy frozen = *copy;
    frozen.to = nb_string_of(prior);
    int rc = check_below(engine, copy, prior, strength, error);
    if (rc == 0)
        rc = nb_model_copy(engine, &frozen, error);
    if (rc != 0)
        return rc;
    rc = put_below(engine, copy, prior, strength, error);
    if (rc != 0) /* if deleting fails, the prior stays as a model that users can see */
        (void)nb_engine_delete_model(engine, frozen.to, copy->source, NULL);
    return rc;
}

int nb_model_copy_prior(struct nb_engine *engine, const struct nb_copy *copy, uint64_t strength,
                        struct nb_error *error)
{
    struct nb_buffer prior = {0};
    int rc = check_new(engine, copy->to, error);
    if (rc != 0)
        return rc;
    if (nb_buffer_printf(&prior, "%.*s%s", (int)copy->to.length, copy->to.bytes, NB_PRIOR_SUFFIX) !=
        0)
        return nb_error_no_memory(error);
    rc = copy_below(engine, copy, prior.bytes, strength, error);
    if (rc != 0)
        name_prior(copy, prior.bytes, error);
    nb_buffer_deinit(&prior);
    return rc;
}
