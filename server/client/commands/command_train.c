/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc train. It may be interrupted and started again at any time: the daemon recognizes
 * documents by their content or id. A document that it has learned already is `unchanged` and costs
 * little.
 */
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/run.h"

/* Statuses of a receipt, and their names for people. Those from RARE on are only printed if they
 * occurred. */
enum { STATUSES = 8, RARE = 4 };
static const char *const STATUS_NAMES[STATUSES] = {"learned", "unchanged",      "relabelled",
                                                   "updated", "near_duplicate", "quarantined",
                                                   "stored",  "queued"};
static const char *const STATUS_WORDS[STATUSES] = {"learned",
                                                   "unchanged",
                                                   "relabelled",
                                                   "updated",
                                                   "near-duplicates not learned",
                                                   "wait for an administrator",
                                                   "stored without a label",
                                                   "wait for the database of the nodes"};

struct tally {
    uint64_t counts[STATUSES];
};

static int take_receipt(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct tally *tally = user;
    if (outcome->refusal != NULL) /* the model does not exist, and the daemon creates none */
        return nb_error_set(error, outcome->code, "%s", outcome->refusal);
    const char *status = json_string_value(json_object_get(outcome->result, "status"));
    for (size_t i = 0; i < STATUSES; i++)
        tally->counts[i] += status != NULL && strcmp(status, STATUS_NAMES[i]) == 0;
    return 0;
}

static int print_json(const struct nb_run *run, const struct tally *tally, struct nb_error *error)
{
    json_t *object = json_object();
    (void)json_object_set_new(object, "model", json_string(run->asked->client->model));
    for (size_t i = 0; i < STATUSES; i++)
        if (i < RARE || tally->counts[i] > 0)
            (void)json_object_set_new(object, STATUS_NAMES[i],
                                      json_integer((json_int_t)tally->counts[i]));
    if (run->merged > 0)
        (void)json_object_set_new(object, "merged", json_integer((json_int_t)run->merged));
    (void)json_object_set_new(object, "failed",
                              json_integer((json_int_t)run->news[NB_FILE_REFUSED]));
    (void)json_object_set_new(object, "unread",
                              json_integer((json_int_t)run->news[NB_FILE_UNREAD]));
    (void)json_object_set_new(object, "seconds", json_real(nb_progress_seconds(&run->progress)));
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static void print_count(uint64_t count, const char *name, bool always)
{
    if (count > 0 || always)
        (void)printf(", %s %s", nb_figure_of(count).text, name);
}

/* Asks the daemon for the counts: with several connections it is unknown which receipt is the
 * last. */
static void print_labels(const struct nb_client *client)
{
    struct nb_error error;
    json_t *row = NULL;
    const char *name, *separator = "the model now has: ";
    const json_t *counts;
    if (nb_model_get(client, &row, &error) != 0)
        return; /* the training has succeeded; only the summary is shorter */
    json_object_foreach(json_object_get(row, "labels"), name, counts)
    {
        json_int_t documents = json_integer_value(json_object_get(counts, "documents"));
        (void)printf("%s%s %s", separator, nb_figure_of((uint64_t)documents).text,
                     nb_shown(name).text);
        separator = ", ";
    }
    (void)putchar('\n');
    json_decref(row);
}

static void print_summary(const struct nb_run *run, const struct tally *tally)
{
    double seconds = nb_progress_seconds(&run->progress);
    (void)printf("%s: %s", nb_shown(run->asked->client->model).text,
                 nb_counted(run->documents, "document").text);
    for (size_t i = 0; i < STATUSES; i++)
        print_count(tally->counts[i], STATUS_WORDS[i], i < 2);
    print_count(run->merged, "texts without an id merged with the same text", false);
    print_count(run->news[NB_FILE_REFUSED], "refused", false);
    if (run->news[NB_FILE_UNREAD] > 0)
        (void)printf(", %s not read", nb_counted(run->news[NB_FILE_UNREAD], "file").text);
    (void)printf(
        "; %s, %s/s\n", nb_figure_of_seconds(seconds).text,
        nb_figure_of(seconds > 0 ? (uint64_t)((double)run->documents / seconds + 0.5) : 0).text);
    if (run->documents > 0)
        print_labels(run->asked->client);
}

static void tell_how_far(const struct nb_run *run)
{
    bool has_total = run->total > 0;
    nb_message("stopped after %s%s%s; run the same command again: it goes on from there, because "
               "what is learned already is not learned twice",
               has_total ? nb_figure_of(run->documents).text : "", has_total ? " of " : "",
               nb_counted(has_total ? run->total : run->documents, "document").text);
}

/* Returns whether the documents must be mixed. A stacked model learns from each document how far to
 * trust its evidence. When all spam comes before all ham, its idea of their frequencies ends up
 * wrong. Measured on the SpamAssassin corpus: 6.3 % of ham is taken for spam, but 0.5 % when the
 * labels are mixed. */
static bool needs_mixing(const struct nb_asked *asked)
{
    const struct nb_files_options *files = &asked->options->files;
    bool has_labels = files->label == NULL || files->by_folder || files->folders.count > 0;
    for (size_t i = 0; i < asked->count; i++)
        has_labels = has_labels || strchr(asked->arguments[i], '=') != NULL;
    return has_labels && !asked->options->is_in_order;
}

/* Sets what stands between the labels of a document, if the model's documents have several. */
static int find_separator(struct nb_asked *asked, char *separator, struct nb_error *error)
{
    const char *given = asked->options->separator;
    json_t *model = NULL;
    int rc = nb_model_get(asked->client, &model, error);
    const json_t *settings = json_object_get(model, "settings");
    bool are_several = strcmp(nb_answer_text(settings, "label_set"), "several") == 0;
    json_decref(model);
    if (rc != 0 && rc != NB_NOT_FOUND)
        return rc;
    if (given != NULL && (strlen(given) != 1 || strchr(";,|", *given) == NULL))
        return nb_error_set(error, NB_CLIENT_USAGE, "--separator is ';', ',' or '|'");
    if (given != NULL && !are_several)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--separator: the documents of the model '%s' have one label; say "
                            "'bayesc create %s' and 'bayesc set %s label_set=several' first",
                            asked->client->model, asked->client->model, asked->client->model);
    *separator = !are_several ? '\0' : given != NULL ? *given : ';';
    return 0;
}

