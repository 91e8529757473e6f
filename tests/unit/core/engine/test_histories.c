/* SPDX-License-Identifier: Apache-2.0
 *
 * Random histories: whatever is done to models, in whatever order, what an engine says of them is
 *
 * - what a slow list of current documents says (expected.h),
 * - the same after it was closed and opened, and in a copy of its file taken while it runs, as a
 *   crash would leave it,
 * - the same after a rebuild from the ledger alone,
 * - the same in a model made by export and import, here and in a store of another key;
 *
 * and nb_engine_verify finds nothing. The bounds on memory, replay and groups are so small that
 * checkpoints, drops of superfluous entries and unloaded models fall everywhere.
 *
 * HISTORIES=10000 makes more of them, SEED=n begins with another one than 1. The seed of each
 * history is written before it begins: SEED=n HISTORIES=1 repeats it.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/archive/repair/repair.h"
#include "core/jobs/merge/merge.h"
#include "core/model/refit.h"
#include "core/store/store.h"
#include "tests/unit/core/engine/expected.h"
#include "tests/unit/crash.h"
#include "tests/unit/folder.h"
#include "tests/unit/run_with_tokenizer.h"

/* Under the thread sanitizer a history takes a second or two. */
#ifdef __SANITIZE_THREAD__
enum { HISTORIES_DEFAULT = 20 };
#else
enum { HISTORIES_DEFAULT = 200 };
#endif

enum { STEPS = 60, BATCHES_MOST = 6, CHANGES_MOST = 8, WORDS_MOST = 4000 };

static const char *const model_names[MODELS] = {"a", "b", "c", "mail.x", "z@z"};

/* The state of a running history. */
struct history {
    uint64_t random;
    struct nb_engine_settings settings;
    struct nb_engine *engine;
    struct expected_model models[MODELS];
    char root[64], directory[80], copy[80], other[80];
    uint32_t label_pool; /* labels are drawn from so many */
    bool is_sorted;
    uint64_t label;           /* drawn last */
    struct nb_import *import; /* under way, to be given up; NULL: none */
};

static uint64_t below(struct history *h, uint64_t most)
{
    return mixed(h->random += UINT64_C(0x9e3779b97f4a7c15)) % most;
}

static bool one_in(struct history *h, uint64_t n)
{
    return below(h, n) == 0;
}

/* ---- engines --------------------------------------------------------------------------------- */

static void open_at(struct history *h, const char *directory, struct nb_engine **engine)
{
    struct nb_error error = {0};
    struct nb_engine_settings settings = h->settings;
    settings.directory = directory;
    ck_assert_msg(nb_engine_open(&settings, engine, &error) == 0, "%s", error.text);
}

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

static void verify_at(struct history *h, const char *directory)
{
    struct nb_error error = {0};
    struct nb_engine_settings settings = h->settings;
    settings.directory = directory;
    int rc = nb_engine_verify(&settings, print_difference, NULL, &error);
    ck_assert_msg(rc == 0, "verify: %d %s", rc, error.text);
}

static void expect_picture(struct nb_engine *engine, const struct picture *want, const char *what)
{
    struct picture got = {.other_key = want->other_key};
    settle(engine);
    take_picture(&got, engine, NULL);
    expect_same(want, &got, what);
    nb_buffer_deinit(&got.text);
}

/* ---- what there is to learn ------------------------------------------------------------------ */

static void random_words(struct history *h, char *bytes, size_t room, size_t count, uint64_t pool)
{
    size_t at = strlen(bytes);
    for (size_t i = 0; i < count && at + 16 < room; i++) {
        uint64_t word = below(h, pool) * below(h, pool) / pool;
        at += (size_t)snprintf(bytes + at, room - at, "%s%" PRIu64 "%s", one_in(h, 9) ? "W" : "w",
                               word, one_in(h, 12) ? ".\n" : " ");
    }
}

/* Mostly a few words; sometimes so many that the entry takes many pieces and the rows many
 * ranges. The caller frees it. */
