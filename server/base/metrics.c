/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/metrics.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/key.h"
#include "core/base/platform/platform.h"
#include "core/base/system.h"
#include "core/engine/engine.h"

/* The users whose mail was learned or judged since the start. A slot has the hash of a user, with
 * NB_USER_TAUGHT and NB_USER_ASKED in its lowest bits; 0: free. There are more slots than users, so
 * that a search ends at a free one. */
enum { SLOTS = 65536 };
static_assert((int)SLOTS > (int)NB_MAIL_USERS_MOST, "a search ends at a free slot");
static_assert((NB_USER_SEEN & (NB_USER_SEEN - 1)) == 0, "the lowest bits of a slot");
static const uint64_t SEEN = NB_USER_SEEN - 1;

struct mail_users {
    pthread_mutex_t lock; /* guards the members below; no other lock is taken while it is held */
    struct nb_key key;
    uint64_t *slots;                     /* owned, 512 KB; NULL before the first user */
    size_t count, by_seen[NB_USER_SEEN]; /* number of users: all; by the bits in their slots */
};

/* The statuses of the daemon's replies; the first stands for clients that left, the last for all
 * others. */
static const unsigned STATUSES[] = {0,   200, 201, 202, 204, 208, 304, 400, 401,
                                    403, 404, 405, 408, 409, 411, 413, 414, 415,
                                    417, 421, 422, 429, 431, 500, 503, 505, 999};
/* Upper bounds of the latency buckets in microseconds. A verdict takes tens of microseconds, a
 * commit thousands. */
static const uint64_t BUCKETS[] = {50,     100,     250,     500,     1000,   2500,
                                   5000,   10000,   25000,   50000,   100000, 250000,
                                   500000, 1000000, 2500000, 10000000};
enum {
    STATUS_COUNT = sizeof STATUSES / sizeof STATUSES[0],
    BUCKET_COUNT = sizeof BUCKETS / sizeof BUCKETS[0]
};

struct route_counters {
    _Alignas(64) atomic_ullong statuses[STATUS_COUNT];
    atomic_ullong buckets[BUCKET_COUNT + 1]; /* not cumulative; last: above all bounds */
    atomic_ullong nanoseconds;
};

struct nb_metrics {
    size_t count;
    const char *const *methods, *const *patterns;
    const char *version;
    int64_t started; /* milliseconds since 1970 */
    atomic_llong connections;
    atomic_ullong accepted, bytes_in, bytes_out, verdicts;
    struct route_counters *routes; /* one for each route, and one for requests without a route */
    const char *const *action_names;
    size_t action_count;
    atomic_ullong actions[NB_METRICS_ACTIONS];
    atomic_ullong refused[NB_REFUSED_REASONS];
    struct mail_users users;
};

struct nb_metrics *nb_metrics_new(const char *const *methods, const char *const *patterns,
                                  size_t count, const char *version)
{
    struct nb_metrics *metrics = calloc(1, sizeof *metrics);
    if (metrics == NULL)
        return NULL;
    size_t bytes = (count + 1) * sizeof metrics->routes[0];
    metrics->routes = nb_aligned_alloc(_Alignof(struct route_counters), bytes);
    if (metrics->routes == NULL) {
        free(metrics);
        return NULL;
    }
    for (size_t i = 0; i <= count; i++)
        metrics->routes[i] = (struct route_counters){.nanoseconds = 0};
    metrics->count = count;
    metrics->methods = methods;
    metrics->patterns = patterns;
    metrics->version = version;
    metrics->started = nb_clock_now();
    (void)pthread_mutex_init(&metrics->users.lock, NULL); /* cannot fail with the GNU library */
    return metrics;
}

void nb_metrics_free(struct nb_metrics **metrics)
{
    if (*metrics == NULL)
        return;
    free((*metrics)->users.slots);
    (void)pthread_mutex_destroy(&(*metrics)->users.lock); /* fails only when locked: a bug */
    free((*metrics)->routes);
    free(*metrics);
    *metrics = NULL;
}

