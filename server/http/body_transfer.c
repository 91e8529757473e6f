/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/body_transfer.h"

#include <assert.h>
#include <stdlib.h>

#include "config/config.h"
#include "core/base/system.h"
#include "server/base/ndjson.h"
#include "server/http/budget.h"
#include "server/http/decoder.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

enum {
    CHUNK_BYTES = 64 * 1024,   /* bytes of decoded output at a time */
    LARGE_BYTES = 64 * 1024,   /* size of a body that would delay others for milliseconds */
    LINES_OF_LOOK = 8,         /* the clock is read after this many lines */
    TURN_NS = 2 * 1000 * 1000, /* how long a body may use a thread before others get it */
};

struct nb_transfer {
    struct nb_decoder *decoder;
    bool is_plain; /* no coding: lines are cut out of the input itself */
    struct nb_buffer whole;
    struct nb_splitter splitter;
    char *chunk;               /* decoded bytes, CHUNK_BYTES of room ... */
    struct nb_string decoded;  /* ... and the part of them not yet cut into lines */
    uint64_t packed, unpacked; /* bytes that the decoder of lines has taken and produced */
    struct nb_hold hold;       /* the share of the budget for bodies */
    bool is_last_given;        /* the line after the last line feed was passed on */
    struct nb_buffer piece;    /* for a pool: a copy of the last piece, ... */
    struct nb_string left;     /* ... and the rest of it */
};

int nb_transfer_begin(struct nb_request *request, enum nb_coding coding, struct nb_error *error)
{
    struct nb_transfer *t = calloc(1, sizeof *t);
    assert(request->transfer == NULL);
    if (t == NULL)
        return nb_error_no_memory(error);
    request->transfer = t;
    t->hold.budget = &request->server->budgets[NB_BUDGET_BODIES];
    t->is_plain = coding == NB_CODING_IDENTITY;
    nb_splitter_init(&t->splitter, (size_t)request->config->line_bytes);
    if (nb_decoder_new(coding, &t->decoder) != 0)
        return nb_error_no_memory(error);
    if (request->is_lines && !t->is_plain) {
        t->chunk = malloc(CHUNK_BYTES);
        if (t->chunk == NULL)
            return nb_error_no_memory(error);
    }
    return 0;
}

static int count_memory(struct nb_request *request, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    return nb_hold_set(&t->hold, nb_held_by(&t->whole) + nb_held_by(&t->splitter.rest), error);
}

static void release(struct nb_request *request)
{
    struct nb_transfer *t = request->transfer;
    nb_spare_give(&request->server->spare, &t->whole, nb_clock_monotonic());
    (void)nb_hold_set(&t->hold, 0, NULL); /* reducing a hold never fails */
}

/* Whether a pool works on the lines. */
static bool is_pooled(const struct nb_request *request)
{
    return request->route->is_long || request->route->is_stream;
}

/* Whether the turn that began at `start` is over. */
static bool is_over(uint64_t start)
{
    return nb_clock_monotonic() - start > TURN_NS;
}

/* Whether a request on a shared thread has worked long enough since `start`. Long work has threads
 * of its own. */
static bool must_yield(const struct nb_request *request, uint64_t start)
{
    return !request->route->is_long && is_over(start);
}

/* Lets other requests use the thread. Requests on a pool need not yield. */
static int yield(struct nb_request *request, struct nb_error *error)
{
    return request->work != NULL ? NB_WAIT : nb_request_yield(request, error);
}

/* Passes lines to the route until `text` has no more, or until the turn that began at `start` is
 * over: then returns NB_WAIT. */
static int give_lines(struct nb_request *request, struct nb_string *text, uint64_t start,
                      struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    struct nb_ndjson_line line;
    assert(request->is_lines && request->route->line != NULL);
    size_t count = 0;
    int rc;
    while ((rc = nb_splitter_next(&t->splitter, text, &line)) == 1) {
        rc = request->route->line(request, &line, error);
        if (rc != 0)
            return rc;
        if (++count % LINES_OF_LOOK == 0 && text->length > 0 && must_yield(request, start))
            return yield(request, error);
    }
    return rc == 0 ? count_memory(request, error) : nb_error_no_memory(error);
}

/* Unpacks a piece of lines to `chunk`. A body of some kilobytes may unpack to gigabytes of lines,
 * for example blank ones, which would occupy a server thread for seconds. */
static int unpack(struct nb_request *request, struct nb_string *input, size_t *produced,
                  struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    const struct nb_config *config = request->config;
    assert(t->chunk != NULL && config->unpack_ratio > 0);
    size_t before = input->length;
    int rc = nb_decoder_pull(t->decoder, input, t->chunk, CHUNK_BYTES, produced, error);
    if (rc != 0)
        return rc;
    assert(input->length <= before && *produced <= CHUNK_BYTES);
    t->packed += before - input->length;
    t->unpacked += *produced;
    if (t->unpacked <= config->line_bytes ||
        (t->unpacked - config->line_bytes) / config->unpack_ratio <= t->packed)
        return 0;
    return nb_error_set(error, NB_TOO_LARGE,
                        "the body unpacks to more than %llu times its size (unpack_ratio)",
                        (unsigned long long)config->unpack_ratio);
}

static int take_lines(struct nb_request *request, struct nb_string *input, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    assert(t->is_plain || t->chunk != NULL);
    uint64_t start = nb_clock_monotonic();
    if (t->is_plain)
        return give_lines(request, input, start, error);
    for (;;) {
        int rc = give_lines(request, &t->decoded, start, error);
        if (rc == 0 && must_yield(request, start))
            return yield(request, error);
        size_t produced = 0;
        if (rc == 0)
            rc = unpack(request, input, &produced, error);
        if (rc != 0 || produced == 0)
            return rc;
        t->decoded = (struct nb_string){t->chunk, produced};
    }
}

