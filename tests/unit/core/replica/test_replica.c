/* SPDX-License-Identifier: Apache-2.0
 *
 * Several engines that share a stream, in one process: random changes on any of them, while nodes
 * are stopped and started and messages come twice. All nodes say the same in the end, so does one
 * that reads the whole stream at once, and each client got an answer.
 *
 * HISTORIES=1000 makes more of them, SEED=n begins with another one than 1.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/feature_hash.h"
#include "core/copy/copy.h"
#include "core/dump/export.h"
#include "core/dump/import.h"
#include "core/engine/engine.h"
#include "core/live/state.h"
#include "core/merge/rename.h"
#include "core/named/named.h"
#include "core/quarantine/quarantine.h"
#include "core/registry/registry.h"
#include "core/repair/repair.h"
#include "core/replica/carry.h"
#include "core/replica/digest.h"
#include "core/replica/operation.h"
#include "core/replica/replica.h"
#include "core/replica/replica_state.h"
#include "tests/unit/core/engine/picture.h"
#include "tests/unit/folder.h"

enum {
    NODES = 3,
    STREAMS = 4, /* at most */
    STEPS = 40,
    BATCHES = 4,
    CHANGES = 6,
    LOST_IDS = 32,
    HISTORIES_DEFAULT = 25,
};

/* ---- a stream in memory ---------------------------------------------------------------------- */

struct message {
    char id[64];
    struct nb_witness witness;
    struct nb_buffer bytes;
};

struct stream {
    pthread_mutex_t lock;
    struct message *messages; /* the first has the position 1 */
    size_t count, room;
    atomic_bool is_away;
    uint64_t replaced;     /* position where one server of it has another message; 0: nowhere */
    atomic_bool leads;     /* that one does */
    uint64_t gone;         /* what is up to there cannot be read any more */
    atomic_bool is_mute;   /* nothing can be read */
    atomic_bool is_silent; /* it takes messages and acknowledges none */
    atomic_uint displaced; /* so many positions further on than it has them */
    atomic_uint known;     /* messages that came with an id that it has, or has lost */
    atomic_bool loses;     /* what nodes publish by themselves */
    size_t lost;           /* so many ids, of which the last are: */
    char lost_ids[LOST_IDS][64];
};

/* With the lock held. */
static void lose(struct stream *s, const char *id)
{
    for (size_t i = 0; i < s->lost && i < LOST_IDS; i++)
        atomic_fetch_add(&s->known, strcmp(s->lost_ids[i], id) == 0);
    snprintf(s->lost_ids[s->lost++ % LOST_IDS], sizeof s->lost_ids[0], "%s", id);
}

