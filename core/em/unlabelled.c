/* SPDX-License-Identifier: Apache-2.0 */
#include "core/em/unlabelled.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/em/em_corpus.h"
#include "core/em/em_guard.h"
#include "core/model/live.h"
#include "core/model/registry.h"
#include "core/model/state.h"
#include "core/stack/multilabel_fit.h"

enum {
    LABELLED_LEAST = 10, /* documents of labels with at least two, needed to choose a weight */
    GROWTH = 5,          /* a fifth more or fewer documents make a new fit due */
    ITERATIONS = 100,
    REST = 4,         /* pause of a model between two fits, in durations of the last one, ... */
    AWAITED = 20,     /* a verdict waits for a fit if this part of the documents has changed ... */
    WAITS_MOST = 100, /* ... at most so many tenths of a second for other threads */
    OUTGROWN = 2,     /* ... unless it has so many times the documents without a label */
};
static const uint64_t rest_most = UINT64_C(30000000000); /* the longest pause, in nanoseconds */

/* ---- when a fit is due ----------------------------------------------------------------------- */

struct state {
    uint64_t labelled, measurable; /* documents with a label; those of labels with at least two */
    unsigned labels;               /* labels with documents */
    uint64_t unlabelled;
};

static struct state state_of(struct nb_live *live)
{
    struct state s = {.unlabelled = atomic_load(&live->unlabelled)};
    nb_model_read_lock(live->counts);
    for (uint32_t v = 0; v < nb_model_label_count(live->counts); v++) {
        uint64_t documents = nb_model_documents(live->counts, v);
        s.labelled += documents;
        s.labels += documents > 0;
        s.measurable += documents > 1 ? documents : 0;
    }
    nb_model_unlock(live->counts);
    return s;
}

static bool is_possible(const struct nb_settings *settings, const struct state *s)
{
    double weight = settings->unlabelled_weight;
    if (nb_settings_are_several(settings))
        return s->labelled > 0;
    if (nb_settings_bar_unlabelled(settings) != NULL || s->unlabelled == 0 || s->labels < 2)
        return false;
    return nb_weight_is_auto(weight) ? s->measurable >= LABELLED_LEAST : weight > 0;
}

/* Writes why documents without a label are not used although their weight is not 0. */
static void tell_obstacle(const struct nb_settings *settings, const struct state *s, char *text,
                          size_t room)
{
    const char *bar = nb_settings_bar_unlabelled(settings);
    if (bar != NULL)
        (void)snprintf(text, room, "they do not come in with %s", bar);
    else if (s->labels < 2)
        (void)snprintf(text, room, "fewer than two labels have documents");
    else
        (void)snprintf(text, room, "fewer than %d documents of labels that have two",
                       LABELLED_LEAST);
}

/* Writes why there is no fit, if there are documents without a label and their weight is not 0 by
 * the settings; else an empty string. `room`: bytes of `text`, above 0. Any thread. */
static void refining_tell_why_off(struct nb_live *live, char *text, size_t room)
{
    struct nb_published *published = nb_live_settings(live);
    const struct nb_settings *settings = &published->settings;
    double weight = settings->unlabelled_weight;
    bool are_wanted = nb_weight_is_auto(weight) || weight > 0;
    struct state s = state_of(live);
    text[0] = '\0';
    if (are_wanted && s.unlabelled > 0 && !is_possible(settings, &s))
        tell_obstacle(settings, &s, text, room);
    nb_published_release(&published);
}

/* Whether the documents have changed since the fit of a model whose documents have several labels,
 * by more than the part 1 / `part` of them. */
static bool is_behind(const struct nb_refined *refined, const struct state *s, uint64_t replaced,
                      uint64_t part)
{
    if (refined == NULL)
        return true;
    uint64_t fitted = refined->labelled, now = s->labelled;
    uint64_t changed = replaced - refined->replaced + (now > fitted ? now - fitted : fitted - now);
    return refined->several == NULL ? changed > 0 : changed * part > now;
}

static bool has_grown(uint64_t then, uint64_t now)
{
    return (now > then ? now - then : then - now) * GROWTH >= then && now != then;
}

