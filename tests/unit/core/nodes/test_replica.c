/* SPDX-License-Identifier: Apache-2.0
 *
 * Several engines that share a stream, in one process: random changes on any of them, while nodes
 * are stopped and started and messages come twice. In the end all nodes agree with each other and
 * with one that reads the whole stream at once, and each client got an answer.
 *
 * HISTORIES=1000 makes more histories, SEED=n begins with a seed other than 1.
 */
#include <math.h>

#include "core/archive/copy/copy.h"
#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/archive/repair/repair.h"
#include "core/jobs/merge/merge.h"
#include "core/jobs/quarantine/quarantine.h"
#include "core/networks/network/named.h"
#include "core/nodes/digest.h"
#include "tests/unit/core/nodes/nodes.h"
#include "tests/unit/run_with_tokenizer.h"

enum { STEPS = 40, BATCHES = 4, CHANGES = 6, HISTORIES_DEFAULT = 25 };

/* ---- histories ------------------------------------------------------------------------------- */

/* SplitMix64's finalizer. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

struct history {
    uint64_t random;
    char root[NB_TEST_FOLDER_SIZE];
    struct stream streams[STREAMS];
    unsigned stream_count;
    unsigned askers;              /* nodes that are asked */
    struct node nodes[NODES + 1]; /* the last reads all at once */
    uint64_t learned, dropped, copied;
    char difference[1500]; /* that was found last */
};

static uint64_t below(struct history *h, uint64_t most)
{
    return mixed(h->random += UINT64_C(0x9e3779b97f4a7c15)) % most;
}

enum { MODELS = 4 };
/* The last two are made from the others, and also learn. */
static const char *const model_names[MODELS] = {"a", "mail.x", "copy", "child"};
static const char *const labels[] = {"spam", "ham", "third"};

struct sent {
    struct nb_batch *batch;
    char *documents[CHANGES];
    size_t count;
};

static char *random_document(struct history *h, enum nb_document_kind *kind)
{
    struct nb_buffer b = {0};
    *kind = below(h, 3) == 0 ? NB_DOCUMENT_MAIL : NB_DOCUMENT_TEXT;
    if (*kind == NB_DOCUMENT_MAIL)
        must(nb_buffer_printf(&b, "Subject: w%u\r\n\r\n", (unsigned)below(h, 20)) == 0);
    for (uint64_t n = below(h, 14); n > 0; n--)
        must(nb_buffer_printf(&b, "w%u ", (unsigned)(below(h, 90) * below(h, 90) / 90)) == 0);
    must(nb_buffer_append(&b, "", 1) == 0);
    return b.bytes;
}

static void random_change(struct history *h, struct sent *s)
{
    char id[16];
    enum nb_document_kind kind;
    struct nb_error error = {0};
    char *bytes = s->documents[s->count++] = random_document(h, &kind);
    struct nb_document document = document_of(kind, bytes);
    struct nb_string label = string_at(labels[below(h, 3)]);
    int rc;
    snprintf(id, sizeof id, "d%u", (unsigned)below(h, 30));
    uint64_t what = below(h, 10);
    if (what < 6)
        rc = nb_batch_train(s->batch, &document, below(h, 8) == 0 ? (struct nb_string){0} : label,
                            string_at(id), string_at("who"), &error);
    else if (what < 8)
        rc = nb_batch_untrain(s->batch, &document, string_at(id), string_at(""), &error);
    else if (what < 9)
        rc = nb_batch_label(s->batch, string_at(id), label, string_at(""), &error);
    else
        rc = nb_batch_forget(s->batch, string_at(id), string_at(""), &error);
    /* A label alone cannot wait in the quarantine; a model that is not here may be on its way. */
    ck_assert_msg(rc == 0 || rc == NB_NOT_FOUND || rc == NB_UNUSABLE || rc == NB_STOPPING, "%d %s",
                  rc, error.text);
}

