/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/label_set.h"
#include "core/base/names.h"
#include "server/base/json_values.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/evaluate/labelled_corpus.h"
#include "server/client/files/mapping.h"

/* A guard against mistyped labels: the model keeps a mistyped label, and the right label lacks its
 * documents. Main thread. */
enum { NEW_LABEL_DOCUMENTS = 100 /* a model of this size refuses labels similar to its own */ };

/* Gets the labels of the model. A model that does not exist yet has none. */
static int get_labels(struct nb_new_label *check, const struct nb_client *client,
                      struct nb_error *error)
{
    json_t *row = NULL;
    int rc = nb_model_get(client, &row, error);
    check->documents = nb_answer_number(row, "documents");
    check->known = rc == 0 && json_is_object(json_object_get(row, "labels"))
                       ? json_incref(json_object_get(row, "labels"))
                       : json_object();
    check->good = json_object();
    json_decref(row);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

/* Returns whether the model has documents of the label. A label is still listed after its documents
 * were all forgotten or moved to the right label; a second typing error must not pass for a known
 * label. */
static bool is_in_use(const struct nb_new_label *check, struct nb_string label)
{
    const json_t *counts = json_object_getn(check->known, label.bytes, label.length);
    return nb_answer_number(counts, "documents") > 0;
}

/* Returns a label that has documents and a similar name; NULL: there is none. */
static const char *nearest(json_t *known, struct nb_string label, bool *looks_same)
{
    const char *name;
    json_t *counts;
    json_object_foreach(known, name, counts)
    {
        if (nb_answer_number(counts, "documents") == 0)
            continue;
        enum nb_label_difference difference = nb_label_difference_of(label, nb_string_of(name));
        *looks_same = difference > NB_LABEL_NEAR;
        if (difference != NB_LABEL_OTHER)
            return name;
    }
    return NULL;
}

static int judge(const struct nb_new_label *check, struct nb_string label, const char *old,
                 bool looks_same, const char *name, struct nb_error *error)
{
    struct nb_figure documents =
        nb_counted(nb_answer_number(json_object_get(check->known, old), "documents"), "document");
    if (nb_ask_is_possible() &&
        nb_ask("The label '%.*s' is new, and there is '%s' with %s. Is it meant?",
               (int)label.length, label.bytes, old, documents.text))
        return 0;
    if (!nb_ask_is_possible() && !looks_same && check->documents < NEW_LABEL_DOCUMENTS)
        return 0;
    return nb_error_set(error, NB_INVALID,
                        "%s: the label '%.*s' is new, and there is '%s' with %s%s: correct "
                        "it, or use --new-label if it is meant",
                        name, (int)label.length, label.bytes, old, documents.text,
                        looks_same ? ", which differs in case or in characters that are not seen"
                                   : "");
}

/* Checks a label that is to be learned. The first call asks the daemon for the labels of the
 * client's model. When the model has no documents of the label, but has a label that is nearly the
 * same (core/base/label.h), the function asks the person at the terminal. Without a terminal it
 * refuses the label if the model has NEW_LABEL_DOCUMENTS, or if the two labels look the same
 * (core/base/label.h). `name` tells where the label comes from, for the message. Returns 0,
 * NB_INVALID, or a code of nb_call_make. */
static int check_label(struct nb_new_label *check, const struct nb_client *client,
                       struct nb_string label, const char *name, struct nb_error *error)
{
    int rc = check->known != NULL ? 0 : get_labels(check, client, error);
    if (rc != 0 || is_in_use(check, label) ||
        json_object_getn(check->good, label.bytes, label.length) != NULL)
        return rc;
    bool looks_same = false;
    const char *old = nearest(check->known, label, &looks_same);
    rc = old == NULL ? 0 : judge(check, label, old, looks_same, name, error);
    if (rc == 0) /* for a label that is not UTF-8 this fails, and the daemon refuses the label */
        (void)json_object_setn_new(check->good, label.bytes, label.length, json_true());
    return rc;
}

static void deinit_labels(struct nb_new_label *check)
{
    json_decref(check->known);
    json_decref(check->good);
    *check = (struct nb_new_label){0};
}

enum { MIXING_SEED = 1 };

static const char UNLABELLED_HINT[] = "; --unlabelled stores documents whose label is not known";

/* Counts and prints what is said about a file, unless there is too much of it: a folder may have
 * thousands of files with the same fault. */
static void tell(void *user, enum nb_file_news news, const char *name, const char *what)
{
    static const uint64_t MOST[] = {20, 20, 5};
    struct nb_run *run = user;
    uint64_t before = run->news[news]++;
    if (before < MOST[news])
        nb_message("%s: %s", name, what);
    else if (before == MOST[news])
        nb_message("there are more%s", news == NB_FILE_REMARK
                                           ? " such remarks, which are not printed"
                                           : ", which are only counted");
}

static int give_head(void *user, struct nb_string row, struct nb_error *error)
{
    const struct nb_run *run = user;
    return run->head != NULL ? run->head(run->user, row, error) : 0;
}

static bool is_guarded(const struct nb_run *run)
{
    return run->with_label && !run->asked->options->is_new_label;
}

/* Makes a set of the labels of a document, which stand in its label with separators between them,
 * and checks each. */
static int split_labels(struct nb_run *run, struct nb_item *item, struct nb_error *error)
{
    struct nb_string rest, label;
    int rc = nb_text_read_labels(item->label, run->separator, &run->label_set, error);
    item->label = rest = nb_buffer_string(&run->label_set);
    while (rc == 0 && is_guarded(run) && nb_label_set_next(&rest, &label))
        rc = check_label(&run->labels, run->asked->client, label, item->name, error);
    return rc;
}

static int add_labelled(struct nb_run *run, const struct nb_item *item, struct nb_error *error)
{
    struct nb_item own = *item;
    int rc = split_labels(run, &own, error);
    if (rc == NB_UNUSABLE && item->is_one_of_many) {
        tell(run, NB_FILE_REFUSED, item->name, error->text);
        return 0;
    }
    if (rc == 0)
        rc = nb_pipeline_add(run->pipeline, &own, error);
    return rc == 0 ? nb_interrupt_check(error) : rc;
}

static int add_item(void *user, const struct nb_item *item, struct nb_error *error)
{
    struct nb_run *run = user;
    const struct nb_command_options *options = run->asked->options;
    if (run->separator != '\0' && (item->label.length > 0 || item->is_one_of_many))
        return add_labelled(run, item, error);
    bool lacks_label = run->with_label && item->label.length == 0 && !options->is_unlabelled;
    if (lacks_label && item->is_one_of_many) {
        char reason[192];
        (void)snprintf(reason, sizeof reason, "has no label: give it one in its row%s",
                       UNLABELLED_HINT); /* the text fits */
        tell(run, NB_FILE_REFUSED, item->name, reason);
        return 0;
    }
    if (lacks_label)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "%s has no label: use --label, LABEL=PATH or --by-folder%s", item->name,
                            UNLABELLED_HINT);
    int rc = is_guarded(run) && item->label.length > 0
                 ? check_label(&run->labels, run->asked->client, item->label, item->name, error)
                 : 0;
    if (rc == 0)
        rc = nb_pipeline_add(run->pipeline, item, error);
    return rc == 0 ? nb_interrupt_check(error) : rc;
}