/* Whether a loaded model needs a fit. Sets *again (may be NULL) to whether that fit keeps the
 * weight of the last one: some documents were forgotten or changed, but few. Any thread. */
static enum nb_unlabelled_state refining_of(struct nb_live *live, bool *again)
{
    struct nb_published *published = nb_live_settings(live);
    struct nb_refined *refined = nb_live_refined(live);
    struct state s = state_of(live);
    enum nb_unlabelled_state is = NB_UNLABELLED_READY;
    if (!is_possible(&published->settings, &s)) {
        is = NB_UNLABELLED_OFF;
    } else if (nb_published_is_several(published)) {
        bool is_old = is_behind(refined, &s, atomic_load(&live->replaced), UINT32_MAX);
        is = is_old ? NB_UNLABELLED_WAITING : NB_UNLABELLED_READY;
    } else {
        bool is_old = refined == NULL || has_grown(refined->labelled, s.labelled) ||
                      has_grown(refined->documents, s.unlabelled);
        bool is_changed = refined != NULL && refined->weight > 0 &&
                          refined->replaced != atomic_load(&live->replaced);
        is = is_old || is_changed ? NB_UNLABELLED_WAITING : NB_UNLABELLED_READY;
        if (again != NULL)
            *again = is_changed && !is_old;
    }
    nb_refined_release(&refined);
    nb_published_release(&published);
    return is;
}

/* ---- a fit ----------------------------------------------------------------------------------- */

struct run {
    struct nb_engine *engine;
    struct nb_live *live;
    struct nb_parent_chain chain;   /* chain of the model */
    struct nb_published *published; /* borrowed from it */
    struct nb_corpus corpus;
    double *shares; /* owned; the prior of each label, not normalized */
    struct nb_document_numbers numbers;
    struct nb_em_numbers em_numbers; /* borrowed from these */
    struct nb_refined *refined;
    bool (*stop)(void *user);
    void *user;
};

static bool is_stopped(void *user)
{
    const struct run *r = user;
    return atomic_load(&r->live->removed) || (r->stop != NULL && r->stop(r->user));
}

static void note_step(void *user, unsigned done, unsigned all)
{
    const struct run *r = user;
    atomic_store(&r->live->em.done, done);
    atomic_store(&r->live->em.total, all + 1); /* plus one for the fit of all documents */
}

/* Under the model's read lock. */
static double share_of(const struct run *r, uint32_t label)
{
    const struct nb_settings *s = &r->published->settings;
    struct nb_string name = nb_model_label_name(r->live->counts, r->corpus.numbers[label]);
    return nb_settings_label_weight(s, name.bytes, r->corpus.documents[label]);
}

static int take_shares(struct run *r)
{
    r->shares = calloc(r->corpus.labels, sizeof *r->shares);
    if (r->shares == NULL)
        return NB_NO_MEMORY;
    nb_model_read_lock(r->live->counts);
    for (uint32_t v = 0; v < r->corpus.labels; v++)
        r->shares[v] = r->corpus.viewed.count > 0 ? r->corpus.viewed.shares[v] : share_of(r, v);
    nb_model_unlock(r->live->counts);
    return 0;
}

static struct nb_em_question question_of(const struct run *r)
{
    return (struct nb_em_question){.words = r->corpus.words,
                                   .labels = r->corpus.labels,
                                   .counts = r->corpus.word_counts,
                                   .shares = r->shares,
                                   .groups = r->corpus.groups,
                                   .group_count = 1 + r->corpus.attributes,
                                   .numbers = r->numbers.count > 0 ? &r->em_numbers : NULL,
                                   .is_binary = true,
                                   .iterations_most = ITERATIONS,
                                   .stop = is_stopped,
                                   .user = (void *)(uintptr_t)r};
}

static int choose(struct run *r)
{
    const struct nb_guard guard = {.corpus = &r->corpus,
                                   .numbers = &r->numbers,
                                   .chain = &r->chain,
                                   .published = r->published,
                                   .em = question_of(r),
                                   .step = note_step,
                                   .user = r};
    return nb_guard_choose(&guard, r->refined);
}