static void expect_receipts(struct history *h, const struct sent *s)
{
    for (size_t i = 0; i < nb_batch_size(s->batch); i++) {
        const struct nb_receipt *r = nb_batch_receipt(s->batch, i);
        ck_assert_msg(r->code == 0 || r->code == NB_NOT_FOUND || r->code == NB_CONFLICT ||
                          r->code == NB_STOPPING,
                      "%d %s", r->code, r->error.text);
        ck_assert(r->code != 0 || r->number > 0);
        h->learned += r->code == 0;
        for (size_t k = 0; k < r->label_count; k++)
            ck_assert_uint_gt(strlen(r->labels[k].label), 0);
    }
}

/* Applies batches on several nodes at once. */
static void change_documents(struct history *h)
{
    struct sent sent[BATCHES];
    struct node *where[BATCHES];
    atomic_int left;
    for (size_t b = 0; b < BATCHES; b++) {
        struct sent *s = &sent[b];
        where[b] = &h->nodes[below(h, h->askers)];
        *s = (struct sent){.count = 0};
        const char *name = model_names[below(h, MODELS)];
        ck_assert_int_eq(
            nb_batch_new(where[b]->engine, string_at(name), below(h, 2) == 0, &s->batch, NULL), 0);
        nb_batch_quarantine(s->batch, below(h, 8) == 0);
        for (uint64_t n = 1 + below(h, CHANGES); n > 0; n--)
            random_change(h, s);
    }
    atomic_init(&left, BATCHES);
    for (size_t b = 0; b < BATCHES; b++)
        nb_engine_submit(where[b]->engine, sent[b].batch, count_down, &left);
    while (atomic_load(&left) > 0)
        usleep(50);
    for (size_t b = 0; b < BATCHES; b++) {
        expect_receipts(h, &sent[b]);
        for (size_t i = 0; i < sent[b].count; i++)
            free(sent[b].documents[i]);
        nb_batch_free(&sent[b].batch);
    }
}

/* Changes a network. Networks may have the names of models. */
static int change_network(struct history *h, struct nb_engine *engine, struct nb_string name,
                          struct nb_error *error)
{
    const struct nb_named_key key = {"network", name};
    char value[32];
    bool created;
    if (below(h, 4) == 0)
        return nb_named_delete(engine, &key, error);
    snprintf(value, sizeof value, "network %u", (unsigned)below(h, 1000));
    return nb_named_put(engine, &key, string_at(value), below(h, 4) == 0, string_at("who"),
                        &created, error);
}

/* Applies or drops some or all of the waiting changes. */
static int settle_quarantine(struct history *h, struct nb_engine *engine, struct nb_string name,
                             struct nb_error *error)
{
    char ids[2][16];
    struct nb_string wanted[2];
    struct nb_quarantine_report report;
    struct nb_quarantine_options options = {.until = INT64_MAX, .ids = wanted};
    for (size_t i = 0; i < 2; i++) {
        snprintf(ids[i], sizeof ids[i], "d%u", (unsigned)below(h, 30));
        wanted[i] = string_at(ids[i]);
    }
    options.id_count = below(h, 3) == 0 ? 2 : 0;
    options.has_source = below(h, 2) == 0;
    options.source = string_at(below(h, 2) == 0 ? "who" : "");
    int rc = below(h, 3) == 0
                 ? nb_engine_quarantine_apply(engine, name, &options, NULL, NULL, &report, error)
                 : nb_engine_quarantine_drop(engine, name, &options, NULL, NULL, &report, error);
    h->dropped += rc == 0 ? report.dropped : 0;
    return rc;
}

/* ---- copies and imports ---- */

static bool never(void *user)
{
    (void)user;
    return false;
}

static int copy_one(struct history *h, struct nb_engine *engine, struct nb_error *error)
{
    const struct nb_copy copy = {.from = string_at(model_names[below(h, 2)]),
                                 .to = string_at(model_names[2 + below(h, 2)]),
                                 .source = string_at("copied"),
                                 .seconds = 100,
                                 .stop = never};
    int rc = below(h, 2) == 0 ? nb_model_copy(engine, &copy, error)
                              : nb_model_copy_prior(engine, &copy, 5, error);
    h->copied += rc == 0;
    return rc == NB_UNUSABLE ? NB_CONFLICT : rc; /* settings that allow no parent */
}