static int put_message(struct stream *s, const char *id, const struct nb_witness *witness,
                       struct nb_string message, struct nb_error *error)
{
    if (atomic_load(&s->is_away))
        return nb_error_set(error, NB_STOPPING, "the stream is away");
    pthread_mutex_lock(&s->lock);
    bool is_lost = atomic_load(&s->loses) && strchr(id, '-') == NULL;
    if (is_lost)
        lose(s, id);
    bool is_known = false;
    for (size_t i = s->count > 200 ? s->count - 200 : 0; i < s->count; i++)
        is_known |= strcmp(s->messages[i].id, id) == 0;
    atomic_fetch_add(&s->known, is_known);
    if (!is_known && !is_lost) {
        must(nb_array_reserve(&s->messages, &s->room, s->count + 1, sizeof *s->messages) == 0);
        struct message *m = &s->messages[s->count++];
        *m = (struct message){.id = "", .witness = *witness};
        snprintf(m->id, sizeof m->id, "%s", id);
        must(nb_buffer_append(&m->bytes, message.bytes, message.length) == 0);
    }
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static size_t length_of(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    size_t count = s->count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

/* Of the newest message of the id. */
static uint64_t position_of(struct stream *s, const char *id)
{
    pthread_mutex_lock(&s->lock);
    size_t position = s->count;
    while (position > 0 && strcmp(s->messages[position - 1].id, id) != 0)
        position--;
    pthread_mutex_unlock(&s->lock);
    return position;
}

/* Messages stay where they are in memory but for their array. */
static struct message message_at(struct stream *s, uint64_t position)
{
    pthread_mutex_lock(&s->lock);
    struct message m = s->messages[position - 1];
    pthread_mutex_unlock(&s->lock);
    return m;
}

static void stream_free(struct stream *s)
{
    for (size_t i = 0; i < s->count; i++)
        nb_buffer_deinit(&s->messages[i].bytes);
    free(s->messages);
}

static const char stray_message[] = "what a server has that was cut off";

/* ---- nodes ----------------------------------------------------------------------------------- */

struct node;

/* What a node follows of one stream. */
struct lane {
    struct node *node;
    unsigned which;
    struct stream *stream;
    struct nb_replica *replica;
    pthread_t follower;
    atomic_uint_fast64_t agreed; /* position that another node agrees about */
};

struct node {
    uint64_t member;
    atomic_bool is_misled; /* it is given what that one server has */
    atomic_uint sees;      /* it is given so many messages, and no more yet; 0: all */
    atomic_bool is_astray; /* and has found out; `error` is of then */
    struct nb_error error;
    atomic_uint warnings;
    char directory[96];
    struct nb_engine *engine;
    unsigned streams;      /* 0: one */
    struct stream *stream; /* the first of them */
    struct lane lanes[STREAMS];
    atomic_bool stops;
    unsigned lag;       /* microseconds of a pause now and then */
    uint64_t compares;  /* every so many nanoseconds; 0: never */
    const char *follow; /* names of the models that it has begin so; NULL: it has all */
};

static bool begins(const char *follow, struct nb_string model)
{
    return model.length >= strlen(follow) && memcmp(model.bytes, follow, strlen(follow)) == 0;
}

static unsigned streams_of(const struct node *n)
{
    return n->streams == 0 ? 1 : n->streams;
}

static void deliver(struct lane *l, uint64_t position)
{
    struct node *n = l->node;
    struct message m = message_at(l->stream, position);
    struct nb_error error = {0};
    struct nb_delivery d = {position, m.id, m.witness, nb_buffer_string(&m.bytes)};
    if (atomic_load(&n->is_misled) && position == l->stream->replaced)
        d = (struct nb_delivery){position, "", {0}, string_at(stray_message)};
    int rc = nb_replica_deliver(l->replica, &d, &error);
    if ((rc == NB_CONFLICT && l->stream->replaced != 0) ||
        (rc == NB_VERSION && n->follow != NULL)) {
        n->error = error;
        atomic_store(&n->is_astray, true);
        return;
    }
    ck_assert_msg(rc == 0 || rc == NB_STOPPING || rc == NB_CORRUPT, "%d %s", rc, error.text);
}

static int publish(void *user, const char *id, const struct nb_witness *witness,
                   struct nb_string message, struct nb_error *error)
{
    struct lane *l = user;
    ck_assert_uint_eq(witness->member, l->node->member);
    int rc = put_message(l->stream, id, witness, message, error);
    if (rc == 0 && !atomic_load(&l->stream->is_silent))
        nb_replica_acknowledge(l->replica, id,
                               position_of(l->stream, id) + atomic_load(&l->stream->displaced));
    return rc;
}

static int hash_at(void *user, uint64_t position, uint64_t *hash, struct nb_error *error)
{
    struct lane *l = user;
    if (atomic_load(&l->stream->is_mute))
        return nb_error_set(error, NB_STOPPING, "the stream is away");
    if (position > length_of(l->stream) || position <= l->stream->gone)
        return NB_NOT_FOUND;
    struct message m = message_at(l->stream, position);
    *hash = atomic_load(&l->stream->leads) && position == l->stream->replaced
                ? nb_chain_hash("", string_at(stray_message))
                : nb_chain_hash(m.id, nb_buffer_string(&m.bytes));
    return 0;
}

static void warn(void *user, const struct nb_error *why)
{
    struct lane *l = user;
    ck_assert(why->code == NB_CONFLICT || why->code == NB_TOO_LARGE);
    atomic_fetch_add(&l->node->warnings, 1);
}

static uint64_t end_of(const struct lane *l)
{
    uint64_t length = length_of(l->stream), sees = atomic_load(&l->node->sees);
    return sees > 0 && sees < length ? sees : length;
}

static void *follow(void *argument)
{
    struct lane *l = argument;
    struct node *n = l->node;
    uint64_t at = nb_replica_applied(l->replica) + 1;
    while (!atomic_load(&n->stops)) {
        atomic_store(&l->agreed, l->replica->link.agreed);
        if (at > end_of(l) || atomic_load(&n->is_astray)) {
            nb_replica_tick(l->replica);
            usleep(200);
            continue;
        }
        deliver(l, at);
        if (at % 7 == 0 && at > 3)
            deliver(l, at - 3); /* it came before */
        if (at % 32 == 0)       /* somebody else has published into the stream */
            ck_assert_int_eq(
                put_message(l->stream, n->directory, &(struct nb_witness){0}, string_at("x"), NULL),
                0);
        if (at % 16 == 0)
            usleep(n->lag);
        at++;
    }
    return NULL;
}

static const unsigned char cluster_key[NB_KEY_BYTES] = "a key that all nodes have";

static void settings_of(struct nb_engine_settings *settings, const char *directory)
{
    nb_engine_settings_init(settings);
    settings->directory = directory;
    settings->key = cluster_key;
    settings->shared = true;
    settings->group_documents = 5;
    settings->replay_features = 500;
    settings->superseded_seconds = 0;
    settings->unused_rows = 3;
    settings->labels = 5;
    settings->refit_units = UINT64_MAX;
    settings->map_size = (uint64_t)1 << 22;
}

/* Of streams that were made at `created`. */
static int open_node(struct node *n, uint64_t created, struct nb_error *error)
{
    struct nb_engine_settings settings;
    settings_of(&settings, n->directory);
    settings.streams = streams_of(n);
    ck_assert_msg(nb_engine_open(&settings, &n->engine, error) == 0, "%s", error->text);
    int rc = 0;
    for (unsigned i = 0; rc == 0 && i < streams_of(n); i++) {
        struct lane *l = &n->lanes[i];
        const struct nb_replica_settings how = {.publish = publish,
                                                .hash_at = hash_at,
                                                .warn = warn,
                                                .user = l,
                                                .stream = i,
                                                .follow = n->follow,
                                                .matches = begins,
                                                .member = n->member,
                                                .message_most = 1 << 20,
                                                .patience = UINT64_C(20000000000),
                                                .same_for = 200,
                                                .compare_every = n->compares};
        *l = (struct lane){.node = n, .which = i, .stream = &n->stream[i]};
        rc = nb_replica_new(n->engine, &how, string_at("bayesd"), created, length_of(l->stream),
                            &l->replica, error);
    }
    return rc;
}

static void start(struct node *n)
{
    struct nb_error error = {0};
    int rc = open_node(n, 77, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    atomic_store(&n->stops, false);
    for (unsigned i = 0; i < streams_of(n); i++)
        ck_assert_int_eq(pthread_create(&n->lanes[i].follower, NULL, follow, &n->lanes[i]), 0);
}

static void stop(struct node *n)
{
    atomic_store(&n->stops, true);
    for (unsigned i = 0; i < streams_of(n); i++)
        nb_replica_stop(n->lanes[i].replica);
    for (unsigned i = 0; i < streams_of(n); i++)
        ck_assert_int_eq(pthread_join(n->lanes[i].follower, NULL), 0);
    for (unsigned i = 0; i < streams_of(n); i++)
        nb_replica_free(&n->lanes[i].replica);
    nb_engine_close(&n->engine);
}

/* However long that takes, as long as it goes on. */
static void wait_until_lane(struct lane *l, uint64_t position)
{
    uint64_t until = 0, before = UINT64_MAX;
    for (uint64_t applied = 0; (applied = nb_replica_applied(l->replica)) < position;) {
        uint64_t now = nb_clock_monotonic();
        if (applied != before)
            until = now + UINT64_C(60000000000);
        before = applied;
        ck_assert_msg(now < until, "applied %llu of %llu", (unsigned long long)applied,
                      (unsigned long long)position);
        usleep(500);
    }
}

static void wait_until_applied(struct node *n, uint64_t position)
{
    wait_until_lane(&n->lanes[0], position);
}

/* ---- histories ------------------------------------------------------------------------------- */

static struct nb_document document_of(enum nb_document_kind kind, const char *bytes)
{
    return (struct nb_document){.kind = kind, .bytes = bytes, .length = strlen(bytes)};
}

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
/* The last two are made of the others, and learn as well. */
static const char *const model_names[MODELS] = {"a", "mail.x", "copy", "child"};
static const char *const labels[] = {"spam", "ham", "third"};

struct sent {
    struct nb_batch *batch;
    char *documents[CHANGES];
    size_t count;
};

static void count_down(struct nb_batch *batch, void *user)
{
    (void)batch;
    atomic_fetch_sub((atomic_int *)user, 1);
}

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
    /* A label alone cannot wait in the quarantine. */
    ck_assert_msg(rc == 0 || rc == NB_NOT_FOUND || rc == NB_UNUSABLE, "%d %s", rc, error.text);
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

/* Batches on several nodes at once. */
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

/* The names of networks are those of models, by chance. */
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

/* Applies or drops some of what waits, or all. */
static int settle_quarantine(struct history *h, struct nb_engine *engine, struct nb_string name,
                             struct nb_error *error)
{
    char ids[2][16];
    struct nb_string wanted[2];
    struct nb_quarantine_report report;
    struct nb_quarantine_wish wish = {.until = INT64_MAX, .ids = wanted};
    for (size_t i = 0; i < 2; i++) {
        snprintf(ids[i], sizeof ids[i], "d%u", (unsigned)below(h, 30));
        wanted[i] = string_at(ids[i]);
    }
    wish.id_count = below(h, 3) == 0 ? 2 : 0;
    wish.has_source = below(h, 2) == 0;
    wish.source = string_at(below(h, 2) == 0 ? "who" : "");
    int rc = below(h, 3) == 0
                 ? nb_engine_quarantine_apply(engine, name, &wish, NULL, NULL, &report, error)
                 : nb_engine_quarantine_drop(engine, name, &wish, NULL, NULL, &report, error);
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

/* What one node exports is imported by another, in the place of any model; sometimes not to the
 * end (0), or it says that there was more (1). */
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

/* Other nodes' changes may come to the one that exports, and its store may have to grow for them.
 */
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

/* Of all streams. */
static uint64_t total(struct history *h)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < h->stream_count; i++)
        sum += length_of(&h->streams[i]);
    return sum;
}

/* Waits until no node publishes by itself any more: what ageing takes out, refits. Returns the
 * length of all streams together. */
static uint64_t wait_for_quiet(struct history *h)
{
    uint64_t before = UINT64_MAX;
    for (uint64_t now = total(h); now != before; now = total(h)) {
        before = now;
        for (size_t i = 0; i <= NODES; i++) {
            for (unsigned k = 0; k < h->stream_count; k++)
                wait_until_lane(&h->nodes[i].lanes[k], length_of(&h->streams[k]));
            settle(h->nodes[i].engine);
        }
        usleep(1200000); /* the writer looks once a second */
    }
    return before;
}

/* Weights are the same but for rounding, so verdicts are. */
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

/* The rows of a model are the same, or of all (NULL): its documents with the numbers of their
 * entries, and its counts. */
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

/* Whether they are at one number, and then they must have the same. */
static bool has_same_digest(struct history *h, struct node *a, struct node *b, unsigned stream)
{
    struct nb_digest one;
    struct nb_digest other;
    struct nb_error error = {0};
    ck_assert_msg(nb_digest(a->engine, stream, 0, &one, &error) == 0, "%s", error.text);
    ck_assert_msg(nb_digest(b->engine, stream, 0, &other, &error) == 0, "%s", error.text);
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

/* What documents without a label give depends on when it was found. */
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

/* What has happened in histories. */
struct tally {
    uint64_t dropped, copied;
};

static void begin_history(struct history *h, const char *follow)
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
        n->follow = i > 0 && i < NODES ? follow : NULL;
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
    begin_history(&h, NULL);
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
    for (unsigned long seed = first; seed < first + count; seed++) {
        fprintf(stderr, "history %lu\n", seed);
        run_history(seed, &tally);
    }
    if (count >= HISTORIES_DEFAULT) {
        ck_assert_uint_gt(tally.dropped, 0);
        ck_assert_uint_gt(tally.copied, 0);
    }
}
END_TEST

/* ---- a server of the stream that has another message ------------------------------------------
 */

struct astray {
    char root[NB_TEST_FOLDER_SIZE];
    struct stream stream;
    struct node nodes[NODES];
};

static void train(struct node *n, const char *label)
{
    struct nb_batch *batch;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "a prize");
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at(label), string_at("d"), string_at(""), NULL), 0);
    nb_engine_apply(n->engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    nb_batch_free(&batch);
}