/* Fits all documents with the chosen weight. */
static int fit(struct run *r)
{
    const struct nb_corpus *c = &r->corpus;
    struct nb_refined *refined = r->refined;
    struct nb_em_documents documents = nb_corpus_documents(&c->unlabelled);
    struct nb_expected_columns columns = nb_corpus_columns(c);
    struct nb_em_question question = question_of(r);
    struct nb_em em;
    question.documents = &documents;
    question.weight = refined->weight;
    question.smoothing = refined->smoothing;
    int rc = nb_em_fit(&question, &em);
    if (rc != 0)
        return rc;
    refined->iterations = em.iterations;
    refined->log_likelihood = em.log_likelihood;
    refined->first = em.first;
    rc = nb_expected_new(&columns, &documents, &em, c->numbers, c->labels, c->vocabulary,
                         &refined->expected);
    nb_em_deinit(&em);
    return rc == 0 ? nb_refined_make_scorer(refined, &r->published->settings) : rc;
}

/* Copies the weight and its measured figures from the last fit. */
static void take_weight(struct nb_refined *to, const struct nb_refined *from)
{
    to->weight = from->weight;
    to->smoothing = from->smoothing;
    to->is_pooled = from->is_pooled;
    to->share = from->share;
    to->temperature = from->temperature;
    to->measured = from->measured;
    to->folds = from->folds;
    to->without = from->without;
    to->with = from->with;
}

/* Fits a model whose documents have several labels. */
static int find_several(struct run *r, struct nb_error *error)
{
    struct nb_corpus_part documents = {.count = 0};
    const struct nb_settings *settings = &r->published->settings;
    int rc = nb_corpus_read_labelled(r->engine, r->live, is_stopped, r, &documents, error);
    struct nb_multilabel_corpus corpus = {.count = documents.count,
                                          .numbers = documents.numbers,
                                          .sets = documents.labels,
                                          .begin = documents.begin,
                                          .end = documents.end,
                                          .rows = documents.columns,
                                          .counts = documents.counts,
                                          .optimize = settings->optimize,
                                          .precision = settings->precision,
                                          .cost_fp = settings->cost_fp,
                                          .cost_fn = settings->cost_fn,
                                          .is_by_the_book = settings->decision == NB_DECISION_BAYES,
                                          .stop = is_stopped,
                                          .user = r};
    r->refined->labelled = documents.count;
    if (rc == 0 && documents.count > 0)
        rc = nb_multilabel_fit_new(r->published->multilabel, r->live->counts, &corpus,
                                   &r->refined->several);
    nb_corpus_part_deinit(&documents);
    return rc == NB_CONFLICT    ? 0 /* the documents have no label, or these changed meanwhile */
           : rc == NB_STOPPING  ? nb_error_set(error, rc, "the fit was broken off")
           : rc == NB_NO_MEMORY ? nb_error_no_memory(error)
                                : rc;
}

static int find(struct run *r, const struct nb_refined *before, struct nb_error *error)
{
    if (nb_published_is_several(r->published))
        return find_several(r, error);
    struct nb_corpus *c = &r->corpus;
    int rc = nb_corpus_read(r->engine, &r->chain, true, NB_GUARD_SAMPLE, is_stopped, r, c, error);
    if (rc != 0)
        return rc;
    r->refined->documents = c->unlabelled.count;
    for (uint32_t v = 0; v < c->labels; v++)
        r->refined->labelled += (uint64_t)c->documents[v];
    if (nb_document_numbers_read(&r->numbers, c, &r->chain) != 0)
        return nb_error_no_memory(error);
    r->em_numbers = nb_document_numbers_of(&r->numbers);
    if (c->unlabelled.count == 0 || c->labels < 2 || (c->words == 0 && r->numbers.count == 0))
        return 0; /* documents were forgotten meanwhile */
    rc = take_shares(r);
    if (rc == 0 && before != NULL)
        take_weight(r->refined, before);
    else if (rc == 0)
        rc = choose(r);
    if (rc == 0 && r->refined->weight > 0)
        rc = fit(r);
    return rc == NB_STOPPING ? nb_error_set(error, rc, "the fit was broken off")
           : rc != 0         ? nb_error_no_memory(error)
                             : 0;
}