struct importing {
    struct nb_import *import;
    struct nb_dump_totals totals;
};

static int take_header(void *user, const struct nb_dump_header *header)
{
    return nb_import_header(((struct importing *)user)->import, header, NULL);
}

static int take_words(void *user, const struct nb_dump_words *words)
{
    return nb_import_words(((struct importing *)user)->import, words, NULL);
}

static int take_document(void *user, const struct nb_dump_document *document)
{
    return nb_import_document(((struct importing *)user)->import, document, NULL);
}

static int take_end(void *user, const struct nb_dump_totals *totals)
{
    ((struct importing *)user)->totals = *totals;
    return 0;
}

/* Exports a model from one node and imports it on another, over any model. If `end` is 0 the import
 * is not completed; if it is 1 the totals are wrong. */
static int import_once(struct nb_engine *to, struct nb_string name, struct nb_engine *from,
                       struct nb_string what, uint64_t end, struct nb_error *error)
{
    struct importing i = {.import = NULL};
    const struct nb_dump_sink sink = {take_header, take_words, take_document, take_end, &i};
    bool created;
    uint64_t dropped;
    ck_assert_int_eq(nb_import_begin(to, name, string_at("imported"), &i.import, error), 0);
    int rc = nb_engine_export(from, what, &sink, error);
    i.totals.documents += end == 1;
    if (rc == 0 && end != 0) {
        rc = nb_import_commit(&i.import, &i.totals, &created, &dropped, error);
        ck_assert_msg(end != 1 || rc == NB_INVALID, "%d %s", rc, error->text);
        rc = rc == NB_INVALID ? NB_CONFLICT : rc;
    }
    nb_import_abort(&i.import);
    return rc;
}

/* Imports a model. During the export changes of other nodes may arrive, and the store may have to
 * grow for them; then the export is repeated. */
static int import_one(struct history *h, struct nb_engine *engine, struct nb_error *error)
{
    struct nb_string what = string_at(model_names[below(h, 2)]);
    struct nb_string to = string_at(model_names[below(h, MODELS)]);
    struct nb_engine *from = h->nodes[below(h, h->askers)].engine;
    uint64_t end = below(h, 4);
    int rc = import_once(engine, to, from, what, end, error);
    while (is_outrun(rc, error))
        rc = import_once(engine, to, from, what, end, error);
    h->copied += rc == 0 && end > 1;
    return rc;
}

static void administer(struct history *h)
{
    struct nb_engine *engine = h->nodes[below(h, h->askers)].engine;
    struct nb_string name = string_at(model_names[below(h, MODELS)]);
    struct nb_settings settings;
    struct nb_error error = {0};
    bool created;
    int rc = 0;
    switch (below(h, 15)) {
    case 0:
        rc = nb_engine_delete_model(engine, name, string_at("root"), &error);
        break;
    case 1:
        rc = nb_engine_rename_label(engine, name, string_at(labels[below(h, 3)]),
                                    string_at("other"), string_at(""), &error);
        break;
    case 2:
        rc = nb_engine_rename_label(engine, name, string_at("other"),
                                    string_at(labels[below(h, 3)]), string_at(""), &error);
        break;
    case 3:
    case 4:
        rc = change_network(h, engine, name, &error);
        break;
    case 5:
    case 6:
    case 7:
        rc = settle_quarantine(h, engine, name, &error);
        break;
    case 8:
    case 9:
        rc = copy_one(h, engine, &error);
        break;
    case 10:
    case 11:
        rc = import_one(h, engine, &error);
        break;
    default:
        nb_settings_init(&settings, (enum nb_preset)below(h, 3));
        settings.max_documents = below(h, 2) == 0 ? 12 : 0;
        settings.unlabelled_weight = 0;
        settings.twin = below(h, 2) == 0;
        rc = nb_engine_put_model(engine, name, &settings, below(h, 4) == 0, string_at("root"),
                                 &created, &error);
        nb_settings_deinit(&settings);
    }
    ck_assert_msg(rc == 0 || rc == NB_NOT_FOUND || rc == NB_CONFLICT, "%d %s", rc, error.text);
}