/* A document on a node; its position. */
static uint64_t train_one(struct node *n, const char *id)
{
    struct nb_batch *batch;
    atomic_int left;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    atomic_init(&left, 1);
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at(id), string_at("who"), NULL),
        0);
    nb_engine_submit(n->engine, batch, count_down, &left);
    while (atomic_load(&left) > 0)
        usleep(50);
    const struct nb_receipt *r = nb_batch_receipt(batch, 0);
    uint64_t number = r->code == 0 ? r->number : 0;
    nb_batch_free(&batch);
    return number;
}

static void mislead(struct astray *a, uint64_t position)
{
    pthread_mutex_init(&a->stream.lock, NULL);
    test_folder_make(a->root);
    a->stream.replaced = position;
    for (size_t i = 0; i < NODES; i++) {
        struct node *n = &a->nodes[i];
        snprintf(n->directory, sizeof n->directory, "%s/%zu", a->root, i);
        n->stream = &a->stream;
        n->member = 100 + i;
        atomic_store(&n->is_misled, i == NODES - 1);
        start(n);
    }
}

static void wait_until_astray(struct node *n)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    while (!atomic_load(&n->is_astray)) {
        ck_assert_msg(nb_clock_monotonic() < until, "it does not find out");
        usleep(500);
    }
    ck_assert_int_eq(n->error.code, NB_CONFLICT);
    ck_assert_msg(strstr(n->error.text, "change at 3 ") != NULL, "%s", n->error.text);
}