/* Publishes why the documents were not fitted. The next try is due when their number has changed.
 */
static int give_up(struct run *r, const struct nb_error *why)
{
    struct state s = state_of(r->live);
    r->refined->documents = s.unlabelled;
    r->refined->labelled = s.labelled;
    (void)snprintf(r->refined->reason, sizeof r->refined->reason, "%.95s", why->text);
    return 0;
}

/* Sets when the next fit may begin, after one that took so many nanoseconds. */
static void set_pause(const struct run *r, uint64_t took)
{
    uint64_t rest = took * REST < rest_most ? took * REST : rest_most;
    atomic_store(&r->live->em.due_at, nb_clock_monotonic() + rest);
    atomic_store(&r->live->em.due_from, nb_published_is_several(r->published)
                                            ? UINT64_MAX
                                            : r->refined->documents * OUTGROWN);
}

static int run(struct run *r, bool again, struct nb_error *error)
{
    struct nb_error why = {0};
    uint64_t begun = nb_clock_monotonic();
    struct nb_refined *before = again ? nb_live_refined(r->live) : NULL;
    r->refined = calloc(1, sizeof *r->refined);
    if (r->refined == NULL) {
        nb_refined_release(&before);
        return nb_error_no_memory(error);
    }
    atomic_init(&r->refined->references, 1);
    r->refined->replaced = atomic_load(&r->live->replaced);
    int rc = find(r, before, &why);
    nb_refined_release(&before);
    if (rc == NB_TOO_LARGE)
        rc = give_up(r, &why);
    r->refined->seconds = (double)(nb_clock_monotonic() - begun) / 1e9;
    if (rc != NB_STOPPING)
        set_pause(r, nb_clock_monotonic() - begun);
    return rc != 0 ? nb_live_note(r->live, rc, &why, error) : 0;
}

static int run_and_publish(struct run *r, bool again, struct nb_error *error)
{
    int rc = run(r, again, error);
    nb_corpus_deinit(&r->corpus);
    nb_document_numbers_deinit(&r->numbers);
    free(r->shares);
    if (rc != 0) {
        nb_refined_release(&r->refined);
        return rc;
    }
    if (nb_live_refine(r->live, r->published, r->refined))
        return 0;
    nb_refined_release(&r->refined);
    nb_refining_ask(r->engine, r->live);
    return nb_error_set(error, NB_CONFLICT, "the model's settings were changed meanwhile");
}

static const uint64_t SECOND = 1000000000u;

/* Waits until no other model is being fitted. */
static int begin_turn(struct run *r, struct nb_error *error)
{
    struct nb_engine *engine = r->engine;
    for (bool is_mine = false; !is_mine;) {
        if (is_stopped(r)) /* outside the lock, because `stop` may take it */
            return nb_error_set(error, NB_STOPPING, "the fit was broken off");
        pthread_mutex_lock(&engine->refining.lock);
        if (engine->refining.runs)
            (void)nb_condition_wait(&engine->refining.turn, &engine->refining.lock,
                                    nb_clock_monotonic() +
                                        SECOND); /* checked again after a signal and a timeout */
        is_mine = !engine->refining.runs;
        engine->refining.runs = true;
        pthread_mutex_unlock(&engine->refining.lock);
    }
    return 0;
}

static void end_turn(struct nb_engine *engine)
{
    pthread_mutex_lock(&engine->refining.lock);
    engine->refining.runs = false;
    pthread_cond_broadcast(&engine->refining.turn);
    pthread_mutex_unlock(&engine->refining.lock);
}

static int run_in_turn(struct run *r, bool again, struct nb_error *error)
{
    int rc = begin_turn(r, error);
    if (rc != 0)
        return rc;
    rc = run_and_publish(r, again, error);
    atomic_store(&r->live->em.done, atomic_load(&r->live->em.total)); /* the other fits may begin */
    end_turn(r->engine);
    return rc;
}