static void add(atomic_ullong *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static uint64_t get(const atomic_ullong *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void nb_metrics_request(struct nb_metrics *metrics, size_t route, unsigned status,
                        uint64_t nanoseconds, uint64_t bytes_in, uint64_t bytes_out)
{
    struct route_counters *r = &metrics->routes[route < metrics->count ? route : metrics->count];
    size_t s = 0;
    while (s < STATUS_COUNT - 1 && STATUSES[s] != status)
        s++;
    size_t b = 0;
    while (b < BUCKET_COUNT && nanoseconds > BUCKETS[b] * 1000)
        b++;
    add(&r->statuses[s], 1);
    add(&r->buckets[b], 1);
    add(&r->nanoseconds, nanoseconds);
    add(&metrics->bytes_in, bytes_in);
    add(&metrics->bytes_out, bytes_out);
}

void nb_metrics_connection(struct nb_metrics *metrics, int change)
{
    atomic_fetch_add_explicit(&metrics->connections, change, memory_order_relaxed);
    if (change > 0)
        add(&metrics->accepted, 1);
}

void nb_metrics_name_actions(struct nb_metrics *metrics, const char *const *names, size_t count)
{
    assert(count <= NB_METRICS_ACTIONS);
    metrics->action_names = names;
    metrics->action_count = count;
}

void nb_metrics_mail(struct nb_metrics *metrics, size_t action)
{
    assert(action < metrics->action_count);
    add(&metrics->actions[action], 1);
}

uint64_t nb_metrics_mails(const struct nb_metrics *metrics, size_t action)
{
    assert(action < metrics->action_count);
    return get(&metrics->actions[action]);
}

void nb_metrics_verdict(struct nb_metrics *metrics)
{
    add(&metrics->verdicts, 1);
}

static uint64_t *find_user(const struct mail_users *users, uint64_t hash)
{
    assert(users->slots != NULL && users->count < SLOTS);
    size_t at = (size_t)(hash >> 32) % SLOTS;
    while (users->slots[at] != 0 && (users->slots[at] & ~SEEN) != (hash & ~SEEN))
        at = (at + 1) % SLOTS;
    return &users->slots[at];
}

static void note_user(struct mail_users *users, struct nb_string model, unsigned seen)
{
    if (users->slots == NULL) { /* made for the first user, because many daemons have no users */
        users->slots = calloc(SLOTS, sizeof *users->slots);
        if (users->slots == NULL)
            return;
        nb_key_generate(&users->key);
    }
    uint64_t hash = nb_key_hash(&users->key, model.bytes, model.length);
    uint64_t *slot = find_user(users, hash);
    assert(users->count <= NB_MAIL_USERS_MOST);
    if (*slot == 0 && users->count == NB_MAIL_USERS_MOST)
        return;
    if (*slot == 0)
        users->count++;
    else
        users->by_seen[*slot & SEEN]--;
    *slot = (hash & ~SEEN) | (*slot & SEEN) | seen;
    users->by_seen[*slot & SEEN]++;
}

void nb_metrics_user(struct nb_metrics *metrics, struct nb_string model, unsigned seen)
{
    assert(seen == NB_USER_TAUGHT || seen == NB_USER_ASKED);
    pthread_mutex_lock(&metrics->users.lock);
    note_user(&metrics->users, model, seen);
    pthread_mutex_unlock(&metrics->users.lock);
}

void nb_metrics_refused(struct nb_metrics *metrics, enum nb_refused reason)
{
    assert(reason < NB_REFUSED_REASONS);
    add(&metrics->refused[reason], 1);
}

/* ---- the page -------------------------------------------------------------------------------- */

/* The page and the code of the first failure. After a failure nothing is appended, so the code is
 * checked only once, at the end. */
struct page {
    struct nb_buffer *out;
    int code;
};

#define PRINT(page, ...)                                                                           \
    do {                                                                                           \
        if ((page)->code == 0)                                                                     \
            (page)->code = nb_buffer_printf((page)->out, __VA_ARGS__);                             \
    } while (0)

static void print_head(struct page *page, const char *name, const char *type, const char *help)
{
    PRINT(page, "# HELP bayesd_%s %s\n# TYPE bayesd_%s %s\n", name, help, name, type);
}

static void print_one(struct page *page, const char *name, const char *type, const char *help,
                      double value)
{
    print_head(page, name, type, help);
    PRINT(page, "bayesd_%s %.17g\n", name, value);
}

static const char *method_of(const struct nb_metrics *m, size_t route)
{
    return route < m->count ? m->methods[route] : "";
}

static const char *pattern_of(const struct nb_metrics *m, size_t route)
{
    return route < m->count ? m->patterns[route] : "other";
}

static void print_statuses(struct page *page, const struct nb_metrics *m, size_t route)
{
    for (size_t s = 0; s < STATUS_COUNT; s++) {
        uint64_t n = get(&m->routes[route].statuses[s]);
        if (n == 0)
            continue;
        char number[8];
        (void)snprintf(number, sizeof number, "%u", STATUSES[s]);
        const char *status = s == 0 ? "gone" : s == STATUS_COUNT - 1 ? "other" : number;
        PRINT(page, "bayesd_http_requests_total{method=\"%s\",route=\"%s\",status=\"%s\"} %llu\n",
              method_of(m, route), pattern_of(m, route), status, (unsigned long long)n);
    }
}

static void print_histogram(struct page *page, const struct nb_metrics *m, size_t route)
{
    const struct route_counters *r = &m->routes[route];
    uint64_t total = 0;
    for (size_t b = 0; b <= BUCKET_COUNT; b++)
        total += get(&r->buckets[b]);
    if (total == 0)
        return;
    const char *name = "bayesd_http_request_seconds";
    const char *method = method_of(m, route), *pattern = pattern_of(m, route);
    uint64_t below = 0;
    for (size_t b = 0; b < BUCKET_COUNT; b++) {
        below += get(&r->buckets[b]);
        /* Counters change while they are read: a bucket must not exceed the total. */
        PRINT(page, "%s_bucket{method=\"%s\",route=\"%s\",le=\"%g\"} %llu\n", name, method, pattern,
              (double)BUCKETS[b] / 1e6, (unsigned long long)(below < total ? below : total));
    }
    PRINT(page, "%s_bucket{method=\"%s\",route=\"%s\",le=\"+Inf\"} %llu\n", name, method, pattern,
          (unsigned long long)total);
    PRINT(page, "%s_sum{method=\"%s\",route=\"%s\"} %.9f\n", name, method, pattern,
          (double)get(&r->nanoseconds) / 1e9);
    PRINT(page, "%s_count{method=\"%s\",route=\"%s\"} %llu\n", name, method, pattern,
          (unsigned long long)total);
}

static void print_http(struct page *page, const struct nb_metrics *m)
{
    print_head(page, "http_requests_total", "counter", "Requests by route and status.");
    for (size_t i = 0; i <= m->count; i++)
        print_statuses(page, m, i);
    print_head(page, "http_request_seconds", "histogram",
               "Time from a request's header fields to the end of its reply.");
    for (size_t i = 0; i <= m->count; i++)
        print_histogram(page, m, i);
    print_one(page, "http_connections", "gauge", "Open connections.",
              (double)atomic_load_explicit(&m->connections, memory_order_relaxed));
    print_one(page, "http_connections_total", "counter", "Connections accepted.",
              (double)get(&m->accepted));
    print_one(page, "http_received_bytes_total", "counter", "Bytes of request bodies.",
              (double)get(&m->bytes_in));
    print_one(page, "http_sent_bytes_total", "counter", "Bytes of reply bodies.",
              (double)get(&m->bytes_out));
}

/* The statistics of the engine that consist of one number. */
static const struct {
    const char *name, *type, *help;
    size_t offset;
    double scale;
} ENGINE[] = {
#define FIELD(name) offsetof(struct nb_engine_statistics, name)
    {"models", "gauge", "Models in the store.", FIELD(models), 1},
    {"models_loaded", "gauge", "Models in memory.", FIELD(models_loaded), 1},
    {"models_damaged", "gauge", "Models that cannot be used: their stored bytes are damaged.",
     FIELD(models_damaged), 1},
    {"models_upgrading", "gauge",
     "Models that cannot be used yet: an older version has stored them, and they are computed "
     "anew.",
     FIELD(upgrades_left), 1},
    {"models_with_parent", "gauge", "Models that read the counts of a parent as well.",
     FIELD(models_with_parent), 1},
    {"documents", "gauge", "Learned documents of loaded models.", FIELD(documents), 1},
    {"unlabelled_documents", "gauge", "Documents without a label of loaded models.",
     FIELD(unlabelled), 1},
    {"vocabulary", "gauge", "Distinct tokens of loaded models.", FIELD(vocabulary), 1},
    {"model_memory_bytes", "gauge", "Memory of loaded models.", FIELD(memory), 1},
    {"history_remembered_total", "counter", "Verdicts that were noted for the history of a model.",
     FIELD(remembered), 1},
    {"history_dropped_total", "counter",
     "Verdicts that were not kept because too many waited to be written.", FIELD(remember_dropped),
     1},
    {"history_waiting", "gauge", "Verdicts that are not written to a history yet.",
     FIELD(remember_waiting), 1},
    {"tokens_learned_total", "counter", "Token positions learned.", FIELD(tokens_learned), 1},
    {"commits_total", "counter", "Commits of changes to the store.", FIELD(commits), 1},
    {"commit_failures_total", "counter", "Commits that failed.", FIELD(commit_failures), 1},
    {"commit_seconds_total", "counter", "Time spent in commits.", FIELD(commit_nanoseconds), 1e-9},
    {"commit_changes_total", "counter", "Changes committed; over commits, the mean batch.",
     FIELD(commit_changes), 1},
    {"refits_waiting", "gauge",
     "Loaded models whose weights are being fitted anew, or wait for it.", FIELD(refits), 1},
    {"features_dropped_total", "counter", "Features that no document had any more, dropped.",
     FIELD(features_dropped), 1},
    {"queued_changes", "gauge", "Changes that wait for the writer.", FIELD(queued), 1},
    {"replay_features", "gauge", "Feature changes that a start would have to replay.",
     FIELD(replay_features), 1},
    {"store_bytes", "gauge", "Used bytes of the data file.", FIELD(store_bytes), 1},
    {"store_free_bytes", "gauge", "Of these, bytes that wait to be used again.", FIELD(store_free),
     1},
    {"store_map_bytes", "gauge", "Address space of the data file.", FIELD(map_bytes), 1},
    {"disk_bytes", "gauge", "Size of the file system of the data directory.", FIELD(disk_bytes), 1},
    {"disk_free_bytes", "gauge", "Of these, bytes that the daemon may still write.",
     FIELD(disk_left), 1},
};

static const struct {
    const char *status;
    size_t offset;
} CHANGES[] = {
    {"learned", FIELD(learned)},         {"unchanged", FIELD(unchanged)},
    {"relabelled", FIELD(relabelled)},   {"updated", FIELD(updated)},
    {"forgotten", FIELD(forgotten)},     {"aged", FIELD(aged)},
    {"quarantined", FIELD(quarantined)}, {"near_duplicate", FIELD(near_duplicates)},
    {"stored", FIELD(stored)},           {"failed", FIELD(failed)},
#undef FIELD
};

static uint64_t number_at(const struct nb_engine_statistics *engine, size_t offset)
{
    assert(offset + sizeof(uint64_t) <= sizeof *engine);
    return *(const uint64_t *)(const void *)((const char *)engine + offset);
}

static void print_engine(struct page *page, const struct nb_engine_statistics *engine)
{
    print_head(page, "changes_total", "counter", "Changes to models by what became of them.");
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++)
        PRINT(page, "bayesd_changes_total{status=\"%s\"} %llu\n", CHANGES[i].status,
              (unsigned long long)number_at(engine, CHANGES[i].offset));
    for (size_t i = 0; i < sizeof ENGINE / sizeof ENGINE[0]; i++)
        print_one(page, ENGINE[i].name, ENGINE[i].type, ENGINE[i].help,
                  (double)number_at(engine, ENGINE[i].offset) * ENGINE[i].scale);
}

static void print_mails(struct page *page, const struct nb_metrics *metrics)
{
    if (metrics->action_count == 0)
        return;
    print_head(page, "filter_mails_total", "counter",
               "Mails judged for mail filters, by the action they were told.");
    for (size_t i = 0; i < metrics->action_count; i++)
        PRINT(page, "bayesd_filter_mails_total{action=\"%s\"} %llu\n", metrics->action_names[i],
              (unsigned long long)nb_metrics_mails(metrics, i));
}

static void print_users(struct page *page, struct nb_metrics *metrics)
{
    static const char *const names[NB_USER_SEEN] = {[NB_USER_TAUGHT] = "taught",
                                                    [NB_USER_ASKED] = "asked",
                                                    [NB_USER_TAUGHT | NB_USER_ASKED] = "both"};
    print_head(page, "filter_users", "gauge",
               "Users with models of their own, since the start, by what happened: mail of theirs "
               "was only learned (taught), only judged (asked), or both.");
    pthread_mutex_lock(&metrics->users.lock);
    for (unsigned seen = NB_USER_TAUGHT; seen < NB_USER_SEEN; seen++)
        PRINT(page, "bayesd_filter_users{seen=\"%s\"} %zu\n", names[seen],
              metrics->users.by_seen[seen]);
    pthread_mutex_unlock(&metrics->users.lock);
}

static void print_refused(struct page *page, const struct nb_metrics *metrics)
{
    static const char *const reasons[NB_REFUSED_REASONS] = {"unknown_token", "rate_failures",
                                                            "rate_classify", "rate_train"};
    print_head(page, "refused_total", "counter",
               "Requests and documents refused for want of a token or for a rate, by the reason.");
    for (size_t i = 0; i < NB_REFUSED_REASONS; i++)
        PRINT(page, "bayesd_refused_total{reason=\"%s\"} %llu\n", reasons[i],
              (unsigned long long)get(&metrics->refused[i]));
}

int nb_metrics_write(struct nb_metrics *metrics, const struct nb_engine_statistics *engine,
                     struct nb_buffer *out)
{
    struct page page = {out, 0};
    print_head(&page, "info", "gauge", "The program's version.");
    PRINT(&page, "bayesd_info{version=\"%s\"} 1\n", metrics->version);
    /* These names lack the prefix "bayesd_", because every Prometheus client library uses them. */
    PRINT(&page,
          "# HELP process_start_time_seconds Start of the process, seconds since 1970.\n"
          "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %.3f\n",
          (double)metrics->started / 1e3);
    PRINT(&page,
          "# HELP process_resident_memory_bytes Memory of the process.\n"
          "# TYPE process_resident_memory_bytes gauge\nprocess_resident_memory_bytes %.0f\n",
          (double)nb_platform_memory().resident);
    print_http(&page, metrics);
    if (engine != NULL)
        print_engine(&page, engine);
    print_mails(&page, metrics);
    print_users(&page, metrics);
    print_one(&page, "verdicts_total", "counter",
              "Verdicts on documents; of a mail for mail filters the one that they are told.",
              (double)get(&metrics->verdicts));
    print_refused(&page, metrics);
    return page.code;
}

int nb_metrics_one(struct nb_buffer *out, const char *name, const char *help, double value)
{
    struct page page = {out, 0};
    const char *end = strrchr(name, '_');
    bool is_counter = end != NULL && strcmp(end, "_total") == 0;
    print_one(&page, name, is_counter ? "counter" : "gauge", help, value);
    return page.code;
}