static int run_train(struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange TRAINING = {.path = "/v1/models/{model}/train",
                                                .query = {"source"}};
    const struct nb_command_options *options = asked->options;
    struct tally tally = {0};
    struct nb_run run = {
        .asked = asked,
        .exchange = &TRAINING,
        .verb = "trained",
        .with_label = true,
        .is_mixed = needs_mixing(asked),
        .is_counted = true,
        .take = take_receipt,
        .user = &tally,
    };
    int rc = 0;
    asked->more[0].name = "attached";
    asked->more[0].value = options->is_attached ? "yes" : NULL;
    if (options->is_unlabelled && options->files.label != NULL)
        rc = nb_error_set(error, NB_CLIENT_USAGE, "--label and --unlabelled exclude each other");
    if (rc == 0)
        rc = nb_source_check(options->source, error);
    if (rc == 0)
        rc = find_separator(asked, &run.separator, error);
    run.is_mixed = run.is_mixed && run.separator == '\0'; /* a fit needs no order */
    if (rc == 0 && !options->is_new_label)
        rc = nb_exchange_check_model(asked->client, error);
    if (rc == 0)
        rc = nb_run_send(&run, error);
    if (rc != 0 && (run.documents > 0 || rc == NB_STOPPING))
        tell_how_far(&run);
    if (rc == 0 && asked->client->json)
        rc = print_json(&run, &tally, error);
    else if (rc == 0 && !options->is_quiet)
        print_summary(&run, &tally);
    return rc != 0 ? rc : nb_run_status(&run);
}

static const struct nb_flag FLAGS[] = {
    NB_FILES_LABEL_FLAGS,
    NB_FILES_FLAGS,
    NB_SOURCE_FLAG,
    NB_SWITCH("attached", 0, is_attached),
    NB_COUNT("connections", 'c', connections, 4, 1, NB_CONNECTIONS_MOST),
    NB_SWITCH("in-order", 0, is_in_order),
    NB_SWITCH("new-label", 0, is_new_label),
    NB_TEXT("separator", 0, separator),
    NB_SWITCH("unlabelled", 0, is_unlabelled),
    NB_QUIET_FLAG,
};

const struct nb_command NB_COMMAND_TRAIN = {
    .name = "train",
    NB_FLAGS(FLAGS),
    .most = SIZE_MAX,
    .patience = 300,
    .run = run_train,
};