/* Uses the settings of the fit: the settings in force may have changed since. */
static bool is_off(const struct run *r)
{
    struct state s = state_of(r->live);
    return !is_possible(&r->published->settings, &s);
}

/* Fits a model and publishes the result; if the state is off, drops the last fit. One model is
 * fitted at a time, and the others wait, because a fit holds all documents in memory
 * (core/em/em_corpus.h). `again`: keep the weight of the last fit. The fit ends early when
 * `stop` (NULL: never) returns true or the model is deleted. If the documents are too many
 * (NB_TOO_LARGE of the corpus), the published weight is 0, with the reason. Returns 0, NB_BUSY (a
 * fit of the model is under way), NB_CONFLICT (the settings were changed meanwhile), NB_STOPPING,
 * NB_NOT_FOUND (the model is gone), NB_DAMAGED, NB_IO or NB_NO_MEMORY. */
static int refine(struct nb_engine *engine, struct nb_live *live, bool again,
                  bool (*stop)(void *user), void *user, struct nb_error *error)
{
    struct run r = {.engine = engine, .live = live, .stop = stop, .user = user};
    if (atomic_exchange(&live->em.is_under_way, true))
        return nb_error_set(error, NB_BUSY,
                            "the model's documents without a label are being "
                            "fitted already");
    atomic_store(&live->em.done, 0);
    atomic_store(&live->em.total, 1);
    int rc = nb_parent_chain_begin(&r.chain, engine, live, error);
    r.published = rc == 0 ? r.chain.published[0] : NULL;
    if (rc == 0 && is_off(&r))
        (void)nb_live_refine(live, r.published, NULL);
    else if (rc == 0)
        rc = run_in_turn(&r, again, error);
    if (rc == NB_STOPPING && atomic_load(&live->removed))
        rc = nb_error_set(error, NB_NOT_FOUND, "the model '%s' was deleted or replaced meanwhile",
                          live->name);
    nb_parent_chain_deinit(&r.chain);
    atomic_store(&live->em.is_under_way, false);
    return rc;
}

/* Whether a verdict must wait for a fit. */
static bool is_awaited(struct nb_live *live)
{
    struct nb_refined *refined = nb_live_refined(live);
    struct state s = {0};
    nb_model_read_lock(live->counts);
    s.labelled = nb_model_documents_all(live->counts);
    nb_model_unlock(live->counts);
    bool is = is_behind(refined, &s, atomic_load(&live->replaced), AWAITED);
    nb_refined_release(&refined);
    return is && s.labelled > 0;
}

/* Waits until the fit of the model that another thread makes is done, a tenth of a second at most.
 */
static void wait_for_other(struct nb_engine *engine, const struct nb_live *live)
{
    pthread_mutex_lock(&engine->refining.lock);
    if (atomic_load(&live->em.is_under_way))
        (void)nb_condition_wait(&engine->refining.turn, &engine->refining.lock,
                                nb_clock_monotonic() + SECOND / 10);
    pthread_mutex_unlock(&engine->refining.lock);
}

int nb_refining_catch_up(struct nb_engine *engine, struct nb_live *live, struct nb_error *error)
{
    for (unsigned waits = 0; waits < WAITS_MOST && is_awaited(live); waits++) {
        int rc = refine(engine, live, false, NULL, NULL, error);
        if (rc == 0 || rc == NB_CONFLICT)
            return 0;
        if (rc != NB_BUSY)
            return rc;
        wait_for_other(engine, live);
    }
    return 0;
}

/* ---- the thread ------------------------------------------------------------------------------ */

struct nb_refining_worker {
    pthread_t thread;
};

static bool is_stopping(void *user)
{
    struct nb_engine *engine = user;
    pthread_mutex_lock(&engine->refining.lock);
    bool stops = engine->refining.stops;
    pthread_mutex_unlock(&engine->refining.lock);
    return stops;
}