/* Until the second node knows that the third one was given the same. */
static void wait_until_agreed(struct astray *a, uint64_t position)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    for (uint64_t agreed = 0; agreed < position;) {
        ck_assert_msg(nb_clock_monotonic() < until, "they do not agree: %lu", agreed);
        usleep(500);
        for (size_t i = 1; i < NODES; i++) {
            uint64_t one = atomic_load(&a->nodes[i].lanes[0].agreed);
            agreed = i == 1 || one < agreed ? one : agreed;
        }
    }
}

/* All but the first node are given something else, and agree about it; the first one is stopped. */
static void mislead_all_but_one(struct astray *a)
{
    mislead(a, 3);
    for (size_t i = 1; i < NODES; i++)
        atomic_store(&a->nodes[i].is_misled, true);
    for (size_t i = 0; length_of(&a->stream) < 3; i++)
        (void)train_one(&a->nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    stop(&a->nodes[0]);
    wait_until_agreed(a, 3);
}

static void end(struct astray *a)
{
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

/* The change that it has another one for is the last: the others tell it nevertheless. It does not
 * forget what it has found out when it starts again. */
START_TEST(a_misled_node_finds_out)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, 3);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    wait_until_astray(n);
    ck_assert_uint_eq(train_one(n, "four"), 0); /* refused */
    ck_assert_uint_gt(train_one(&a.nodes[0], "five"), 0);
    wait_until_applied(&a.nodes[1], length_of(&a.stream));
    ck_assert(!atomic_load(&a.nodes[0].is_astray) && !atomic_load(&a.nodes[1].is_astray));
    struct nb_chained told = nb_replica_told(n->lanes[0].replica);
    ck_assert_uint_ge(told.position, 3);
    ck_assert_int_eq(nb_replica_agrees(a.nodes[0].lanes[0].replica, told), 0);
    told = nb_replica_told(a.nodes[1].lanes[0].replica);
    ck_assert_int_eq(nb_replica_agrees(a.nodes[1].lanes[0].replica, told), 1);
    told.position += 1000; /* where nobody is yet */
    ck_assert_int_eq(nb_replica_agrees(a.nodes[0].lanes[0].replica, told), -1);
    stop(n);
    atomic_store(&n->is_astray, false);
    struct nb_error error = {0};
    start(n);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "change at ") != NULL, "%s", error.text);
    end(&a);
}
END_TEST

/* Two that read from the same server agree with each other, and start again. */
START_TEST(misled_nodes_that_agree_find_out_when_they_start)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead_all_but_one(&a);
    for (size_t i = 1; i < NODES; i++)
        stop(&a.nodes[i]);
    for (size_t i = 1; i < NODES; i++) {
        struct nb_error error = {0};
        n = &a.nodes[i];
        start(n);
        ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), NB_CONFLICT);
        ck_assert_msg(strstr(error.text, "change at ") != NULL, "%s", error.text);
    }
    start(&a.nodes[0]);
    end(&a);
}
END_TEST

/* And have agreed about much more, before another node tells them. */
START_TEST(misled_nodes_that_agree_find_out_late)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    mislead_all_but_one(&a);
    for (int i = 0; i < 3000; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", i);
        ck_assert_int_eq(put_message(&a.stream, id, &(struct nb_witness){0}, string_at("x"), NULL),
                         0);
    }
    wait_until_agreed(&a, length_of(&a.stream));
    start(&a.nodes[0]);
    for (size_t i = 1; i < NODES; i++)
        wait_until_astray(&a.nodes[i]);
    ck_assert(!atomic_load(&a.nodes[0].is_astray));
    end(&a);
}
END_TEST

/* Gives the model a word as a change does that is not committed yet. */
static void put_word(struct nb_live *live, const char *word)
{
    uint64_t hash = nb_feature_hash(live->key, word, strlen(word));
    struct nb_row_count counts = {.count = 1};
    uint32_t label;
    ck_assert_int_eq(nb_model_label(live->counts, string_at("ham"), &label), 0);
    ck_assert_int_eq(nb_model_append(live->counts, nb_feature_id(NB_FIELD_BODY, hash), &counts.row),
                     0);
    nb_model_add_documents(live->counts, label, 1);
    ck_assert_int_eq(nb_model_add(live->counts, label, &counts, 1, 1, NULL), 0);
}

/* A model may be deleted and made anew between such a change and this one, which then brings the
 * words. */
