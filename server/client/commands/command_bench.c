/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc bench: measures how fast the running daemon classifies the user's own documents.
 */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/system.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/evaluate/labelled_corpus.h"
#include "server/client/files/files.h"

/* Classifies the same documents again and again over several connections, and measures each
 * request. The caller's thread starts one thread for each connection and waits for them. */
enum { NB_LOAD_CONNECTIONS = 256 };

struct nb_load_body {
    struct nb_string bytes;
    bool is_mail;
};

struct nb_load {
    const struct nb_asked *asked;      /* borrowed, like the bodies */
    const struct nb_load_body *bodies; /* at least one */
    size_t count;
    size_t connections; /* 1 to NB_LOAD_CONNECTIONS */
    double seconds;     /* no request begins after this time */
};

struct nb_load_result {
    uint64_t *times; /* owned by the caller: ns of each request that was answered, ascending */
    size_t answered;
    uint64_t failed, bytes; /* failed requests; bytes of the answered documents */
    double seconds;         /* until the last reply */
};

#define NS 1e9

/* One connection. Its own thread writes it; others read it after that thread has ended. */
struct line {
    const struct nb_load *load;
    const char *path;
    size_t first; /* index of its first document: connections begin at different documents */
    uint64_t end; /* of the monotonic clock, ns */
    pthread_t thread;
    struct nb_buffer times; /* owned: uint64_t, one after the other */
    uint64_t failed, bytes;
    int rc;
    struct nb_error error;
};

static size_t answered(const struct line *line)
{
    return line->times.length / sizeof(uint64_t);
}

/* Classifies one document. Returns 0, or a code that ends the line. */
static int ask(struct line *line, struct nb_call *call, const struct nb_load_body *body,
               struct nb_buffer *reply)
{
    const struct nb_call_request request = {
        .method = "POST",
        .path = line->path,
        .type = body->is_mail ? "message/rfc822" : "text/plain",
        .body = body->bytes,
    };
    uint64_t start = nb_clock_monotonic();
    int rc = nb_call_make(call, &request, reply, &line->error);
    uint64_t took = nb_clock_monotonic() - start;
    if (rc != 0) {
        line->failed++;
        return answered(line) == 0 ? rc : 0;
    }
    line->bytes += body->bytes.length;
    return nb_buffer_append(&line->times, (const char *)&took, sizeof took);
}

static void *run_line(void *user)
{
    struct line *line = user;
    struct nb_call *call = NULL;
    struct nb_buffer reply = {0};
    line->rc = nb_call_open(&line->load->asked->client->daemon, &call, &line->error);
    for (size_t i = line->first; line->rc == 0 && nb_clock_monotonic() < line->end; i++)
        line->rc = ask(line, call, &line->load->bodies[i % line->load->count], &reply);
    nb_buffer_deinit(&reply);
    nb_call_close(&call);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Adds up the results of all lines. */
static int gather(struct line *lines, size_t count, struct nb_load_result *result,
                  struct nb_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += answered(&lines[i]);
    result->times = malloc((total + 1) * sizeof *result->times);
    if (result->times == NULL)
        return nb_error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const struct line *line = &lines[i];
        for (size_t k = 0; k < answered(line); k++)
            memcpy(&result->times[result->answered++], line->times.bytes + k * sizeof(uint64_t),
                   sizeof(uint64_t));
        result->failed += line->failed;
        result->bytes += line->bytes;
    }
    qsort(result->times, total, sizeof *result->times, compare);
    if (total > 0)
        return 0;
    *error = lines[0].error;
    return lines[0].rc != 0 ? lines[0].rc
                            : nb_error_set(error, NB_CALL_BUSY, "no request was answered in time");
}

/* Runs the load. A failed request is counted. A connection ends if a request fails before any of
 * its requests was answered. Returns 0 when any request was answered, otherwise the code of a
 * failure; free(result->times) is needed in both cases. */
static int load_run(const struct nb_load *load, struct nb_load_result *result,
                    struct nb_error *error)
{
    static const struct nb_exchange CLASSIFYING = {.path = "/v1/models/{model}/classify"};
    struct nb_buffer path = {0};
    struct line *lines = calloc(load->connections, sizeof *lines);
    size_t started = 0;
    *result = (struct nb_load_result){0};
    assert(load->count > 0 && load->connections > 0 && load->connections <= NB_LOAD_CONNECTIONS);
    int rc = lines == NULL ? nb_error_no_memory(error)
                           : nb_exchange_path(&CLASSIFYING, load->asked, &path, error);
    uint64_t start = nb_clock_monotonic();
    for (; rc == 0 && started < load->connections; started++) {
        lines[started] = (struct line){.load = load,
                                       .path = path.bytes,
                                       .first = started * load->count / load->connections,
                                       .end = start + (uint64_t)(load->seconds * NS)};
        if (pthread_create(&lines[started].thread, NULL, run_line, &lines[started]) != 0) {
            rc = nb_error_no_memory(error);
            break;
        }
    }
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(lines[i].thread, NULL);
    result->seconds = (double)(nb_clock_monotonic() - start) / NS;
    if (rc == 0)
        rc = gather(lines, started, result, error);
    for (size_t i = 0; i < started; i++)
        nb_buffer_deinit(&lines[i].times);
    free(lines);
    nb_buffer_deinit(&path);
    return rc;
}

uint64_t nb_load_quantile(const uint64_t *times, size_t count, double share)
{
    assert(share > 0 && share <= 1);
    size_t rank = (size_t)ceil(share * (double)count);
    return count == 0 ? 0 : times[rank > 0 ? rank - 1 : 0];
}

/* Limits of the documents in memory: more than any cache of the daemon holds. */
enum { BODIES_MOST = 10000, BYTES_MOST = 256 * 1024 * 1024, SEED = 1 };