static bool is_asked(const struct nb_live *live)
{
    return atomic_load(&live->em.is_wanted);
}

/* A model is not ready while another thread fits it. If the last document without a label is gone
 * or has got a label, the fit is dropped at once, because that takes no time. */
static bool is_ready(const struct nb_live *live)
{
    uint64_t unlabelled = atomic_load(&live->unlabelled);
    return is_asked(live) && !atomic_load(&live->em.is_under_way) &&
           ((unlabelled == 0 && atomic_load(&live->em.due_from) != UINT64_MAX) ||
            unlabelled >= atomic_load(&live->em.due_from) ||
            atomic_load(&live->em.due_at) <= nb_clock_monotonic());
}

/* A fit of this thread, and the documents of its model when it began. */
struct watch {
    struct nb_engine *engine;
    struct nb_live *live;
    struct state then;
};

/* A fit ends early if the documents have outgrown it: it has read few of them. That happens while
 * many are sent, and seldom, as their number doubles each time. */
static bool is_vain(void *user)
{
    const struct watch *w = user;
    struct state now = state_of(w->live);
    return is_stopping(w->engine) || now.unlabelled >= w->then.unlabelled * OUTGROWN ||
           now.labelled >= w->then.labelled * OUTGROWN;
}

/* Fits one model, if a fit is due, or drops its last fit if the state is off. */
static void look(struct nb_engine *engine, struct nb_live *live)
{
    bool again = false;
    atomic_store(&live->em.is_wanted, false);
    struct watch watch = {engine, live, state_of(live)};
    int rc = refining_of(live, &again) == NB_UNLABELLED_READY
                 ? 0
                 : refine(engine, live, again, is_vain, &watch, NULL);
    /* The fit under way may have read data older than the change, or had too few documents. */
    if (rc == NB_BUSY || rc == NB_STOPPING)
        atomic_store(&live->em.is_wanted, true);
}

/* Sleeps until a model asks for a fit; at most a second if a model is in its pause between two
 * fits, or is being fitted (`rests`). Returns false when the thread must end. */
static bool wait(struct nb_engine *engine, bool rests)
{
    uint64_t until = nb_clock_monotonic() + SECOND;
    pthread_mutex_lock(&engine->refining.lock);
    while (!engine->refining.is_asked && !engine->refining.stops) {
        if (!rests)
            pthread_cond_wait(&engine->refining.filled, &engine->refining.lock);
        else if (!nb_condition_wait(&engine->refining.filled, &engine->refining.lock, until))
            break;
    }
    engine->refining.is_asked = false;
    bool goes_on = !engine->refining.stops;
    pthread_mutex_unlock(&engine->refining.lock);
    return goes_on;
}

static bool has_resting(struct nb_engine *engine)
{
    struct nb_live *live = nb_registry_first(engine, is_asked);
    if (live == NULL)
        return false;
    nb_registry_release(engine, &live);
    return true;
}

static void *worker_main(void *argument)
{
    struct nb_engine *engine = argument;
    do {
        struct nb_live *live;
        while (!is_stopping(engine) && (live = nb_registry_first(engine, is_ready)) != NULL) {
            look(engine, live);
            nb_registry_release(engine, &live);
        }
    } while (wait(engine, has_resting(engine)));
    return NULL;
}

int nb_refining_start(struct nb_engine *engine, struct nb_error *error)
{
    struct nb_refining_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return nb_error_no_memory(error);
    int rc = pthread_create(&worker->thread, NULL, worker_main, engine);
    if (rc != 0) {
        free(worker);
        return nb_error_errno(error, rc, "starting the thread of documents without a label");
    }
    nb_platform_name_thread(worker->thread, "unlabelled");
    engine->refining.worker = worker;
    return 0;
}

void nb_refining_stop(struct nb_engine *engine)
{
    if (engine->refining.worker == NULL)
        return;
    pthread_mutex_lock(&engine->refining.lock);
    engine->refining.stops = true;
    pthread_cond_signal(&engine->refining.filled);
    pthread_cond_broadcast(&engine->refining.turn);
    pthread_mutex_unlock(&engine->refining.lock);
    pthread_join(engine->refining.worker->thread, NULL);
    free(engine->refining.worker);
    engine->refining.worker = NULL;
}