/* bayesc untrain: removes documents from a model, given by their content or by their ids. */
struct untrain_tally {
    uint64_t forgotten, unknown;
    uint64_t waiting; /* changes that wait for an administrator */
};

static void count_receipt(struct untrain_tally *tally, const json_t *receipt)
{
    const char *status = json_string_value(json_object_get(receipt, "status"));
    bool waits = status != NULL && strcmp(status, "quarantined") == 0;
    tally->waiting += waits;
    tally->forgotten += !waits;
}

static int take_untrained(void *user, const struct nb_outcome *outcome, struct nb_error *error)
{
    struct untrain_tally *tally = user;
    (void)error;
    if (outcome->refusal == NULL)
        count_receipt(tally, outcome->result);
    tally->unknown += outcome->refusal != NULL;
    return 0;
}

static const struct nb_exchange UNTRAINING = {
    .method = "POST", .path = "/v1/models/{model}/untrain", .query = {"source"}};

static int untrain_ids(struct nb_asked *asked, struct untrain_tally *tally, struct nb_error *error)
{
    const struct nb_flag_list *ids = &asked->options->ids;
    int rc = nb_call_open(&asked->client->daemon, &asked->call, error);
    for (size_t i = 0; i < ids->count && rc == 0; i++) {
        json_t *reply = NULL;
        asked->body = json_pack("{s:s}", "id", ids->items[i]);
        rc = asked->body != NULL ? nb_exchange_ask(&UNTRAINING, asked, &reply, error)
                                 : nb_error_set(error, NB_CLIENT_USAGE, "--id: an id is UTF-8");
        if (rc == 0)
            count_receipt(tally, reply);
        if (rc == NB_NOT_FOUND) {
            nb_message("%s", error->text);
            tally->unknown++;
            rc = 0;
        }
        json_decref(reply);
        json_decref(asked->body);
    }
    nb_call_close(&asked->call);
    return rc;
}

static int print_result(const struct nb_run *run, const struct untrain_tally *tally,
                        struct nb_error *error)
{
    if (run->asked->client->json) {
        json_t *waiting = tally->waiting > 0 ? json_integer((json_int_t)tally->waiting) : NULL;
        json_t *object =
            json_pack("{s:s, s:I, s:I, s:I, s:I, s:o*}", "model", run->asked->client->model,
                      "forgotten", (json_int_t)tally->forgotten, "unknown",
                      (json_int_t)tally->unknown, "failed", (json_int_t)run->news[NB_FILE_REFUSED],
                      "unread", (json_int_t)run->news[NB_FILE_UNREAD], "quarantined", waiting);
        int rc = nb_answer_print(object, error);
        json_decref(object);
        return rc;
    }
    if (run->asked->options->is_quiet)
        return 0;
    (void)printf("%s: %s, %s forgotten, %s not known", nb_shown(run->asked->client->model).text,
                 nb_counted(tally->forgotten + tally->unknown + tally->waiting, "document").text,
                 nb_figure_of(tally->forgotten).text, nb_figure_of(tally->unknown).text);
    print_count(tally->waiting, "wait for an administrator", false);
    (void)putchar('\n');
    if (tally->forgotten > 0)
        print_labels(run->asked->client);
    return 0;
}

static int run_untrain(struct nb_asked *asked, struct nb_error *error)
{
    struct untrain_tally tally = {0};
    struct nb_run run = {
        .asked = asked,
        .exchange = &UNTRAINING,
        .verb = "removed",
        .take = take_untrained,
        .user = &tally,
    };
    int rc = untrain_ids(asked, &tally, error);
    if (rc == 0 && (asked->count > 0 || asked->options->ids.count == 0))
        rc = nb_run_send(&run, error);
    if (rc == 0)
        rc = print_result(&run, &tally, error);
    if (rc == 0)
        rc = nb_run_status(&run);
    return rc == 0 && tally.unknown > 0 ? EX_NOINPUT : rc;
}

static const struct nb_flag UNTRAIN_FLAGS[] = {
    NB_ID_FLAG,     NB_SOURCE_FLAG,
    NB_FILES_FLAGS, NB_COUNT("connections", 'c', connections, 4, 1, NB_CONNECTIONS_MOST),
    NB_QUIET_FLAG,
};

const struct nb_command NB_COMMAND_UNTRAIN = {
    .name = "untrain",
    NB_FLAGS(UNTRAIN_FLAGS),
    .most = SIZE_MAX,
    .patience = 300,
    .run = run_untrain,
};
