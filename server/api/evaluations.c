/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/evaluations.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"

enum { THRESHOLDS = 64, MODELS_MOST = 100, NAME_BYTES = 129, TIMES_AS_LONG = 20 };

#define SECOND UINT64_C(1000000000)
#define AGE_MOST (30 * SECOND)
#define VISIT_MOST (SECOND / 5)

struct threshold_entry {
    char model[NAME_BYTES], positive[65]; /* as the request names them */
    uint32_t identity;                    /* of the model */
    double rate;
    enum nb_score_kind scores;
    struct nb_threshold found;
    uint64_t until, used; /* monotonic nanoseconds; 0: empty */
};

enum { FIGURE_COUNT = 7 };

struct model_entry {
    char name[NAME_BYTES];
    uint32_t identity; /* of the model: a new model with this name does not get the old figures */
    bool has_figures;
    uint64_t documents;
    double figures[FIGURE_COUNT]; /* in the order of FIGURES */
    uint64_t made;                /* monotonic nanoseconds; 0: never */
};

struct nb_evaluations {
    struct nb_engine *engine;
    pthread_mutex_t thresholds_lock; /* held only for look-ups, not during an evaluation */
    struct threshold_entry thresholds[THRESHOLDS];
    pthread_mutex_t models_lock; /* held for a whole scrape; never together with thresholds_lock */
    struct model_entry *models;  /* owned */
    size_t model_count;
};

struct nb_evaluations *nb_evaluations_new(struct nb_engine *engine)
{
    assert(engine != NULL);
    struct nb_evaluations *e = calloc(1, sizeof *e);
    if (e == NULL)
        return NULL;
    e->engine = engine;
    pthread_mutex_init(&e->thresholds_lock, NULL);
    pthread_mutex_init(&e->models_lock, NULL);
    return e;
}

void nb_evaluations_free(struct nb_evaluations **evaluations)
{
    struct nb_evaluations *e = *evaluations;
    if (e == NULL)
        return;
    pthread_mutex_destroy(&e->thresholds_lock);
    pthread_mutex_destroy(&e->models_lock);
    free(e->models);
    free(e);
    *evaluations = NULL;
}

/* ---- thresholds ------------------------------------------------------------------------------ */

static bool recall(struct nb_evaluations *e, struct nb_string model, struct nb_string positive,
                   const struct threshold_entry *asked, struct nb_threshold *found)
{
    bool is_found = false;
    pthread_mutex_lock(&e->thresholds_lock);
    for (size_t i = 0; !is_found && i < THRESHOLDS; i++) {
        struct threshold_entry *t = &e->thresholds[i];
        is_found = asked->used < t->until && t->identity == asked->identity &&
                   t->rate == asked->rate && t->scores == asked->scores &&
                   nb_string_equals(model, t->model) && nb_string_equals(positive, t->positive);
        if (is_found) {
            *found = t->found;
            t->used = asked->used;
        }
    }
    pthread_mutex_unlock(&e->thresholds_lock);
    return is_found;
}

/* Replaces the entry for the same question, else the least recently used one. */
static void keep(struct nb_evaluations *e, const struct threshold_entry *entry)
{
    pthread_mutex_lock(&e->thresholds_lock);
    struct threshold_entry *place = &e->thresholds[0];
    for (size_t i = 0; i < THRESHOLDS; i++) {
        struct threshold_entry *t = &e->thresholds[i];
        if (t->rate == entry->rate && t->scores == entry->scores &&
            strcmp(t->model, entry->model) == 0 && strcmp(t->positive, entry->positive) == 0) {
            place = t;
            break;
        }
        if (t->used < place->used)
            place = t;
    }
    *place = *entry;
    pthread_mutex_unlock(&e->thresholds_lock);
}

static int evaluate_threshold(struct nb_evaluations *e, struct nb_string model,
                              struct nb_string positive, double rate, enum nb_score_kind scores,
                              struct nb_threshold *found, struct nb_error *error)
{
    struct nb_evaluation_report report;
    int rc = nb_engine_evaluation(e->engine, model, positive, rate, scores, &report, error);
    if (rc != 0)
        return rc;
    *found = (struct nb_threshold){.threshold = report.threshold,
                                   .achieved = report.achieved,
                                   .documents = report.evaluations[1].documents};
    const char *label = report.labels[report.positive];
    memcpy(found->positive, label, strnlen(label, sizeof found->positive - 1));
    nb_evaluation_report_deinit(&report);
    return 0;
}