static int take_outcome(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct nb_run *run = user;
    nb_progress_add(&run->progress, outcome->bytes);
    run->merged += outcome->merged;
    if (outcome->refusal != NULL && outcome->code != NB_NOT_FOUND) {
        tell(run, NB_FILE_REFUSED, outcome->name, outcome->refusal);
        return run->asked->options->is_csv ? run->take(run->user, outcome, error) : 0;
    }
    run->documents += outcome->refusal == NULL;
    return run->take(run->user, outcome, error);
}

/* Catches interruptions, so that documents that were sent are still answered and counted. Until a
 * document is sent a signal ends the program as usual. */
static void catch_interrupts(const struct nb_run *run)
{
    if (run->is_counted && !run->reads_terminal)
        nb_interrupt_catch(true);
}

/* Checks each label once, at its first document. */
static int check_labels(struct nb_run *run, struct nb_labelled_corpus *corpus,
                        struct nb_error *error)
{
    bool *is_done = calloc(corpus->label_count + 1, sizeof *is_done);
    int rc = is_done == NULL ? nb_error_no_memory(error) : 0;
    for (size_t i = 0; rc == 0 && i < corpus->count; i++) {
        struct nb_item item;
        if (is_done[corpus->entries[i].label])
            continue;
        is_done[corpus->entries[i].label] = true;
        rc = nb_labelled_corpus_get(corpus, i, &item, error);
        if (rc == 0 && item.label.length > 0)
            rc = check_label(&run->labels, run->asked->client, item.label, item.name, error);
    }
    free(is_done);
    return rc;
}