static void step(struct history *h)
{
    uint64_t what = below(h, 20);
    struct node *n = &h->nodes[below(h, NODES)];
    if (what == 0) {
        stop(n);
        start(n);
    } else if (what < 4) {
        administer(h);
    } else {
        change_documents(h);
    }
}

__attribute__((format(printf, 2, 3))) static void note_difference(struct history *h,
                                                                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(h->difference, sizeof h->difference, format, arguments);
    va_end(arguments);
}

static void print_difference(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "%s\n", line);
}

/* Returns the length of all streams together. */
static uint64_t total(struct history *h)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < h->stream_count; i++)
        sum += length_of(&h->streams[i]);
    return sum;
}

/* Waits until no node publishes changes of its own (ageing, refits) any more. Returns the length of
 * all streams together. */
static uint64_t wait_for_quiet(struct history *h)
{
    uint64_t before = UINT64_MAX;
    for (uint64_t now = total(h); now != before; now = total(h)) {
        before = now;
        for (size_t i = 0; i <= NODES; i++) {
            for (unsigned k = 0; k < h->stream_count; k++)
                wait_until_worker(&h->nodes[i].workers[k], length_of(&h->streams[k]));
            settle(h->nodes[i].engine);
        }
        usleep(1200000); /* the writer looks once a second */
    }
    return before;
}

/* Returns whether verdicts are the same except for rounding, as the weights are. */
static bool has_same_verdicts(struct history *h, struct node *a, struct node *b, const char *model)
{
    bool same = true;
    for (size_t i = 0; same && i < PICTURE_PROBES; i++) {
        struct nb_document document = document_of(NB_DOCUMENT_TEXT, picture_probes[i]);
        struct nb_verdict one = {0};
        struct nb_verdict other = {0};
        int rc = nb_engine_classify(a->engine, string_at(model), &document, 0, &one, NULL);
        same = nb_engine_classify(b->engine, string_at(model), &document, 0, &other, NULL) == rc &&
               one.size == other.size;
        for (size_t k = 0; same && rc == 0 && k < one.size; k++)
            same = strcmp(one.labels[k], other.labels[k]) == 0 &&
                   fabs(one.probabilities[k] - other.probabilities[k]) < 1e-9;
        if (!same)
            note_difference(h,
                            "verdicts of %s about probe %zu: %zu and %zu labels, %.12f and %.12f",
                            model, i, one.size, other.size, one.size > 0 ? one.probabilities[0] : 0,
                            other.size > 0 ? other.probabilities[0] : 0);
        nb_verdict_deinit(&one);
        nb_verdict_deinit(&other);
    }
    return same;
}

/* Returns whether the rows of a model, or of all models (NULL), are the same: the documents with
 * the numbers of their entries, and the counts. */
static bool has_same_rows(struct history *h, struct node *a, struct node *b, const char *name)
{
    struct picture first = {.other_key = false};
    struct picture second = {.other_key = false};
    char difference[PICTURE_DIFFERENCE];
    take_picture(&first, a->engine, name);
    take_picture(&second, b->engine, name);
    bool same = is_same_picture(&first, &second, difference);
    if (!same)
        note_difference(h, "of %s and %s: %s", a->directory, b->directory, difference);
    nb_buffer_deinit(&first.text);
    nb_buffer_deinit(&second.text);
    return same;
}