START_TEST(a_model_that_is_not_stored_yet_gives_no_words)
{
    static struct astray a;
    struct nb_batch *batch;
    struct nb_live *live;
    struct nb_operation o;
    struct nb_buffer out = {0};
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    a = (struct astray){.root = ""};
    mislead(&a, UINT64_MAX);
    struct nb_engine *engine = a.nodes[0].engine;
    ck_assert_int_eq(nb_batch_new(engine, string_at("new"), false, &batch, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(nb_batch_train(batch, &document, string_at("ham"),
                                        string_at(i == 0 ? "c" : "d"), string_at(""), NULL),
                         0);
        ck_assert_int_eq(nb_registry_find(engine, string_at("new"), true, &live, NULL), 0);
        if (i == 0)
            put_word(live, "some");
        nb_registry_release(engine, &live);
    }
    ck_assert_int_eq(nb_carry_write(batch, 1, 1, 0, &out, NULL), 0);
    ck_assert_int_eq(nb_operation_read(&o, nb_buffer_string(&out), NULL), 0);
    ck_assert_uint_eq(o.born, 0);
    ck_assert_uint_gt(o.feature_count, 2);
    struct nb_unpacker u = nb_unpacker_of(o.features.bytes, o.features.length);
    for (size_t i = 0; i < o.feature_count; i++)
        ck_assert(nb_operation_next(&u).has_text);
    nb_buffer_deinit(&out);
    nb_batch_free(&batch);
    end(&a);
}
END_TEST

/* What came back is not promised before the stream says that a majority of its servers have it. */
START_TEST(a_receipt_waits_until_it_is_acknowledged)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_batch *batch;
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    atomic_int left;
    atomic_init(&left, 1);
    mislead(&a, UINT64_MAX);
    atomic_store(&a.stream.is_silent, true);
    ck_assert_int_eq(nb_batch_new(n->engine, string_at("a"), true, &batch, NULL), 0);
    ck_assert_int_eq(
        nb_batch_train(batch, &document, string_at("ham"), string_at("d"), string_at(""), NULL), 0);
    nb_engine_submit(n->engine, batch, count_down, &left);
    wait_until_applied(n, 1);
    usleep(20000);
    ck_assert_int_eq(atomic_load(&left), 1);
    nb_replica_acknowledge(n->lanes[0].replica, message_at(&a.stream, 1).id, 1);
    ck_assert_int_eq(atomic_load(&left), 0);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, 0);
    ck_assert_uint_eq(nb_batch_receipt(batch, 0)->number, 1);
    nb_batch_free(&batch);
    end(&a);
}
END_TEST

/* The copy that this node reads from has it at another place than the stream. */
START_TEST(a_receipt_has_the_place_that_is_acknowledged)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(n, "one"), 0);
    atomic_store(&a.stream.displaced, 1);
    ck_assert_uint_eq(train_one(n, "two"), 0); /* refused */
    atomic_store(&a.stream.displaced, 0);
    ck_assert_uint_gt(train_one(n, "two"), 0);
    end(&a);
}
END_TEST

/* Nodes that start together may make the stream twice, before anything is in it. */
START_TEST(a_stream_is_made_twice)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_error error = {0};
    mislead(&a, UINT64_MAX);
    stop(n);
    ck_assert_int_eq(open_node(n, 78, &error), 0);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 79, 0, &error), 0);
    nb_replica_free(&n->lanes[0].replica);
    nb_engine_close(&n->engine);
    start(n); /* of 77 again */
    ck_assert_uint_gt(train_one(n, "one"), 0);
    end(&a);
}
END_TEST

static void close_node(struct node *n)
{
    nb_replica_free(&n->lanes[0].replica);
    nb_engine_close(&n->engine);
}

/* What the store of a node that is stopped says. */
static uint64_t created_of(struct node *n)
{
    struct nb_engine_settings settings;
    struct nb_error error = {0};
    settings_of(&settings, n->directory);
    ck_assert_msg(nb_engine_open(&settings, &n->engine, &error) == 0, "%s", error.text);
    uint64_t created = n->engine->standing.places[0].created;
    nb_engine_close(&n->engine);
    return created;
}

/* A node that has something, and is stopped; the others are, too. */
static struct node *one_with_changes(struct astray *a)
{
    mislead(a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a->nodes[0], "one"), 0);
    ck_assert_uint_gt(train_one(&a->nodes[0], "two"), 0);
    for (size_t i = 0; i < NODES; i++)
        stop(&a->nodes[i]);
    return &a->nodes[0];
}

static void end_stopped(struct astray *a)
{
    stream_free(&a->stream);
    test_folder_remove(a->root);
}

/* Servers that have started again say another time of a stream that was made twice. What this node
 * has made last is in it. */
START_TEST(a_stream_says_another_time)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_uint_eq(created_of(n), 77);
    ck_assert_msg(open_node(n, 78, &error) == 0, "%s", error.text);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), 0);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 78);
    ck_assert_int_eq(open_node(n, 78, &error), 0);
    uint64_t length = length_of(&a.stream), at = nb_replica_applied(n->lanes[0].replica);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 79, length, &error), 0);
    ck_assert_uint_eq(nb_replica_applied(n->lanes[0].replica), at);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 79);
    start(n);
    ck_assert_uint_gt(train_one(n, "three"), at);
    stop(n);
    end_stopped(&a);
}
END_TEST

/* Refused, at the start and while it follows; the store stays what it was. */
static void expect_anew(struct astray *a, const char *what)
{
    struct nb_error error = {0};
    struct node *n = &a->nodes[0];
    uint64_t length = length_of(&a->stream);
    ck_assert_msg(open_node(n, 78, &error) == NB_CONFLICT, "%s", what);
    ck_assert_msg(strstr(error.text, "was made anew") != NULL, "%s: %s", what, error.text);
    nb_engine_close(&n->engine);
    ck_assert_msg(open_node(n, 77, &error) == 0, "%s: %s", what, error.text);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "was made anew") != NULL, "%s: %s", what, error.text);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 77);
}

START_TEST(a_stream_is_made_anew)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    uint64_t at = nb_replica_applied(n->lanes[0].replica);
    close_node(n);
    ck_assert_uint_ge(at, 2);
    a.stream.replaced = at;
    atomic_store(&a.stream.leads, true);
    expect_anew(&a, "another message there");
    atomic_store(&a.stream.leads, false);
    a.stream.gone = at;
    expect_anew(&a, "cut");
    a.stream.gone = UINT64_MAX;
    expect_anew(&a, "empty");
    a.stream.gone = 0;
    end_stopped(&a);
}
END_TEST

/* The last message is the same, and one before it is not. */
START_TEST(a_stream_that_says_another_time_is_compared)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    a.stream.replaced = nb_replica_applied(n->lanes[0].replica) - 1;
    uint64_t length = length_of(&a.stream);
    ck_assert_int_eq(nb_replica_verify(n->lanes[0].replica, &error), 0);
    atomic_store(&a.stream.leads, true);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_CONFLICT);
    ck_assert_msg(strstr(error.text, "another change at") != NULL, "%s", error.text);
    close_node(n);
    end_stopped(&a);
}
END_TEST