/* Reads everything, then sends it in an order in which labels are mixed. */
static int send_mixed(struct nb_run *run, struct nb_error *error)
{
    struct nb_labelled_corpus corpus = {.tell = tell,
                                        .user = run,
                                        .takes_unlabelled = run->asked->options->is_unlabelled,
                                        .hint = UNLABELLED_HINT};
    struct nb_item item;
    int rc = nb_labelled_corpus_read(&corpus, &run->files, run->asked->arguments, run->asked->count,
                                     error);
    if (rc == 0 && is_guarded(run))
        rc = check_labels(run, &corpus, error);
    nb_labelled_corpus_shuffle(&corpus, MIXING_SEED);
    run->progress.total = corpus.bytes;
    run->total = corpus.count;
    catch_interrupts(run);
    for (size_t i = 0; i < corpus.count && rc == 0; i++) {
        rc = nb_labelled_corpus_get(&corpus, i, &item, error);
        if (rc == 0)
            rc = nb_pipeline_add(run->pipeline, &item, error);
        if (rc == 0)
            rc = nb_interrupt_check(error);
    }
    nb_labelled_corpus_deinit(&corpus);
    return rc;
}

static int send_documents(struct nb_run *run, struct nb_error *error)
{
    const struct nb_files files = {.options = &run->files,
                                   .take = add_item,
                                   .tell = tell,
                                   .head = give_head,
                                   .form = run->form,
                                   .user = run};
    if (!run->is_mixed)
        catch_interrupts(run);
    int rc = run->is_mixed ? send_mixed(run, error)
                           : nb_files_read(&files, run->asked->arguments, run->asked->count, error);
    struct nb_error ignored; /* the interruption is the error to report */
    if (rc == NB_STOPPING)
        (void)nb_pipeline_finish(run->pipeline, &ignored);
    return rc == 0 ? nb_pipeline_finish(run->pipeline, error) : rc;
}

/* Asks for the fields of the model if a table has fields: their kinds decide how its cells are
 * read. A model that does not exist has no fields. */
static int get_fields(const struct nb_run *run, json_t **fields, struct nb_error *error)
{
    json_t *model = NULL;
    if (!nb_mapping_has_fields(run->files.columns))
        return 0;
    int rc = nb_model_get(run->asked->client, &model, error);
    *fields = json_incref(json_object_get(json_object_get(model, "settings"), "fields"));
    json_decref(model);
    return rc == NB_NOT_FOUND ? 0 : rc;
}

static int run_pipeline(struct nb_run *run, struct nb_error *error)
{
    const struct nb_asked *asked = run->asked;
    const struct nb_command_options *options = asked->options;
    bool is_shown = run->verb != NULL && !options->is_quiet;
    struct nb_buffer path = {0};
    int rc = nb_exchange_path(run->exchange, asked, &path, error);
    const struct nb_pipeline_settings settings = {
        .client = asked->client,
        .path = path.bytes,
        .connections = options->connections > 0 ? (size_t)options->connections : 1,
        .with_label = run->with_label,
        .has_several = options->is_attached,
        .take = take_outcome,
        .user = run,
    };
    if (rc == 0)
        rc = nb_pipeline_open(&settings, &run->pipeline, error);
    if (rc == 0) {
        bool is_known = is_shown && !run->is_mixed; /* send_mixed counts what it has read */
        nb_progress_start(&run->progress, run->verb,
                          is_known ? nb_files_bytes(&run->files, asked->arguments, asked->count)
                                   : 0);
        run->progress.is_shown = run->progress.is_shown && is_shown;
        rc = send_documents(run, error);
        nb_progress_end(&run->progress);
    }
    nb_pipeline_close(&run->pipeline);
    deinit_labels(&run->labels);
    nb_buffer_deinit(&run->label_set);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_run_send(struct nb_run *run, struct nb_error *error)
{
    const struct nb_asked *asked = run->asked;
    json_t *fields = NULL;
    run->files = asked->options->files;
    run->files.keeps_rows = asked->options->is_csv;
    run->files.rows = run->verb != NULL ? &run->rows : NULL;
    run->files.row_source = asked->options->source;
    for (size_t i = 0; i < asked->count; i++)
        run->reads_terminal = run->reads_terminal || strcmp(asked->arguments[i], "-") == 0;
    run->reads_terminal = (run->reads_terminal || asked->count == 0) && isatty(STDIN_FILENO);
    if (run->reads_terminal)
        nb_message("no PATH is given: type or paste a document, and end it with Ctrl-D");
    int rc = get_fields(run, &fields, error);
    run->files.fields = fields;
    if (rc == 0)
        rc = run_pipeline(run, error);
    json_decref(fields);
    return rc;
}

int nb_run_status(const struct nb_run *run)
{
    return run->news[NB_FILE_UNREAD] + run->news[NB_FILE_REFUSED] > 0 ? EX_DATAERR : 0;
}