static char *random_document(struct history *h, enum nb_document_kind *kind)
{
    size_t room = 64 * 1024;
    char *bytes = malloc(room);
    bool is_large = one_in(h, 40);
    size_t count = (size_t)(is_large ? 200 + below(h, 600) : below(h, 12));
    ck_assert_ptr_nonnull(bytes);
    bytes[0] = '\0';
    *kind = one_in(h, 3) ? NB_DOCUMENT_MAIL : NB_DOCUMENT_TEXT;
    if (*kind == NB_DOCUMENT_MAIL)
        snprintf(bytes, room,
                 "From: p%u@h%u.example\r\nSubject: w%u\r\nContent-Type: text/%s\r\n\r\n",
                 (unsigned)below(h, 5), (unsigned)below(h, 5), (unsigned)below(h, 30),
                 one_in(h, 4) ? "html" : "plain");
    random_words(h, bytes, room, count, is_large ? WORDS_MOST : 60);
    return bytes;
}

/* In a sorted history one label comes many times before the next one: the weights replay. */
static void random_label(struct history *h, char label[16])
{
    if (!h->is_sorted || one_in(h, 50))
        h->label = below(h, h->label_pool);
    uint64_t i = h->label;
    if (i < 2)
        strcpy(label, i == 0 ? "spam" : "ham");
    else
        snprintf(label, 16, "c%u", (unsigned)i);
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The expected result of one change, filled in when the change is added to a batch. */
struct wanted {
    bool untrain;
    bool is_label;             /* only the label changes */
    char id[EXPECTED_ID_MOST]; /* empty: made from the content */
    char label[16];            /* empty: none */
    enum nb_document_kind kind;
    char *bytes; /* owned */
};

struct sent {
    struct nb_batch *batch;
    int model;
    struct wanted wanted[CHANGES_MOST];
    size_t count;
};

static void count_down(struct nb_batch *batch, void *user)
{
    (void)batch;
    atomic_fetch_sub((atomic_int *)user, 1);
}

static void random_change(struct history *h, struct sent *s)
{
    struct wanted *w = &s->wanted[s->count];
    struct nb_error error = {0};
    const struct expected_model *m = &h->models[s->model];
    *w = (struct wanted){.untrain = m->exists && one_in(h, 4)};
    if (!one_in(h, 8))
        snprintf(w->id, sizeof w->id, "d%u", (unsigned)below(h, 25));
    random_label(h, w->label);
    const struct expected_document *again =
        m->count > 0 && one_in(h, 4) ? &m->documents[below(h, m->count)] : NULL;
    w->bytes = again == NULL ? random_document(h, &w->kind) : strdup(again->bytes);
    if (again != NULL) {
        w->kind = again->kind;
        strcpy(w->id, again->id);
    }
    struct nb_document document = document_of(w->kind, w->bytes);
    const char *source = one_in(h, 2) ? "somebody" : "";
    if (one_in(h, 5))
        w->label[0] = '\0';
    struct nb_string label =
        w->label[0] == '\0' ? (struct nb_string){NULL, 0} : string_at(w->label);
    w->is_label = m->exists && !w->untrain && w->id[0] != '\0' && one_in(h, 5);
    if (w->is_label) {
        int made = nb_batch_label(s->batch, string_at(w->id), label, string_at(source), &error);
        ck_assert_msg(made == 0, "%s", error.text);
        s->count++;
        return;
    }
    int rc = w->untrain ? nb_batch_untrain(s->batch, &document, string_at(w->id), string_at(source),
                                           &error)
                        : nb_batch_train(s->batch, &document, label, string_at(w->id),
                                         string_at(source), &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    s->count++;
}

static void expect_receipt(struct history *h, const struct sent *s, size_t i)
{
    const struct nb_receipt *r = nb_batch_receipt(s->batch, i);
    const struct wanted *w = &s->wanted[i];
    struct expected_model *m = &h->models[s->model];
    char id[EXPECTED_ID_MOST];
    snprintf(id, sizeof id, "%.*s", (int)r->id.length, r->id.bytes);
    if (r->code != 0)
        strcpy(id, w->id); /* a refusal says no id */
    ck_assert(w->id[0] == '\0' || strcmp(id, w->id) == 0);
    struct expected_document *d = expected_find(m, id);
    if (w->untrain) {
        ck_assert_msg(r->code == (d == NULL ? NB_NOT_FOUND : 0), "%d %s", r->code, r->error.text);
        if (d != NULL)
            expected_untrain(m, d);
        return;
    }
    if (w->label[0] != '\0' && expected_label(m, w->label) == UINT32_MAX &&
        m->label_count == h->settings.labels) {
        ck_assert_int_eq(r->code, NB_TOO_LARGE);
        return;
    }
    if (w->is_label && d == NULL) {
        ck_assert_int_eq(r->code, NB_NOT_FOUND);
        return;
    }
    ck_assert_msg(r->code == 0, "%d %s", r->code, r->error.text);
    if (d == NULL && w->label[0] == '\0')
        ck_assert_int_eq(r->status, NB_STORED);
    else if (d == NULL || (d->label == EXPECTED_NO_LABEL && w->label[0] != '\0'))
        ck_assert_int_eq(r->status, NB_LEARNED);
    else if (strcmp(expected_label_of(m, d), w->label) != 0)
        ck_assert_int_eq(r->status, NB_RELABELLED);
    else if (w->is_label || (d->kind == w->kind && strcmp(d->bytes, w->bytes) == 0))
        ck_assert_int_eq(r->status, NB_UNCHANGED);
    else
        ck_assert(r->status == NB_UPDATED || r->status == NB_UNCHANGED);
    bool same = w->is_label && d != NULL;
    expected_train(m, id, w->label, same ? d->kind : w->kind, same ? d->bytes : w->bytes);
}

/* A model that the first document makes has the settings of its kind. Documents without a label do
 * not count for its verdicts: what they give depends on when it was found, and on which labelled
 * documents are left out for that. */
static void expect_born(struct history *h, struct expected_model *m, const char *name)
{
    struct nb_model_info info;
    bool created;
    if (m->exists || nb_engine_model(h->engine, string_at(name), &info, NULL) != 0)
        return;
    m->exists = true;
    m->fields = info.settings.tokenizer_fields;
    info.settings.unlabelled_weight = 0;
    ck_assert_int_eq(nb_engine_put_model(h->engine, string_at(name), &info.settings, false,
                                         string_at("root"), &created, NULL),
                     0);
    nb_model_info_deinit(&info);
}

/* Several batches wait for the writer at once. */
static void change_documents(struct history *h)
{
    struct sent sent[BATCHES_MOST];
    uint64_t batches = 1 + below(h, BATCHES_MOST);
    atomic_int left;
    for (size_t b = 0; b < batches; b++) {
        struct sent *s = &sent[b];
        s->model = (int)below(h, MODELS);
        s->count = 0;
        ck_assert_int_eq(nb_batch_new(h->engine, string_at(model_names[s->model]), one_in(h, 2),
                                      &s->batch, NULL),
                         0);
        for (uint64_t changes = 1 + below(h, CHANGES_MOST); s->count < changes;)
            random_change(h, s);
    }
    atomic_init(&left, (int)batches);
    for (size_t b = 0; b < batches; b++)
        nb_engine_submit(h->engine, sent[b].batch, count_down, &left);
    while (atomic_load(&left) > 0)
        usleep(20);
    for (size_t b = 0; b < batches; b++) {
        struct sent *s = &sent[b];
        expect_born(h, &h->models[s->model], model_names[s->model]);
        for (size_t i = 0; i < s->count; i++) {
            expect_receipt(h, s, i);
            free(s->wanted[i].bytes);
        }
        nb_batch_free(&s->batch);
    }
}

/* ---- administration -------------------------------------------------------------------------- */

static void random_settings(struct history *h, struct nb_settings *settings)
{
    static const double smoothings[] = {0.01, 0.1, 1, 3};
    nb_settings_init(settings, (enum nb_preset)below(h, 3));
    settings->unlabelled_weight = 0;
    settings->event_model = (int)below(h, 4);
    settings->smoothing = smoothings[below(h, 4)];
    settings->decision = (int)below(h, 2);
    settings->twin = !one_in(h, 3);
    settings->prior = (int)below(h, 2);
    settings->min_count = one_in(h, 4) ? below(h, 4) : 0;
    settings->skip_top = one_in(h, 4) ? below(h, 4) : 0;
    settings->ready_documents = below(h, 5);
    settings->expert_memory = (double)(2 + below(h, 100));
    settings->evaluation_short = 1 + below(h, 10);
    if (one_in(h, 3)) {
        settings->prior = NB_PRIOR_GIVEN;
        settings->weights = calloc(1, sizeof *settings->weights);
        ck_assert_ptr_nonnull(settings->weights);
        settings->weights[0].label = strdup("spam");
        settings->weights[0].weight = 0.25;
        settings->weight_count = 1;
    }
}

static void put_settings(struct history *h)
{
    int i = (int)below(h, MODELS);
    struct expected_model *m = &h->models[i];
    struct nb_settings settings;
    struct nb_error error = {0};
    bool created = false;
    random_settings(h, &settings);
    if (m->exists && !one_in(h, 4))
        settings.tokenizer_fields = m->fields;
    bool only_new = one_in(h, 6);
    bool conflict =
        m->exists && (only_new || (m->count > 0 && settings.tokenizer_fields != m->fields));
    int rc = nb_engine_put_model(h->engine, string_at(model_names[i]), &settings, only_new,
                                 string_at("root"), &created, &error);
    ck_assert_msg(rc == (conflict ? NB_CONFLICT : 0), "%d %s", rc, error.text);
    if (!conflict) {
        ck_assert(created == !m->exists);
        m->exists = true;
        m->fields = settings.tokenizer_fields;
    }
    nb_settings_deinit(&settings);
}

static void delete_model(struct history *h)
{
    int i = (int)below(h, MODELS);
    int rc = nb_engine_delete_model(h->engine, string_at(model_names[i]), string_at(""), NULL);
    ck_assert_int_eq(rc, h->models[i].exists ? 0 : NB_NOT_FOUND);
    expected_clear(&h->models[i]);
}

static void rename_label(struct history *h)
{
    int i = (int)below(h, MODELS);
    struct expected_model *m = &h->models[i];
    char from[16];
    char to[16];
    random_label(h, from);
    random_label(h, to);
    if (one_in(h, 2))
        snprintf(to, sizeof to, "r%u", (unsigned)below(h, 1000));
    uint32_t label = expected_label(m, from);
    int rc = nb_engine_rename_label(h->engine, string_at(model_names[i]), string_at(from),
                                    string_at(to), string_at(""), NULL);
    if (!m->exists || label == UINT32_MAX) {
        ck_assert_int_eq(rc, NB_NOT_FOUND);
    } else if (expected_label(m, to) != UINT32_MAX) {
        ck_assert_int_eq(rc, NB_CONFLICT);
    } else {
        ck_assert_int_eq(rc, 0);
        strcpy(m->labels[label], to);
    }
}

/* Imports a model over another, over itself, or as a new one. */
static void import_model(struct history *h)
{
    int from = (int)below(h, MODELS);
    int to = (int)below(h, MODELS);
    if (!h->models[from].exists)
        return;
    ck_assert_ptr_null(copy_model(h->engine, model_names[from], h->engine, model_names[to], -1));
    if (from != to)
        expected_copy(&h->models[to], &h->models[from]);
}

/* Learns the documents of a model in an engine with another key. */
static void learn_there(struct nb_engine *other, const struct expected_model *m, const char *name,
                        struct expected_model *learned)
{
    struct nb_batch *batch;
    ck_assert_int_eq(nb_batch_new(other, string_at(name), false, &batch, NULL), 0);
    for (size_t i = 0; i < m->count; i++) {
        const struct expected_document *d = &m->documents[i];
        struct nb_document document = document_of(d->kind, d->bytes);
        const char *label = expected_label_of(m, d);
        struct nb_string given = label[0] == '\0' ? (struct nb_string){NULL, 0} : string_at(label);
        ck_assert_int_eq(
            nb_batch_train(batch, &document, given, string_at(d->id), string_at(""), NULL), 0);
        expected_train(learned, d->id, label, d->kind, d->bytes);
    }
    nb_engine_apply(other, batch);
    nb_batch_free(&batch);
}

/* Imports a model from another store; from then on it has its own key. */
static void import_stranger(struct history *h)
{
    int from = (int)below(h, MODELS);
    int to = (int)below(h, MODELS);
    struct expected_model learned = {.exists = true, .fields = h->models[from].fields};
    struct nb_engine *other;
    struct nb_model_info info;
    bool created;
    if (!h->models[from].exists)
        return;
    ck_assert_int_eq(nb_engine_model(h->engine, string_at(model_names[from]), &info, NULL), 0);
    test_folder_remove(h->other);
    open_at(h, h->other, &other);
    ck_assert_int_eq(nb_engine_put_model(other, string_at("there"), &info.settings, true,
                                         string_at(""), &created, NULL),
                     0);
    learn_there(other, &h->models[from], "there", &learned);
    ck_assert_ptr_null(copy_model(other, "there", h->engine, model_names[to], -1));
    nb_engine_close(&other);
    nb_model_info_deinit(&info);
    expected_clear(&h->models[to]);
    h->models[to] = learned;
}

/* Begins an import and leaves it unfinished, to be aborted some steps later or cut off by a
 * crash. */
static void begin_import(struct history *h)
{
    int from = (int)below(h, MODELS);
    if (h->import != NULL || !h->models[from].exists)
        return;
    /* A dump has a header, its documents, and an end. */
    int records = (int)below(h, h->models[from].count + 2);
    h->import =
        copy_model(h->engine, model_names[from], h->engine, model_names[below(h, MODELS)], records);
    ck_assert_ptr_nonnull(h->import);
}

/* ---- properties ------------------------------------------------------------------------------ */

static void expect_all(struct history *h)
{
    for (int i = 0; i < MODELS; i++)
        expect_model(h->engine, model_names[i], &h->models[i]);
}

static void expect_rebuilt(struct history *h, const struct picture *want)
{
    struct nb_error error = {0};
    struct nb_engine_settings settings = h->settings;
    struct nb_engine *engine;
    settings.directory = h->copy;
    int rc = nb_engine_rebuild(&settings, print_difference, NULL, &error);
    ck_assert_msg(rc == 0, "rebuild: %d %s", rc, error.text);
    open_at(h, h->copy, &engine);
    expect_picture(engine, want, "after a rebuild");
    nb_engine_close(&engine);
    verify_at(h, h->copy);
}

/* Crashes now, and starts again. */
static void crash(struct history *h)
{
    struct picture before = {.other_key = false};
    struct nb_engine *engine;
    settle(h->engine);
    test_crash_copy(h->directory, h->copy);
    take_picture(&before, h->engine, NULL);
    if (one_in(h, 2))
        verify_at(h, h->copy);
    open_at(h, h->copy, &engine);
    expect_picture(engine, &before, "after a crash");
    nb_engine_close(&engine);
    verify_at(h, h->copy);
    expect_rebuilt(h, &before);
    nb_buffer_deinit(&before.text);
}

static void reopen(struct history *h, bool keep_words)
{
    struct picture before = {.other_key = false};
    settle(h->engine);
    take_picture(&before, h->engine, NULL);
    nb_import_abort(&h->import);
    nb_engine_close(&h->engine);
    verify_at(h, h->directory);
    h->settings.keep_words = keep_words;
    open_at(h, h->directory, &h->engine);
    expect_picture(h->engine, &before, "after a restart");
    nb_buffer_deinit(&before.text);
}

/* Expects a copy to have the same picture as the model, under its name. */
static void expect_copy(struct history *h, struct nb_engine *to, const char *name, bool other_key)
{
    struct picture want = {.other_key = other_key};
    struct picture got = {.other_key = other_key};
    settle(h->engine);
    ck_assert_ptr_null(copy_model(h->engine, name, to, name, -1));
    settle(to);
    take_picture(&want, h->engine, name);
    take_picture(&got, to, name);
    expect_same(&want, &got, other_key ? "in a store of another key" : "after an import");
    nb_buffer_deinit(&want.text);
    nb_buffer_deinit(&got.text);
}

/* Copies every model by a dump: into a new store with another key, and over itself. */
static void expect_dumps(struct history *h)
{
    struct nb_engine *other;
    struct picture before = {.other_key = false};
    test_folder_remove(h->other);
    open_at(h, h->other, &other);
    settle(h->engine);
    take_picture(&before, h->engine, NULL);
    for (int i = 0; i < MODELS; i++) {
        if (!h->models[i].exists)
            continue;
        expect_copy(h, other, model_names[i], true);
        ck_assert_ptr_null(copy_model(h->engine, model_names[i], h->engine, model_names[i], -1));
    }
    expect_picture(h->engine, &before, "after imports over themselves");
    nb_buffer_deinit(&before.text);
    nb_engine_close(&other);
    verify_at(h, h->other);
}

static bool never(void *user)
{
    (void)user;
    return false;
}

static void refit(struct history *h)
{
    int i = (int)below(h, MODELS);
    struct nb_error error = {0};
    int rc = nb_engine_refit(h->engine, string_at(model_names[i]), string_at("root"), never, NULL,
                             &error);
    ck_assert_msg(h->models[i].exists ? rc == 0 || rc == NB_CONFLICT : rc == NB_NOT_FOUND, "%d %s",
                  rc, error.text);
}

/* ---- a history ------------------------------------------------------------------------------- */

static void step(struct history *h)
{
    uint64_t what = below(h, 40);
    if (what < 24)
        change_documents(h);
    else if (what < 28)
        put_settings(h);
    else if (what < 29)
        delete_model(h);
    else if (what < 32)
        rename_label(h);
    else if (what < 33)
        import_model(h);
    else if (what < 34)
        import_stranger(h);
    else if (what < 35)
        begin_import(h);
    else if (what < 36)
        nb_import_abort(&h->import);
    else if (what < 37)
        crash(h);
    else if (what < 38)
        reopen(h, one_in(h, 4) ? !h->settings.keep_words : h->settings.keep_words);
    else if (what < 39)
        expect_all(h);
    else if (one_in(h, 2))
        refit(h);
    else
        usleep(1000); /* the writer has nothing to do */
}

static void begin(struct history *h, uint64_t seed)
{
    static const uint64_t replays[] = {1, 40, 1000, UINT32_MAX};
    static const uint64_t groups[] = {1, 3, 1024};
    static const uint64_t journals[] = {4096, NB_STORE_JOURNAL_BYTES, 0};
    static const uint32_t labels[] = {3, 6, 10000};
    static const uint64_t quiet[] = {100000, 1000000000}; /* after most steps, or hardly ever */
    static const uint64_t units[] = {4000, 30000, NB_REFIT_UNITS}; /* many slices, some, one */
    *h = (struct history){.random = seed};
    snprintf(h->root, sizeof h->root, "%s/bayesd-test-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(h->root));
    snprintf(h->directory, sizeof h->directory, "%s/store", h->root);
    snprintf(h->copy, sizeof h->copy, "%s/copy", h->root);
    snprintf(h->other, sizeof h->other, "%s/other", h->root);
    nb_engine_settings_init(&h->settings);
    h->settings.replay_features = replays[below(h, 4)];
    h->settings.group_documents = groups[below(h, 3)];
    h->settings.journal = journals[seed % 3]; /* draw nothing: seeds stay what they were */
    h->settings.quiet_after = quiet[seed / 3 % 2];
    h->settings.refit_units = units[below(h, 3)];
    h->settings.unused_rows = (uint32_t)below(h, 3) * 20; /* features are dropped and rows reused */
    h->settings.labels = labels[below(h, 3)];
    h->settings.memory = one_in(h, 2) ? 1 : 0;
    h->settings.keep_words = !one_in(h, 3);
    h->label_pool = one_in(h, 8) ? 300 : 4;
    h->is_sorted = one_in(h, 2);
    open_at(h, h->directory, &h->engine);
}

static void end(struct history *h)
{
    nb_import_abort(&h->import);
    nb_engine_close(&h->engine);
    for (int i = 0; i < MODELS; i++)
        expected_clear(&h->models[i]);
    test_folder_remove(h->root);
}

/* Returns how many features were dropped, before the first restart. */
static uint64_t run_history(uint64_t seed)
{
    struct history h;
    struct nb_engine_statistics statistics;
    begin(&h, seed);
    for (uint64_t steps = 5 + below(&h, STEPS); steps > 0; steps--)
        step(&h);
    expect_all(&h);
    crash(&h);
    nb_engine_statistics(h.engine, &statistics);
    reopen(&h, true); /* an import keeps no texts otherwise */
    expect_dumps(&h);
    reopen(&h, false);
    expect_all(&h);
    end(&h);
    return statistics.features_dropped;
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

/* Histories that are one test: libcheck knows no test of more than 71 minutes. */
enum { HISTORIES_TOGETHER = 200 };

START_TEST(any_history_is_the_same_everywhere)
{
    unsigned long first = number_from("SEED", 1);
    unsigned long end_seed = first + number_from("HISTORIES", HISTORIES_DEFAULT);
    unsigned long seed = first + (unsigned long)_i * HISTORIES_TOGETHER;
    uint64_t dropped = 0;
    for (unsigned n = 0; n < HISTORIES_TOGETHER && seed < end_seed; n++, seed++) {
        fprintf(stderr, "history %lu\n", seed);
        dropped += run_history(seed);
    }
    fprintf(stderr, "%" PRIu64 " features dropped\n", dropped);
    ck_assert(dropped > 0 || getenv("HISTORIES") != NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("histories");
    TCase *t = tcase_create("histories");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 0); /* whoever asks for more histories waits longer */
    unsigned long wanted = number_from("HISTORIES", HISTORIES_DEFAULT);
    int tests = (int)((wanted + HISTORIES_TOGETHER - 1) / HISTORIES_TOGETHER);
    tcase_add_loop_test(t, any_history_is_the_same_everywhere, 0, tests);
    return test_run_with_tokenizer(s);
}