/* Nobody knows yet. */
START_TEST(a_stream_says_another_time_and_no_more)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_error error = {0};
    struct node *n = one_with_changes(&a);
    uint64_t length = length_of(&a.stream);
    atomic_store(&a.stream.is_mute, true);
    ck_assert_int_eq(open_node(n, 78, &error), NB_STOPPING);
    nb_engine_close(&n->engine);
    ck_assert_int_eq(open_node(n, 77, &error), 0);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), NB_STOPPING);
    atomic_store(&a.stream.is_mute, false);
    ck_assert_int_eq(nb_replica_begin(n->lanes[0].replica, 78, length, &error), 0);
    close_node(n);
    ck_assert_uint_eq(created_of(n), 78);
    end_stopped(&a);
}
END_TEST

/* ---- digests that are compared --------------------------------------------------------------- */

static const uint64_t SOON = UINT64_C(300000000);

/* A digest at a later position than that, of the first node, and of another one there. */
static bool digests_after(struct astray *a, uint64_t position, size_t other, bool *same)
{
    struct nb_chained one = nb_replica_digested(a->nodes[0].lanes[0].replica);
    struct nb_chained two = nb_replica_digested(a->nodes[other].lanes[0].replica);
    *same = one.chain == two.chain;
    return one.position > position && one.position == two.position;
}

static bool wait_until_compared(struct astray *a, uint64_t position, size_t other)
{
    uint64_t until = nb_clock_monotonic() + UINT64_C(60000000000);
    bool same;
    while (!digests_after(a, position, other, &same)) {
        ck_assert_msg(nb_clock_monotonic() < until, "digests are not compared");
        usleep(500);
    }
    return same;
}

static void compare_soon(struct astray *a)
{
    for (size_t i = 0; i < NODES; i++)
        a->nodes[i].compares = SOON;
    mislead(a, UINT64_MAX);
}

/* They have the same at one position, until one of them has learned something else of the same. */
START_TEST(nodes_compare_what_they_have_learned)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_live *live;
    compare_soon(&a);
    uint64_t position = train_one(&a.nodes[0], "one");
    ck_assert_uint_gt(position, 0);
    for (size_t i = 1; i < NODES; i++)
        ck_assert(wait_until_compared(&a, position, i));
    stop(&a.nodes[1]);
    start(&a.nodes[1]);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[1].lanes[0].replica).position, 0);
    ck_assert(wait_until_compared(&a, train_one(&a.nodes[0], "two"), 1));
    ck_assert_int_eq(nb_registry_acquire(a.nodes[1].engine, string_at("a"), false, &live, NULL), 0);
    live->checkpoint.last += 1000; /* until its next change */
    position = length_of(&a.stream);
    ck_assert(!wait_until_compared(&a, position, 1));
    ck_assert(wait_until_compared(&a, position, 2));
    nb_registry_release(a.nodes[1].engine, &live);
    end(&a);
}
END_TEST

/* Whoever may publish makes the nodes read their stores now and then, and not all the time. */
START_TEST(nodes_do_not_compare_all_the_time)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    const struct nb_operation ask = {
        .kind = NB_OPERATION_ERRAND + (unsigned)NB_ERRAND_BARRIER,
        .time = 1,
        .errand = {.kind = NB_ERRAND_BARRIER, .model = nb_string_of("digest")}};
    struct nb_buffer message = {0};
    for (size_t i = 0; i < NODES; i++)
        a.nodes[i].compares = i == NODES - 1 ? 0 : UINT64_C(3600000000000);
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    ck_assert_int_eq(nb_operation_write(&ask, &message), 0);
    for (int i = 0; i < 20; i++) {
        char id[16];
        snprintf(id, sizeof id, "ask %d", i);
        ck_assert_int_eq(
            put_message(&a.stream, id, &(struct nb_witness){0}, nb_buffer_string(&message), NULL),
            0);
    }
    nb_buffer_deinit(&message);
    uint64_t position = train_one(&a.nodes[0], "two");
    for (size_t i = 0; i < NODES; i++)
        wait_until_applied(&a.nodes[i], position);
    uint64_t first = nb_replica_digested(a.nodes[0].lanes[0].replica).position;
    ck_assert_msg(first > 0 && first + 20 <= position + 1, "%lu of %lu", first, position);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[1].lanes[0].replica).position, first);
    ck_assert_uint_eq(nb_replica_digested(a.nodes[2].lanes[0].replica).position, 0);
    end(&a);
}
END_TEST

/* It makes no changes while it reads, so that it gives up. */
START_TEST(a_digest_takes_so_long_and_no_longer)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct nb_digest digest, again;
    struct nb_error error = {0};
    struct nb_engine *engine;
    mislead(&a, UINT64_MAX);
    engine = a.nodes[0].engine;
    for (int i = 0; i < 1500; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        ck_assert_uint_gt(train_one(&a.nodes[0], id), 0);
    }
    ck_assert_int_eq(nb_digest_within(engine, 0, 0, 0, &digest, &error), NB_TOO_LARGE);
    ck_assert_msg(strstr(error.text, "too large to be compared") != NULL, "%s", error.text);
    stop(&a.nodes[0]);
    ck_assert_int_eq(open_node(&a.nodes[0], 77, &error), 0);
    engine = a.nodes[0].engine;
    ck_assert_int_eq(nb_digest_within(engine, 0, 0, UINT64_MAX, &digest, &error), 0);
    ck_assert_int_eq(nb_digest(engine, 0, 0, &again, &error), 0);
    ck_assert_str_eq(digest.digits, again.digits);
    close_node(&a.nodes[0]);
    start(&a.nodes[0]);
    end(&a);
}
END_TEST

/* Servers of the stream may not agree which ids they know: no node uses one that was used before,
 * also when it comes to the same place later, with an empty store. */