int nb_evaluations_threshold(struct nb_evaluations *e, struct nb_string model,
                             struct nb_string positive, double rate, enum nb_score_kind scores,
                             struct nb_threshold *found, struct nb_error *error)
{
    struct threshold_entry entry = {.identity = nb_engine_model_identity(e->engine, model),
                                    .rate = rate,
                                    .scores = scores,
                                    .used = nb_clock_monotonic()};
    if (recall(e, model, positive, &entry, found))
        return 0;
    int rc = evaluate_threshold(e, model, positive, rate, scores, found, error);
    if (rc != 0)
        return rc;
    uint64_t now = nb_clock_monotonic();
    uint64_t age = (now - entry.used) * TIMES_AS_LONG;
    entry.until = now + (age < AGE_MOST ? age : AGE_MOST);
    entry.found = *found;
    /* The engine has accepted both names, so they fit. */
    assert(model.length < sizeof entry.model && positive.length < sizeof entry.positive);
    memcpy(entry.model, model.bytes, model.length);
    if (positive.length > 0)
        memcpy(entry.positive, positive.bytes, positive.length);
    keep(e, &entry);
    return 0;
}

/* ---- metrics --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *help;
    size_t offset;
} FIGURES[] = {
#define FIELD(name) offsetof(struct nb_evaluation, name)
    {"accuracy", "Share of documents that were given their label.", FIELD(accuracy)},
    {"macro_f1", "Mean of the labels' F1, each with the same weight.", FIELD(macro_f1)},
    {"one_minus_roca_percent", "100 (1 - area under the ROC curve).", FIELD(one_minus_roca)},
    {"lam_percent", "Logistic average of the misclassification percentages.", FIELD(lam)},
    {"log_loss", "Mean of -ln of the true label's probability.", FIELD(log_loss)},
    {"brier", "Mean squared error of the probability.", FIELD(brier)},
    {"ece", "Expected calibration error, 15 bins.", FIELD(ece)},
#undef FIELD
};
_Static_assert(sizeof FIGURES / sizeof FIGURES[0] == FIGURE_COUNT, "room for each");

static void refresh(struct nb_evaluations *e, struct model_entry *entry)
{
    assert(entry->name[0] != '\0'); /* carry_over has set the name */
    struct nb_string name = {entry->name, strlen(entry->name)};
    struct nb_evaluation_report report;
    struct nb_error why; /* ignored: an empty or deleted model has no figures */
    entry->has_figures = nb_engine_evaluation(e->engine, name, (struct nb_string){"", 0}, -1,
                                              NB_SCORES_BEFORE_LEARNING, &report, &why) == 0;
    entry->made = nb_clock_monotonic();
    if (!entry->has_figures)
        return;
    const struct nb_evaluation *evaluation = &report.evaluations[0];
    entry->documents = evaluation->documents;
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        entry->figures[i] =
            *(const double *)(const void *)((const char *)evaluation + FIGURES[i].offset);
    nb_evaluation_report_deinit(&report);
}

/* Returns the model with the oldest figures if they are too old, else NULL. */
static struct model_entry *next_to_refresh(struct nb_evaluations *e)
{
    struct model_entry *oldest = NULL;
    for (size_t i = 0; i < e->model_count; i++)
        if (oldest == NULL || e->models[i].made < oldest->made)
            oldest = &e->models[i];
    if (oldest == NULL || oldest->made == 0)
        return oldest;
    return nb_clock_monotonic() - oldest->made > AGE_MOST ? oldest : NULL;
}

/* Fills the entry of a model, with the figures known for it. */
static void carry_over(const struct nb_evaluations *e, const char *name, struct model_entry *entry)
{
    uint32_t identity = nb_engine_model_identity(e->engine, nb_string_of(name));
    assert(strlen(name) < NAME_BYTES); /* nb_check_model_name has checked it */
    for (size_t i = 0; i < e->model_count; i++)
        if (e->models[i].identity == identity && strcmp(e->models[i].name, name) == 0)
            *entry = e->models[i];
    memcpy(entry->name, name, strnlen(name, NAME_BYTES - 1));
    entry->identity = identity;
}

