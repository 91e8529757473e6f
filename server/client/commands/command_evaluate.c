/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc evaluate: measures how good verdicts are. Without a PATH it measures the verdicts that the
 * daemon has given so far. With a PATH it measures verdicts on labelled documents: those of an
 * existing model (--model), or of a new model that is deleted afterwards.
 */
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/names.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/evaluate/evaluation_report.h"
#include "server/client/evaluate/labelled_corpus.h"
#include "server/client/evaluate/trial.h"

/* ---- output ---------------------------------------------------------------------------------- */

static int draw(const struct nb_report *report, const struct nb_command_options *options,
                struct nb_error *error)
{
    int rc = options->roc != NULL ? nb_plot_roc(report, options->roc, error) : 0;
    if (rc == 0 && options->reliability != NULL)
        rc = nb_plot_reliability(report, options->reliability, error);
    return rc;
}

/* ---- verdicts given so far ------------------------------------------------------------------- */

static void fill_report(const json_t *reply, struct nb_report *report,
                        char names[NB_REPORT_MOST][48])
{
    size_t i;
    json_t *window;
    report->positive = json_string_value(json_object_get(reply, "positive"));
    report->positive = report->positive != NULL ? report->positive : "?";
    json_array_foreach(json_object_get(reply, "windows"), i, window)
    {
        const json_t *size = json_object_get(window, "window");
        if (i == NB_REPORT_MOST)
            break;
        if (json_is_integer(size))
            (void)snprintf(names[i], sizeof names[i], "last %.27s",
                           nb_figure_of((uint64_t)json_integer_value(size)).text);
        else
            (void)snprintf(names[i], sizeof names[i], "all");
        report->names[i] = names[i];
        report->figures[i] = window;
        report->count = i + 1;
    }
}

static int show_own(const struct nb_asked *asked, struct nb_error *error)
{
    static const struct nb_exchange EVALUATION = {
        .method = "GET", .path = "/v1/models/{model}/evaluation", .query = {"positive"}};
    struct nb_report report = {.is_named = asked->options->positive != NULL};
    char names[NB_REPORT_MOST][48];
    json_t *reply = NULL;
    int rc = nb_exchange_ask(&EVALUATION, asked, &reply, error);
    if (rc == 0) {
        fill_report(reply, &report, names);
        rc = draw(&report, asked->options, error);
    }
    if (rc == 0 && asked->client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        nb_report_print(&report, stdout);
    json_decref(reply);
    return rc;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int add_set_settings(const struct nb_command_options *options, json_t *settings,
                            struct nb_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < options->settings.count && rc == 0; i++)
        rc = nb_settings_put_all(settings, options->settings.items[i], error);
    return rc;
}

/* Adds the settings of --set, then those of the variant (or NULL). For a corpus of mails the preset
 * for mails comes first. */
static int settings_of(const struct nb_command_options *options,
                       const struct nb_labelled_corpus *corpus, const char *variant,
                       json_t *settings, struct nb_error *error)
{
    (void)json_object_set_new(settings, "preset",
                              json_string(corpus->entries[0].is_mail ? "mail" : "text"));
    int rc = add_set_settings(options, settings, error);
    return rc == 0 && variant != NULL ? nb_settings_put_all(settings, variant, error) : rc;
}

/* ---- verdicts on documents ------------------------------------------------------------------- */

/* Returns whether the model named by --model is measured. With --variant that model is not
 * measured: it gets the settings of the winner. */
static bool is_of_model(const struct nb_asked *asked)
{
    return asked->client->names_model && asked->options->variants.count == 0;
}

/* Refuses options for a new model if an existing model is measured, and more than one way to train
 * a new one. */
static int check(const struct nb_asked *asked, struct nb_error *error)
{
    static const char *const OF_NEW[] = {"online", "split",    "folds", "parts",
                                         "set",    "in-order", "seed"};
    enum { WAYS = 4 /* the first of them */ };
    const struct nb_command_options *options = asked->options;
    int ways = 0;
    for (size_t i = 0; i < sizeof OF_NEW / sizeof OF_NEW[0]; i++) {
        bool is_given = nb_flag_is_given(asked, OF_NEW[i]);
        ways += is_given && i < WAYS;
        if (is_given && is_of_model(asked))
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "--model measures the model that there is, --%s tells how a new "
                                "one is trained: leave one of them out",
                                OF_NEW[i]);
    }
    if (ways > 1)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "only one of --online, --split, --folds and --parts may be given");
    if (options->variants.count > NB_REPORT_MOST)
        return nb_error_set(error, NB_CLIENT_USAGE, "--variant is given more than %d times",
                            NB_REPORT_MOST);
    return 0;
}