/* Returns whether two nodes are at the same number; if so, their digests must be equal. */
static bool has_same_digest(struct history *h, struct node *a, struct node *b, unsigned stream)
{
    struct nb_digest one;
    struct nb_digest other;
    struct nb_error error = {0};
    ck_assert_msg(nb_digest(a->engine, stream, 0, UINT64_MAX, &one, &error) == 0, "%s", error.text);
    ck_assert_msg(nb_digest(b->engine, stream, 0, UINT64_MAX, &other, &error) == 0, "%s",
                  error.text);
    ck_assert_uint_eq(one.number % streams_of(a), one.number == 0 ? 0 : stream);
    note_difference(h, "%s is at %llu and %s at %llu", a->directory, (unsigned long long)one.number,
                    b->directory, (unsigned long long)other.number);
    if (one.number != other.number || strcmp(one.digits, other.digits) == 0)
        return one.number == other.number;
    (void)has_same_rows(h, a, b, NULL); /* says what, if it can be seen */
    ck_abort_msg("digests of stream %u: %s and %s: %s", stream, one.digits, other.digits,
                 h->difference);
    return false;
}

static bool is_same_node(struct history *h, struct node *a, struct node *b)
{
    bool same = true;
    for (unsigned i = 0; same && i < streams_of(a); i++)
        same = has_same_digest(h, a, b, i);
    for (size_t i = 0; same && i < MODELS; i++)
        same = has_same_verdicts(h, a, b, model_names[i]);
    return same;
}

/* Nodes go on by themselves: weights are fitted anew by changes, when a node finds time for it.
 * What they have at the same number is equal at once, the rest when the streams have come to an
 * end. */
static void expect_same_at_the_end(struct history *h, bool (*is_same)(struct history *h))
{
    uint64_t until = 0, before = UINT64_MAX;
    for (;;) {
        uint64_t end = wait_for_quiet(h);
        uint64_t now = nb_clock_monotonic();
        if (end != before)
            until = now + UINT64_C(20000000000);
        before = end;
        if (is_same(h))
            return;
        ck_assert_msg(now < until, "%s", h->difference);
    }
}