START_TEST(what_nodes_tell_has_ids_of_its_own)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, UINT64_MAX);
    ck_assert_uint_gt(train_one(&a.nodes[0], "one"), 0);
    wait_until_agreed(&a, 1);
    usleep(1500000); /* all have had their turn */
    stop(n);
    test_folder_remove(n->directory);
    atomic_store(&n->sees, 1);
    size_t before = length_of(&a.stream);
    ck_assert_uint_ge(before, 3);
    start(n);
    while (length_of(&a.stream) == before && atomic_load(&a.stream.known) == 0)
        usleep(500);
    atomic_store(&n->sees, 0);
    ck_assert_uint_eq(atomic_load(&a.stream.known), 0);
    end(&a);
}
END_TEST

/* What they find is published by all of them, and again while it does not come back. */
START_TEST(what_nodes_find_has_ids_of_its_time)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[0];
    struct nb_settings settings;
    bool created;
    mislead(&a, UINT64_MAX);
    for (size_t i = 1; i < NODES; i++)
        stop(&a.nodes[i]);
    nb_settings_init(&settings, NB_PRESET_TEXT);
    settings.max_documents = 2;
    ck_assert_int_eq(nb_engine_put_model(n->engine, string_at("a"), &settings, false, string_at(""),
                                         &created, NULL),
                     0);
    nb_settings_deinit(&settings);
    atomic_store(&a.stream.loses, true);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_gt(train_one(n, (const char *[]){"one", "two", "three", "four"}[i]), 0);
    usleep(300000); /* from now on the writer looks once a second */
    pthread_mutex_lock(&a.stream.lock);
    a.stream.lost = 0;
    atomic_store(&a.stream.known, 0);
    pthread_mutex_unlock(&a.stream.lock);
    for (size_t lost = 0; lost < 12;) {
        usleep(10000);
        pthread_mutex_lock(&a.stream.lock);
        lost = a.stream.lost;
        pthread_mutex_unlock(&a.stream.lock);
    }
    ck_assert_uint_eq(atomic_load(&a.stream.known), 0);
    atomic_store(&a.stream.loses, false);
    for (size_t i = 1; i < NODES; i++)
        start(&a.nodes[i]);
    end(&a);
}
END_TEST

/* What it publishes before it has found out does not mislead the others. */
START_TEST(a_misled_node_publishes)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    struct node *n = &a.nodes[NODES - 1];
    mislead(&a, 3);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[0], (const char *[]){"one", "two", "three"}[i % 3]);
    wait_until_applied(n, 3);
    (void)train_one(n, "four"); /* unless it has found out so soon */
    wait_until_astray(n);
    ck_assert_uint_gt(train_one(&a.nodes[0], "five"), 0);
    ck_assert_uint_gt(train_one(&a.nodes[1], "six"), 0);
    size_t length = length_of(&a.stream);
    wait_until_applied(&a.nodes[0], length);
    for (size_t i = 1; i <= length; i++) {
        struct nb_witness w = message_at(&a.stream, i).witness;
        if (w.member == n->member && w.position >= 3)
            ck_assert_uint_gt(atomic_load(&a.nodes[0].warnings), 0);
    }
    end(&a);
}
END_TEST

/* The server that has another message leads: the stream has what that one has. */
START_TEST(the_others_find_out)
{
    static struct astray a;
    a = (struct astray){.root = ""};
    mislead(&a, 3);
    atomic_store(&a.stream.leads, true);
    for (size_t i = 0; length_of(&a.stream) < 3; i++)
        (void)train_one(&a.nodes[NODES - 1], (const char *[]){"one", "two", "three"}[i % 3]);
    for (size_t i = 0; i < NODES - 1; i++)
        wait_until_astray(&a.nodes[i]);
    ck_assert(!atomic_load(&a.nodes[NODES - 1].is_astray));
    end(&a);
}
END_TEST

/* ---- changes that were queued ---------------------------------------------------------------- */