/* Lists the models in memory anew, and keeps the known figures. */
static int list_models(struct nb_evaluations *e)
{
    char **names;
    size_t count;
    if (nb_engine_loaded_models(e->engine, MODELS_MOST, &names, &count) != 0)
        return NB_NO_MEMORY;
    assert(count <= MODELS_MOST);
    struct model_entry *models = calloc(count + 1, sizeof *models);
    for (size_t i = 0; i < count; i++) {
        if (models != NULL)
            carry_over(e, names[i], &models[i]);
        free(names[i]);
    }
    free(names);
    if (models == NULL)
        return NB_NO_MEMORY;
    free(e->models);
    e->models = models;
    e->model_count = count;
    return 0;
}

static int print_head(struct nb_buffer *out, const char *name, const char *help)
{
    return nb_buffer_printf(out,
                            "# HELP bayesd_evaluation_%s %s Over the last documents of a model "
                            "(evaluation_short), before they were learned.\n"
                            "# TYPE bayesd_evaluation_%s gauge\n",
                            name, help, name);
}

/* A model's name needs no escaping: see nb_check_model_name. */
static int print_value(struct nb_buffer *out, const char *name, const struct model_entry *model,
                       double value)
{
    return nb_buffer_printf(out, "bayesd_evaluation_%s{model=\"%s\"} %.17g\n", name, model->name,
                            value);
}

static int print(const struct nb_evaluations *e, struct nb_buffer *out)
{
    int rc = print_head(out, "documents", "Documents that were evaluated.");
    for (size_t i = 0; rc == 0 && i < e->model_count; i++)
        if (e->models[i].has_figures)
            rc = print_value(out, "documents", &e->models[i], (double)e->models[i].documents);
    for (size_t f = 0; rc == 0 && f < FIGURE_COUNT; f++) {
        rc = print_head(out, FIGURES[f].name, FIGURES[f].help);
        for (size_t i = 0; rc == 0 && i < e->model_count; i++)
            if (e->models[i].has_figures && isfinite(e->models[i].figures[f]))
                rc = print_value(out, FIGURES[f].name, &e->models[i], e->models[i].figures[f]);
    }
    return rc;
}

static int print_drift(const struct nb_evaluations *e, struct nb_buffer *out)
{
    struct nb_drift_figures figures;
    int rc = nb_buffer_puts(out, "# HELP bayesd_model_drift How far the verdicts of late are from "
                                 "those before: distance of Kolmogorov and Smirnov, 0 to 1.\n"
                                 "# TYPE bayesd_model_drift gauge\n");
    for (size_t i = 0; rc == 0 && i < e->model_count; i++)
        if (nb_engine_drift(e->engine, nb_string_of(e->models[i].name), &figures))
            rc = nb_buffer_printf(out, "bayesd_model_drift{model=\"%s\"} %.17g\n",
                                  e->models[i].name, figures.distance);
    return rc;
}

static int print_suspects(const struct nb_evaluations *e, struct nb_buffer *out)
{
    uint64_t count;
    int rc =
        nb_buffer_puts(out, "# HELP bayesd_model_suspects Documents whose labels were probably "
                            "wrong when the suspects of the model were last asked for.\n"
                            "# TYPE bayesd_model_suspects gauge\n");
    for (size_t i = 0; rc == 0 && i < e->model_count; i++)
        if (nb_engine_suspected(e->engine, nb_string_of(e->models[i].name), &count))
            rc = nb_buffer_printf(out, "bayesd_model_suspects{model=\"%s\"} %" PRIu64 "\n",
                                  e->models[i].name, count);
    return rc;
}

int nb_evaluations_metrics(struct nb_evaluations *e, struct nb_buffer *out)
{
    uint64_t start = nb_clock_monotonic();
    struct model_entry *model;
    pthread_mutex_lock(&e->models_lock);
    int rc = list_models(e);
    while (rc == 0 && nb_clock_monotonic() - start < VISIT_MOST &&
           (model = next_to_refresh(e)) != NULL)
        refresh(e, model);
    if (rc == 0)
        rc = print(e, out);
    if (rc == 0)
        rc = print_drift(e, out);
    if (rc == 0)
        rc = print_suspects(e, out);
    pthread_mutex_unlock(&e->models_lock);
    return rc;
}