static int find_positive(const struct nb_labelled_corpus *corpus, const char *wanted,
                         size_t *positive, struct nb_error *error)
{
    const char *name = wanted != NULL ? wanted : "spam";
    for (size_t i = 0; i < corpus->label_count; i++) {
        if (strcmp(corpus->labels[i], name) != 0)
            continue;
        *positive = i;
        return 0;
    }
    struct nb_level_hint hint = {0};
    for (size_t i = 0; i < corpus->label_count; i++)
        nb_level_hint_add(&hint, nb_string_of(name), nb_string_of(corpus->labels[i]));
    *positive = corpus->label_count - 1;
    return wanted == NULL
               ? 0
               : nb_error_set(error, NB_CLIENT_USAGE,
                              "--positive: no document has the label '%s'%s", wanted, hint.text);
}

static int run_variant(struct nb_trial *trial, const struct nb_command_options *options,
                       const char *variant, json_t **figures, struct nb_error *error)
{
    json_t *settings = json_object();
    int rc = settings_of(options, trial->corpus, variant, settings, error);
    trial->settings = settings;
    if (rc == 0)
        rc = nb_trial_run(trial, figures, error);
    json_decref(settings);
    return rc;
}

static int print_report(const struct nb_client *client, const struct nb_command_options *options,
                        const struct nb_report *report, struct nb_error *error)
{
    if (!client->json) {
        nb_report_print(report, stdout);
        return nb_winner_print(client, report, &options->settings, error);
    }
    size_t best = nb_winner_find(report);
    json_t *object = json_pack("{s:s, s:[]}", "positive", report->positive, "windows");
    for (size_t i = 0; i < report->count; i++) {
        json_t *figures = json_copy(report->figures[i]);
        (void)json_object_set_new(figures, "variant", json_string(report->names[i]));
        (void)json_array_append_new(json_object_get(object, "windows"), figures);
    }
    if (best < report->count)
        (void)json_object_set_new(object, "best", json_string(report->names[best]));
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static int run_variants(struct nb_trial *trial, const struct nb_command_options *options,
                        struct nb_error *error)
{
    const char *way = trial->is_of_model                          ? trial->client->model
                      : options->folds > 0                        ? "cross-validation"
                      : options->split > 0 || options->is_by_part ? "train and test"
                                                                  : "online";
    struct nb_report report = {.positive = trial->corpus->labels[trial->positive],
                               .is_named = options->positive != NULL};
    size_t count = options->variants.count > 0 ? options->variants.count : 1;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *variant = options->variants.count > 0 ? options->variants.items[i] : NULL;
        rc = run_variant(trial, options, variant, &report.figures[i], error);
        report.names[i] = variant != NULL && *variant != '\0' ? variant : way;
        report.count = i + 1;
    }
    if (rc == 0)
        rc = draw(&report, options, error);
    if (rc == 0)
        rc = print_report(trial->client, options, &report, error);
    for (size_t i = 0; i < report.count; i++)
        json_decref(report.figures[i]);
    return rc;
}

static int judge_documents(const struct nb_asked *asked, struct nb_labelled_corpus *corpus,
                           struct nb_error *error)
{
    const struct nb_command_options *options = asked->options;
    struct nb_trial trial = {
        .client = asked->client,
        .corpus = corpus,
        .is_by_part = options->is_by_part,
        .split = options->split,
        .folds = (size_t)options->folds,
        .title = "judged",
    };
    trial.is_of_model = is_of_model(asked);
    trial.is_online = !trial.is_by_part && !(trial.split > 0) && trial.folds == 0;
    if (corpus->count < (trial.is_of_model ? 1 : 2) || corpus->label_count < 2)
        return nb_error_set(error, NB_INVALID,
                            "there are %zu documents of %zu labels: two are "
                            "needed of each",
                            corpus->count, corpus->label_count);
    int rc = find_positive(corpus, options->positive, &trial.positive, error);
    if (rc != 0)
        return rc;
    if (!options->is_in_order)
        nb_labelled_corpus_shuffle(corpus, options->seed);
    nb_interrupt_catch(false); /* the model of the trial is deleted in any case */
    return run_variants(&trial, options, error);
}