static const struct nb_flag FLAGS[] = {
    NB_FILES_FLAGS,
    NB_COUNT("connections", 'c', connections, 4, 1, NB_LOAD_CONNECTIONS),
    NB_NUMBER("seconds", 's', seconds, 10, 0.1, 3600),
};

static const struct {
    const char *name, *title;
    double share;
} QUANTILES[] = {{"p50", "50 %", .5},
                 {"p90", "90 %", .9},
                 {"p99", "99 %", .99},
                 {"p999", "99.9 %", .999},
                 {"max", "all", 1}};
enum { QUANTILE_COUNT = sizeof QUANTILES / sizeof QUANTILES[0] };

/* ---- documents ------------------------------------------------------------------------------- */

struct bodies {
    struct nb_load_body list[BODIES_MOST];
    size_t count, bytes;
};

/* Copies a document. Documents with only values are left out: this request has no content for
 * them. */
static int add_body(struct bodies *bodies, const struct nb_item *item, struct nb_error *error)
{
    if (item->content.length == 0)
        return 0;
    char *copy = nb_string_copy(item->content);
    if (copy == NULL)
        return nb_error_no_memory(error);
    bodies->list[bodies->count++] =
        (struct nb_load_body){{copy, item->content.length}, item->is_mail};
    bodies->bytes += item->content.length;
    return 0;
}

/* Reads the documents and keeps a random sample. */
static int read_bodies(const struct nb_asked *asked, struct bodies *bodies, struct nb_error *error)
{
    struct nb_files_options files = asked->options->files;
    struct nb_labelled_corpus corpus = {0};
    files.label = "none"; /* a corpus needs labels; they are not used here */
    int rc = nb_labelled_corpus_read(&corpus, &files, asked->arguments, asked->count, error);
    nb_labelled_corpus_shuffle(&corpus, SEED);
    for (size_t i = 0;
         rc == 0 && i < corpus.count && bodies->count < BODIES_MOST && bodies->bytes < BYTES_MOST;
         i++) {
        struct nb_item item;
        rc = nb_labelled_corpus_get(&corpus, i, &item, error);
        if (rc == 0)
            rc = add_body(bodies, &item, error);
    }
    nb_labelled_corpus_deinit(&corpus);
    if (rc == 0 && bodies->count == 0)
        rc = nb_error_set(error, NB_INVALID, "there is no document to classify");
    return rc;
}

/* ---- output ---------------------------------------------------------------------------------- */

static int print_json(const struct bodies *bodies, const struct nb_load_result *result,
                      struct nb_error *error)
{
    json_t *object = json_pack("{s:I, s:I, s:I, s:f, s:f, s:f}", "documents",
                               (json_int_t)bodies->count, "requests", (json_int_t)result->answered,
                               "failed", (json_int_t)result->failed, "seconds", result->seconds,
                               "requests_per_second", (double)result->answered / result->seconds,
                               "bytes_per_second", (double)result->bytes / result->seconds);
    json_t *latency = json_object();
    for (size_t i = 0; i < QUANTILE_COUNT; i++)
        (void)json_object_set_new(
            latency, QUANTILES[i].name,
            json_real(
                (double)nb_load_quantile(result->times, result->answered, QUANTILES[i].share) /
                1e9));
    (void)json_object_set_new(object, "latency_seconds", latency);
    int rc = nb_answer_print(object, error);
    json_decref(object);
    return rc;
}

static void print_text(const struct bodies *bodies, const struct nb_load_result *result,
                       uint64_t connections)
{
    (void)printf("%s requests in %.1f s over %ju connections, with %s documents of %.1f KB on "
                 "average\n",
                 nb_figure_of(result->answered).text, result->seconds, (uintmax_t)connections,
                 nb_figure_of(bodies->count).text,
                 (double)bodies->bytes / (double)bodies->count / 1e3);
    (void)printf("%s requests/s, %.2f MB/s\n",
                 nb_figure_of((uint64_t)((double)result->answered / result->seconds)).text,
                 (double)result->bytes / result->seconds / 1e6);
    for (size_t i = 0; i < QUANTILE_COUNT; i++)
        (void)printf("%6s answered within %.2f ms\n", QUANTILES[i].title,
                     (double)nb_load_quantile(result->times, result->answered, QUANTILES[i].share) /
                         1e6);
    if (result->failed > 0)
        nb_message("%s requests failed", nb_figure_of(result->failed).text);
}

static int measure(const struct nb_asked *asked, const struct bodies *bodies,
                   struct nb_error *error)
{
    const struct nb_load load = {.asked = asked,
                                 .bodies = bodies->list,
                                 .count = bodies->count,
                                 .connections = (size_t)asked->options->connections,
                                 .seconds = asked->options->seconds};
    struct nb_load_result result;
    int rc = load_run(&load, &result, error);
    if (rc == 0 && asked->client->json)
        rc = print_json(bodies, &result, error);
    else if (rc == 0)
        print_text(bodies, &result, asked->options->connections);
    free(result.times);
    return rc;
}

static int run_bench(struct nb_asked *asked, struct nb_error *error)
{
    struct bodies *bodies = calloc(1, sizeof *bodies);
    int rc = bodies == NULL ? nb_error_no_memory(error) : read_bodies(asked, bodies, error);
    if (rc == 0)
        rc = measure(asked, bodies, error);
    for (size_t i = 0; bodies != NULL && i < bodies->count; i++)
        free((char *)(uintptr_t)bodies->list[i].bytes.bytes); /* copied by add_body */
    free(bodies);
    return rc;
}

const struct nb_command NB_COMMAND_BENCH = {
    .name = "bench",
    NB_FLAGS(FLAGS),
    .most = SIZE_MAX,
    .run = run_bench,
};