/* A large body that must grow reuses the memory of the last one. */
static void make_room(struct nb_request *request)
{
    struct nb_buffer *whole = &request->transfer->whole;
    if (whole->length >= LARGE_BYTES && whole->capacity - whole->length < CHUNK_BYTES)
        nb_spare_take(&request->server->spare, whole);
}

static int take_left(struct nb_request *request, struct nb_error *error);

/* Leaves `input` to a pool: copies it; the pool processes the copy in turns. */
static int leave_to(struct nb_request *request, struct nb_work_pool *pool, struct nb_string *input,
                    struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    assert(t->piece.length == 0); /* take_left has taken all of the last piece */
    if (nb_buffer_append(&t->piece, input->bytes, input->length) != 0)
        return nb_error_no_memory(error);
    *input = (struct nb_string){input->bytes + input->length, 0};
    t->left = (struct nb_string){t->piece.bytes, t->piece.length};
    return nb_work_run(request, pool, take_left, error);
}

/* Unpacks `input` to `whole` for one turn. Some kilobytes may unpack to megabytes and delay others,
 * so a pool takes the rest after the turn. NB_WAIT: the turn is over. */
static int take_whole(struct nb_request *request, struct nb_string *input, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    uint64_t start = nb_clock_monotonic();
    bool is_all = false;
    int rc = 0;
    while (rc == 0 && !is_all) {
        if (is_over(start) && t->whole.length > 0)
            return request->work != NULL
                       ? NB_WAIT
                       : leave_to(request, request->server->streams, input, error);
        make_room(request);
        rc = nb_decoder_append_some(t->decoder, input, (size_t)request->config->body_bytes,
                                    &t->whole, &is_all, error);
        if (rc == 0)
            rc = count_memory(request, error);
    }
    if (rc != 0)
        release(request); /* the memory is not kept while a slow client reads the error */
    return rc;
}

/* Processes the rest on a pool. NB_WAIT: the turn is over. */
static int take_left(struct nb_request *request, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    int rc = request->is_lines ? take_lines(request, &t->left, error)
                               : take_whole(request, &t->left, error);
    if (rc != NB_WAIT)
        t->piece.length = 0;
    return rc;
}

int nb_transfer_take(struct nb_request *request, struct nb_string *input, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    assert(t != NULL && request->work == NULL);
    if (request->is_lines && !is_pooled(request))
        return take_lines(request, input, error);
    struct nb_server *server = request->server;
    if (request->is_lines)
        return leave_to(request, request->route->is_long ? server->work : server->streams, input,
                        error);
    return take_whole(request, input, error);
}

/* Passes the unpacked bytes to the route. */
static int hand_over(struct nb_request *request, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    int rc = nb_decoder_finish(t->decoder, error);
    if (rc != 0)
        return rc;
    rc = nb_request_handle(request, (struct nb_string){t->whole.bytes, t->whole.length}, error);
    release(request);
    return rc;
}

int nb_transfer_packed(struct nb_request *request, enum nb_coding coding, struct nb_string body,
                       struct nb_error *error)
{
    size_t most = (size_t)request->config->body_bytes;
    assert(!request->is_lines);
    int rc = nb_transfer_begin(request, coding, error);
    if (rc == 0)
        rc = nb_decoder_append(request->transfer->decoder, body, most, &request->transfer->whole,
                               error);
    if (rc == 0)
        rc = count_memory(request, error);
    if (rc == 0)
        return hand_over(request, error);
    if (request->transfer != NULL)
        release(request);
    return rc;
}

static int finish_lines(struct nb_request *request, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    struct nb_string nothing = {"", 0};
    int rc = take_lines(request, &nothing, error);
    if (rc == 0)
        rc = nb_decoder_finish(t->decoder, error);
    struct nb_ndjson_line line;
    if (rc != 0 || t->is_last_given)
        return rc;
    t->is_last_given = true;
    rc = nb_splitter_last(&t->splitter, &line);
    if (rc < 0)
        return nb_error_no_memory(error);
    return rc == 1 ? request->route->line(request, &line, error) : 0;
}

static int finish(struct nb_request *request, struct nb_error *error)
{
    struct nb_transfer *t = request->transfer;
    if (t == NULL) /* no body, or an empty one */
        return request->route->handler(request, error);
    if (request->is_lines) {
        int rc = finish_lines(request, error);
        return rc != 0 ? rc : request->route->handler(request, error);
    }
    struct nb_string nothing = {"", 0};
    int rc = take_whole(request, &nothing, error); /* output pending in the decoder */
    return rc != 0 ? rc : hand_over(request, error);
}

int nb_transfer_finish(struct nb_request *request, struct nb_error *error)
{
    assert(request->work == NULL);
    int rc = nb_request_prepare(request, error);
    if (rc != 0)
        return rc;
    const struct nb_transfer *t = request->transfer;
    if (request->route->is_long)
        return nb_work_run(request, request->server->work, finish, error);
    if (request->route->is_stream && t != NULL && !request->is_lines &&
        t->whole.length >= LARGE_BYTES)
        return nb_work_run(request, request->server->streams, finish, error);
    return finish(request, error);
}

void nb_transfer_end(struct nb_request *request)
{
    struct nb_transfer *t = request->transfer;
    if (t == NULL)
        return;
    release(request);
    nb_decoder_free(&t->decoder);
    nb_splitter_deinit(&t->splitter);
    nb_buffer_deinit(&t->piece);
    free(t->chunk);
    free(t);
    request->transfer = NULL;
}