/* ---- reports --------------------------------------------------------------------------------- */

const char *nb_unlabelled_state_name(enum nb_unlabelled_state state)
{
    static const char *const names[] = {[NB_UNLABELLED_OFF] = "off",
                                        [NB_UNLABELLED_WAITING] = "waiting",
                                        [NB_UNLABELLED_RUNNING] = "running",
                                        [NB_UNLABELLED_READY] = "ready"};
    assert((size_t)state < sizeof names / sizeof *names);
    return names[state];
}

static void tell(struct nb_live *live, enum nb_unlabelled_state state,
                 struct nb_unlabelled_report *report)
{
    struct nb_refined *r = nb_live_refined(live);
    *report = (struct nb_unlabelled_report){.state = state};
    if (report->state == NB_UNLABELLED_OFF)
        refining_tell_why_off(live, report->reason, sizeof report->reason);
    if (report->state == NB_UNLABELLED_RUNNING) {
        report->fits = atomic_load(&live->em.done);
        report->fits_all = atomic_load(&live->em.total);
    }
    report->is_known = r != NULL && report->state != NB_UNLABELLED_OFF;
    if (report->is_known) {
        report->weight = r->weight;
        report->is_pooled = r->is_pooled && r->weight > 0;
        report->share = r->share;
        report->smoothing = r->smoothing;
        report->documents = r->documents;
        report->changed = atomic_load(&live->replaced) - r->replaced;
        report->iterations = r->iterations;
        report->log_likelihood = r->log_likelihood;
        report->first = r->first;
        report->measured = r->measured;
        report->folds = r->folds;
        report->without = (struct nb_unlabelled_loss){r->without.log_loss, r->without.accuracy};
        report->with = (struct nb_unlabelled_loss){r->with.log_loss, r->with.accuracy};
        report->seconds = r->seconds;
        memcpy(report->reason, r->reason, sizeof report->reason);
    }
    nb_refined_release(&r);
}

/* Whether documents without a label are not used because the others have several. */
static bool tell_several(struct nb_live *live, struct nb_unlabelled_report *report)
{
    struct nb_published *published = nb_live_settings(live);
    bool are_several = nb_published_is_several(published);
    nb_published_release(&published);
    if (!are_several)
        return false;
    *report = (struct nb_unlabelled_report){.state = NB_UNLABELLED_OFF};
    (void)snprintf(report->reason, sizeof report->reason,
                   "they do not come in with several labels");
    return true;
}

void nb_unlabelled_tell(struct nb_live *live, struct nb_unlabelled_report *report)
{
    if (tell_several(live, report))
        return;
    enum nb_unlabelled_state state = refining_of(live, NULL);
    bool is_running = state != NB_UNLABELLED_OFF && atomic_load(&live->em.is_under_way);
    tell(live, is_running ? NB_UNLABELLED_RUNNING : state, report);
}

int nb_engine_unlabelled(struct nb_engine *engine, struct nb_string model,
                         struct nb_unlabelled_report *report, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    nb_unlabelled_tell(live, report);
    nb_registry_release(engine, &live);
    return 0;
}

int nb_engine_refine(struct nb_engine *engine, struct nb_string model, bool (*stop)(void *user),
                     void *user, struct nb_unlabelled_report *report, struct nb_error *error)
{
    struct nb_live *live;
    int rc = nb_registry_acquire(engine, model, false, &live, error);
    if (rc != 0)
        return rc;
    bool are_several = tell_several(live, report);
    rc = are_several ? 0 : refine(engine, live, false, stop, user, error);
    if (rc == 0 && !are_several)
        nb_unlabelled_tell(live, report);
    else if (rc == NB_BUSY) /* the other fit may have ended meanwhile, but it began earlier */
        tell(live, NB_UNLABELLED_RUNNING, report);
    nb_registry_release(engine, &live);
    return rc == NB_BUSY ? 0 : rc;
}