/* Reads the documents. The new model has the fields that --set gives. */
static int read_documents(struct nb_labelled_corpus *corpus, const struct nb_asked *asked,
                          struct nb_error *error)
{
    struct nb_files_options files = asked->options->files;
    json_t *settings = json_object();
    int rc = add_set_settings(asked->options, settings, error);
    files.fields = json_object_get(settings, "fields");
    if (rc == 0)
        rc = nb_labelled_corpus_read(corpus, &files, asked->arguments, asked->count, error);
    json_decref(settings);
    return rc;
}

/* Adds the labels of the model: a verdict may have any of them, even if no document does. A label
 * that the model has not learned can only be missed. */
static int add_labels(struct nb_labelled_corpus *corpus, const json_t *model,
                      struct nb_error *error)
{
    json_t *labels = json_object_get(model, "labels"), *row;
    const char *name;
    int rc = 0;
    json_object_foreach(labels, name, row)
    {
        if (rc == 0)
            rc = nb_corpus_add_label(corpus, nb_string_of(name), error);
    }
    return rc;
}

static void tell_unknown(const struct nb_labelled_corpus *corpus, const char *name,
                         const json_t *model)
{
    const json_t *labels = json_object_get(model, "labels");
    for (size_t i = 0; i < corpus->label_count; i++)
        if (json_object_get(labels, corpus->labels[i]) == NULL)
            nb_message("the model '%s' has no label '%s': its documents count as wrong",
                       nb_shown(name).text, nb_shown(corpus->labels[i]).text);
}

/* Reads the documents for an existing model, which defines the fields. */
static int read_for_model(struct nb_labelled_corpus *corpus, const struct nb_asked *asked,
                          struct nb_error *error)
{
    struct nb_files_options files = asked->options->files;
    json_t *model = NULL;
    int rc = nb_model_get(asked->client, &model, error);
    files.fields = json_object_get(json_object_get(model, "settings"), "fields");
    if (rc == 0)
        rc = add_labels(corpus, model, error);
    if (rc == 0)
        rc = nb_labelled_corpus_read(corpus, &files, asked->arguments, asked->count, error);
    if (rc == 0)
        tell_unknown(corpus, asked->client->model, model);
    json_decref(model);
    return rc;
}

static int run_evaluate(struct nb_asked *asked, struct nb_error *error)
{
    if (asked->count == 0)
        return show_own(asked, error);
    int rc = check(asked, error);
    if (rc != 0)
        return rc;
    struct nb_labelled_corpus corpus = {0};
    rc = (is_of_model(asked) ? read_for_model : read_documents)(&corpus, asked, error);
    if (rc == 0)
        rc = judge_documents(asked, &corpus, error);
    uint64_t unread = corpus.unread;
    nb_labelled_corpus_deinit(&corpus);
    return rc == 0 && unread > 0 ? EX_DATAERR : rc;
}

/* A name of a model without a dot, so that a mistyped file is not taken for a model. */
static bool is_model_alone(const char *word)
{
    return strpbrk(word, "/=.") == NULL && strcmp(word, "-") != 0 && access(word, F_OK) != 0;
}

static const struct nb_flag FLAGS[] = {
    NB_SWITCH("online", 0, is_online),
    NB_NUMBER("split", 0, split, 0, 0.01, 0.99),
    NB_COUNT("folds", 0, folds, 0, 2, 100),
    NB_SWITCH("parts", 0, is_by_part),
    NB_SWITCH("in-order", 0, is_in_order),
    NB_COUNT("seed", 0, seed, 1, 0, 9007199254740992.0),
    NB_LIST("set", 0, settings),
    NB_LIST("variant", 0, variants),
    NB_TEXT("positive", 0, positive),
    NB_TEXT("roc", 0, roc),
    NB_TEXT("reliability", 0, reliability),
    NB_FILES_LABEL_FLAGS,
    NB_FILES_FLAGS,
};

const struct nb_command NB_COMMAND_EVALUATE = {
    .name = "evaluate",
    NB_FLAGS(FLAGS),
    .most = SIZE_MAX,
    .model_from = SIZE_MAX,
    .is_model = is_model_alone,
    .patience = 60,
    .run = run_evaluate,
};