/* Turns the documents without a label off: their effect depends on when it was computed. */
static void leave_out_unlabelled(struct nb_engine *engine, const char *model)
{
    struct nb_model_info info;
    struct nb_error error = {0};
    bool created;
    if (nb_engine_model(engine, string_at(model), &info, NULL) != 0)
        return;
    info.settings.unlabelled_weight = 0;
    int rc = nb_engine_put_model(engine, string_at(model), &info.settings, false, string_at("root"),
                                 &created, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    nb_model_info_deinit(&info);
}

static void leave_out_all_unlabelled(struct history *h)
{
    for (size_t i = 0; i < MODELS; i++)
        leave_out_unlabelled(h->nodes[0].engine, model_names[i]);
}

static bool are_same_nodes(struct history *h)
{
    bool same = true;
    for (size_t i = 1; same && i <= NODES; i++)
        same = is_same_node(h, &h->nodes[0], &h->nodes[i]);
    return same;
}

static void expect_same_everywhere(struct history *h)
{
    leave_out_all_unlabelled(h);
    start(&h->nodes[NODES]);
    expect_same_at_the_end(h, are_same_nodes);
}

/* Counts of the events in histories. */
struct tally {
    uint64_t dropped, copied;
};

static void begin_history(struct history *h)
{
    for (unsigned i = 0; i < h->stream_count; i++)
        pthread_mutex_init(&h->streams[i].lock, NULL);
    test_folder_make(h->root);
    for (size_t i = 0; i <= NODES; i++) {
        struct node *n = &h->nodes[i];
        snprintf(n->directory, sizeof n->directory, "%s/%zu", h->root, i);
        n->stream = h->streams;
        n->streams = h->stream_count;
        n->member = 100 + i;
        n->lag = (unsigned)below(h, 3) * 2000;
        if (i < NODES)
            start(n);
    }
}

static void end_history(struct history *h)
{
    for (size_t i = 0; i <= NODES; i++) {
        struct nb_engine_settings settings;
        struct nb_error error = {0};
        stop(&h->nodes[i]);
        settings_of(&settings, h->nodes[i].directory);
        settings.streams = h->stream_count;
        int rc = nb_engine_verify(&settings, print_difference, NULL, &error);
        ck_assert_msg(rc == 0, "verify: %d %s", rc, error.text);
    }
    for (unsigned i = 0; i < h->stream_count; i++)
        stream_free(&h->streams[i]);
    test_folder_remove(h->root);
}

static void run_history(uint64_t seed, struct tally *tally)
{
    static struct history h;
    h = (struct history){
        .random = seed * 1000, .stream_count = seed % 2 == 0 ? 1 : STREAMS, .askers = NODES};
    begin_history(&h);
    for (uint64_t steps = 5 + below(&h, STEPS); steps > 0; steps--)
        step(&h);
    expect_same_everywhere(&h);
    ck_assert_uint_gt(h.learned, 0);
    end_history(&h);
    tally->dropped += h.dropped;
    tally->copied += h.copied;
}

static unsigned long number_from(const char *variable, unsigned long otherwise)
{
    const char *text = getenv(variable);
    return text == NULL ? otherwise : strtoul(text, NULL, 10);
}

START_TEST(nodes_say_the_same)
{
    (void)copy_model; /* these two are of picture.h */
    (void)expect_same;
    unsigned long first = number_from("SEED", 1);
    unsigned long count = number_from("HISTORIES", HISTORIES_DEFAULT);
    struct tally tally = {0};
    /* What happens depends on the threads, too: more histories may be needed. */
    bool has_all = false;
    for (unsigned long i = 0; i < count || (!has_all && i < count * 5); i++) {
        fprintf(stderr, "history %lu\n", first + i);
        run_history(first + i, &tally);
        has_all = count < HISTORIES_DEFAULT || (tally.dropped > 0 && tally.copied > 0);
    }
    if (count >= HISTORIES_DEFAULT) {
        ck_assert_uint_gt(tally.dropped, 0);
        ck_assert_uint_gt(tally.copied, 0);
    }
}
END_TEST

/* ---- changes that were queued ---------------------------------------------------------------- */

/* Delivers the message at a position again, under an id that the stream does not have: another
 * spelling. */
static void repeat(struct node *n, uint64_t position, const char *id)
{
    struct message m = message_at(n->stream, position);
    size_t before = length_of(n->stream);
    ck_assert_int_eq(put_message(n->stream, id, nb_buffer_string(&m.bytes), NULL), 0);
    wait_until_applied(n, before + 1);
}

static void expect_label(struct node *n, const char *label)
{
    struct nb_document_info info;
    ck_assert_int_eq(nb_engine_document(n->engine, string_at("a"), string_at("d"), &info, NULL), 0);
    ck_assert_str_eq(info.label, label);
    nb_document_info_deinit(&info);
}

START_TEST(what_was_queued_is_made_once)
{
    struct history h = {.random = 1};
    struct node *n = &h.nodes[0];
    pthread_mutex_init(&h.streams[0].lock, NULL);
    test_folder_make(h.root);
    snprintf(n->directory, sizeof n->directory, "%s/0", h.root);
    n->stream = h.streams;
    start(n);
    train(n, "spam");
    train(n, "ham");
    repeat(n, 1, "q00000000000000aa-1");
    expect_label(n, "spam");
    repeat(n, 2, "q00000000000000aa-2");
    expect_label(n, "ham");
    for (int i = 0; i < 2; i++) { /* the second time after a start */
        repeat(n, 1, i == 0 ? "q00000000000000aa-01" : "q00000000000000aa-001");
        expect_label(n, "ham");
        stop(n);
        start(n);
    }
    repeat(n, 1, "q00000000000000ab-1"); /* of another outbox */
    expect_label(n, "spam");
    repeat(n, 2, "q00000000000000aa-9"); /* some before it were never published */
    expect_label(n, "ham");
    stop(n);
    stream_free(&h.streams[0]);
    test_folder_remove(h.root);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replica");
    TCase *t = tcase_create("replica");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 0); /* whoever asks for more histories waits longer */
    tcase_add_test(t, what_was_queued_is_made_once);
    tcase_add_test(t, nodes_say_the_same);
    return test_run_with_tokenizer(s);
}
