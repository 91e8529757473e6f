/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sysexits.h>

#include "server/client/commands.h"
#include "server/client/corpus.h"

enum {
    COMPLAINTS_MOST = 20, /* said in full; the summary counts the others */
    MIXING_SEED = 1
};

static void complain(uint64_t before, const char *name, const char *reason)
{
    if (before < COMPLAINTS_MOST)
        nb_client_warn("%s: %s", name, reason);
    else if (before == COMPLAINTS_MOST)
        nb_client_warn("and more, which are only counted");
}

static void skip_file(void *user, const char *name, const char *reason)
{
    struct nb_run *run = user;
    complain(run->unread++, name, reason);
}

static int add_item(void *user, const struct nb_item *item, struct nb_error *error)
{
    struct nb_run *run = user;
    if (run->with_label && item->label.length == 0)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "%s has no label: use --label, LABEL=PATH or --by-folder", item->name);
    return nb_pipeline_add(run->pipeline, item, error);
}

static int take_outcome(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct nb_run *run = user;
    nb_progress_add(&run->progress, outcome->bytes);
    if (outcome->refusal != NULL && outcome->code != NB_NOT_FOUND) {
        complain(run->refused++, outcome->name, outcome->refusal);
        return 0;
    }
    run->documents += outcome->refusal == NULL;
    return run->take(run->user, outcome, error);
}

/* Reads everything, then sends it in an order in which the labels are mixed. */
static int send_mixed(struct nb_run *run, char *const *paths, size_t count, struct nb_error *error)
{
    struct nb_corpus corpus = {.skip = skip_file, .user = run};
    struct nb_item item;
    int rc = nb_corpus_read(&corpus, run->source, paths, count, error);
    nb_corpus_shuffle(&corpus, MIXING_SEED);
    run->progress.total = corpus.bytes;
    for (size_t i = 0; i < corpus.count && rc == 0; i++) {
        rc = nb_corpus_get(&corpus, i, &item, error);
        if (rc == 0)
            rc = nb_pipeline_add(run->pipeline, &item, error);
    }
    nb_corpus_deinit(&corpus);
    return rc;
}

int nb_run_documents(struct nb_run *run, char *const *paths, size_t count, struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_call_path(&path, run->client->model, run->operation);
    if (rc != 0)
        return nb_error_no_memory(error);
    const struct nb_pipeline_settings settings = {
        .client = run->client,
        .path = path.bytes,
        .connections = run->connections,
        .with_label = run->with_label,
        .take = take_outcome,
        .user = run,
    };
    const struct nb_source source = {run->source, add_item, skip_file, run};
    rc = nb_pipeline_open(&settings, &run->pipeline, error);
    nb_progress_start(&run->progress, run->verb,
                      run->is_quiet || run->is_mixed ? 0
                                                     : nb_source_bytes(run->source, paths, count));
    run->progress.is_shown = run->progress.is_shown && !run->is_quiet;
    if (rc == 0 && run->is_mixed)
        rc = send_mixed(run, paths, count, error);
    else if (rc == 0)
        rc = nb_source_read(&source, paths, count, error);
    if (rc == 0)
        rc = nb_pipeline_finish(run->pipeline, error);
    nb_progress_end(&run->progress);
    nb_pipeline_close(&run->pipeline);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_run_status(const struct nb_run *run)
{
    return run->unread + run->refused > 0 ? EX_DATAERR : 0;
}

int nb_print_json(const json_t *value, struct nb_error *error)
{
    int rc = json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
    if (rc != 0 || putchar('\n') == EOF)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return 0;
}

int nb_get(const struct nb_client *client, const char *rest, json_t **value, struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_call_path(&path, client->model, rest);
    const struct nb_request_of_client request = {.method = "GET", .path = path.bytes};
    rc = rc == 0 ? nb_call_once(client, &request, value, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}
