/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/send/bench_load.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/call/path.h"

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
    line->rc = nb_call_open(&line->load->client->daemon, &call, &line->error);
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

int nb_load_run(const struct nb_load *load, struct nb_load_result *result, struct nb_error *error)
{
    struct nb_buffer path = {0};
    struct line *lines = calloc(load->connections, sizeof *lines);
    size_t started = 0;
    *result = (struct nb_load_result){0};
    assert(load->count > 0 && load->connections > 0 && load->connections <= NB_LOAD_CONNECTIONS);
    int rc = lines == NULL || nb_path_model(&path, load->client->model, "/classify") != 0
                 ? nb_error_no_memory(error)
                 : 0;
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