/* The message at a place comes again, by an id that the stream has not: another spelling. */
static void repeat(struct node *n, uint64_t position, const char *id)
{
    const struct nb_witness none = {.member = n->member};
    struct message m = message_at(n->stream, position);
    size_t before = length_of(n->stream);
    ck_assert_int_eq(publish(&n->lanes[0], id, &none, nb_buffer_string(&m.bytes), NULL), 0);
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

/* ---- nodes that have a part of the models ---------------------------------------------------- */

static bool has_model(struct node *n, const char *name)
{
    return nb_engine_has_model(n->engine, string_at(name));
}

/* What is asked of the node for another model is refused, and not published. */
static void expect_elsewhere(struct node *n, const char *name)
{
    struct nb_batch *batch;
    struct nb_error error = {0};
    struct nb_document document = document_of(NB_DOCUMENT_TEXT, "some words");
    ck_assert_int_eq(nb_batch_new(n->engine, string_at(name), true, &batch, NULL), 0);
    ck_assert_int_eq(nb_batch_train(batch, &document, string_at("ham"), string_at("elsewhere"),
                                    string_at(""), NULL),
                     0);
    nb_engine_apply(n->engine, batch);
    ck_assert_int_eq(nb_batch_receipt(batch, 0)->code, NB_ELSEWHERE);
    nb_batch_free(&batch);
    int rc = nb_engine_delete_model(n->engine, string_at(name), string_at(""), &error);
    ck_assert_msg(rc == NB_ELSEWHERE || rc == NB_NOT_FOUND, "%d %s", rc, error.text);
}

static bool are_same_parts(struct history *h)
{
    struct node *whole = &h->nodes[0], *part = &h->nodes[1];
    bool same = true;
    for (unsigned k = 0; same && k < h->stream_count; k++)
        same = has_same_digest(h, part, &h->nodes[2], k);
    return same && is_same_node(h, whole, &h->nodes[NODES]) &&
           has_same_verdicts(h, whole, part, "a") &&
           (!has_model(whole, "a") || has_same_rows(h, whole, part, "a"));
}

static void expect_part(struct history *h)
{
    expect_same_at_the_end(h, are_same_parts);
    ck_assert_int_eq(has_model(&h->nodes[0], "a"), has_model(&h->nodes[1], "a"));
    for (size_t i = 1; i < MODELS; i++)
        ck_assert(!has_model(&h->nodes[1], model_names[i]));
}

/* Nodes may publish by themselves meanwhile, but not each time. */
static void expect_unpublished_elsewhere(struct history *h)
{
    uint64_t before;
    int tries = 0;
    do {
        before = total(h);
        expect_elsewhere(&h->nodes[1], "mail.x");
        ck_assert_int_lt(tries++, 100);
    } while (total(h) != before);
}

static void run_part(uint64_t seed)
{
    static struct history h;
    h = (struct history){
        .random = seed * 1000, .stream_count = seed % 2 == 0 ? 1 : STREAMS, .askers = 1};
    begin_history(&h, "a");
    for (uint64_t steps = 5 + below(&h, STEPS); steps > 0; steps--)
        step(&h);
    leave_out_all_unlabelled(&h);
    start(&h.nodes[NODES]);
    expect_part(&h);
    expect_unpublished_elsewhere(&h);
    end_history(&h);
}

START_TEST(some_have_a_part)
{
    unsigned long first = number_from("SEED", 1);
    unsigned long count = number_from("HISTORIES", 8);
    for (unsigned long seed = first; seed < first + count; seed++) {
        fprintf(stderr, "part %lu\n", seed);
        run_part(seed);
    }
}
END_TEST

/* Neither more nor less. */
START_TEST(the_part_stays)
{
    static const char *const others[] = {NULL, "", "m", "a,m"};
    struct history h = {.random = 1};
    struct node *n = &h.nodes[0];
    pthread_mutex_init(&h.streams[0].lock, NULL);
    test_folder_make(h.root);
    snprintf(n->directory, sizeof n->directory, "%s/0", h.root);
    n->stream = h.streams;
    n->follow = "a";
    start(n);
    train(n, "spam");
    stop(n);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct nb_error error = {0};
        n->follow = others[i];
        ck_assert_int_eq(open_node(n, 77, &error), NB_CONFLICT);
        ck_assert_msg(strstr(error.text, "[cluster] follow") != NULL, "%s", error.text);
        nb_engine_close(&n->engine);
    }
    n->follow = "a";
    start(n);
    expect_label(n, "spam");
    stop(n);
    stream_free(&h.streams[0]);
    test_folder_remove(h.root);
}
END_TEST

/* The node that has one of the two alone cannot know what the others make of it: it stops. */
START_TEST(a_family_is_not_divided)
{
    static struct history h;
    struct nb_settings settings;
    struct nb_error error = {0};
    bool created;
    h = (struct history){.random = 1, .stream_count = 1, .askers = 1};
    begin_history(&h, "a");
    nb_settings_init(&settings, NB_PRESET_TEXT);
    int rc = nb_engine_put_model(h.nodes[0].engine, string_at("parent"), &settings, false,
                                 string_at(""), &created, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    settings.parent = strdup("parent");
    rc = nb_engine_put_model(h.nodes[1].engine, string_at("a-child"), &settings, false,
                             string_at(""), &created, &error);
    ck_assert_int_eq(rc, NB_ELSEWHERE);
    rc = nb_engine_put_model(h.nodes[0].engine, string_at("a-child"), &settings, false,
                             string_at(""), &created, &error);
    ck_assert_msg(rc == 0, "%s", error.text);
    nb_settings_deinit(&settings);
    for (uint64_t until = nb_clock_monotonic() + UINT64_C(30000000000);
         !atomic_load(&h.nodes[1].is_astray);) {
        ck_assert(nb_clock_monotonic() < until);
        usleep(500);
    }
    ck_assert_int_eq(h.nodes[1].error.code, NB_VERSION);
    ck_assert_msg(strstr(h.nodes[1].error.text, "'a-child' gets 'parent'") != NULL, "%s",
                  h.nodes[1].error.text);
    ck_assert(!has_model(&h.nodes[1], "a-child") && has_model(&h.nodes[0], "a-child"));
    start(&h.nodes[NODES]);
    end_history(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("replica");
    TCase *t = tcase_create("replica");
    suite_add_tcase(s, t);
    tcase_set_timeout(t, 0); /* whoever asks for more histories waits longer */
    tcase_add_test(t, a_stream_is_made_twice);
    tcase_add_test(t, a_stream_says_another_time);
    tcase_add_test(t, a_stream_is_made_anew);
    tcase_add_test(t, nodes_compare_what_they_have_learned);
    tcase_add_test(t, nodes_do_not_compare_all_the_time);
    tcase_add_test(t, a_digest_takes_so_long_and_no_longer);
    tcase_add_test(t, a_stream_that_says_another_time_is_compared);
    tcase_add_test(t, a_stream_says_another_time_and_no_more);
    tcase_add_test(t, a_model_that_is_not_stored_yet_gives_no_words);
    tcase_add_test(t, a_receipt_waits_until_it_is_acknowledged);
    tcase_add_test(t, a_receipt_has_the_place_that_is_acknowledged);
    tcase_add_test(t, a_misled_node_finds_out);
    tcase_add_test(t, misled_nodes_that_agree_find_out_when_they_start);
    tcase_add_test(t, misled_nodes_that_agree_find_out_late);
    tcase_add_test(t, a_misled_node_publishes);
    tcase_add_test(t, what_nodes_tell_has_ids_of_its_own);
    tcase_add_test(t, what_nodes_find_has_ids_of_its_time);
    tcase_add_test(t, the_others_find_out);
    tcase_add_test(t, what_was_queued_is_made_once);
    tcase_add_test(t, the_part_stays);
    tcase_add_test(t, a_family_is_not_divided);
    tcase_add_test(t, some_have_a_part);
    tcase_add_test(t, nodes_say_the_same);
    SRunner *runner = srunner_create(s);
    if (nb_tokenizer_setup(NULL) != 0)
        return EXIT_FAILURE;
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    nb_tokenizer_teardown();
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
