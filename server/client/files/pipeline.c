/* SPDX-License-Identifier: Apache-2.0
 *
 * The batches are a ring. The owner fills them in order and takes their results in order; each
 * thread sends the oldest batch that waits. A slow batch delays the results behind it, but the
 * other connections go on until the ring is full.
 */
#include "server/client/files/pipeline.h"

#include <assert.h>
#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label_set.h"
#include "server/base/emit.h"
#include "server/client/base/client.h"
#include "server/http/call/path.h"

static void emit_base64(struct nb_emitter *e, struct nb_string bytes)
{
    size_t room = sodium_base64_encoded_len(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    nb_emit_raw(e, "\"");
    if (e->code == 0)
        e->code = nb_buffer_reserve(e->out, room);
    if (e->code != 0)
        return;
    (void)sodium_bin2base64(e->out->bytes + e->out->length, room,
                            (const unsigned char *)bytes.bytes, bytes.length,
                            sodium_base64_VARIANT_ORIGINAL); /* cannot fail: there is room */
    e->out->length += room - 1;                              /* without the NUL */
    nb_emit_raw(e, "\"");
}

int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    if (!item->has_no_content && item->is_mail) {
        nb_emit_key(&e, "mail_base64");
        emit_base64(&e, item->content);
    } else if (!item->has_no_content) {
        nb_emit_member_string(&e, "text", item->content);
    }
    if (item->values.length > 0) {
        nb_emit_key(&e, "values");
        e.code =
            e.code != 0 ? e.code : nb_buffer_append(out, item->values.bytes, item->values.length);
    }
    if (with_label && item->label.length > 0)
        nb_emit_member_labels(&e, "label", "labels", item->label);
    else if (with_label)
        nb_emit_member_null(&e, "label");
    if (item->id.length > 0)
        nb_emit_member_string(&e, "id", item->id);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

enum {
    BATCH_DOCUMENTS = 500,     /* the daemon's limit is 10,000 */
    BATCH_BYTES = 1024 * 1024, /* larger batches were not faster (measured) */
    SLOTS_PER_CONNECTION = 2   /* one is on its way while another one waits */
};

enum state { STATE_FILLING, STATE_WAITING, STATE_SENT, STATE_DONE };

struct row {
    size_t name, label, id, table_row; /* offsets in the texts of the batch */
    uint64_t bytes;
};

struct batch {
    enum state state;
    struct nb_buffer body,
        texts;             /* owned: the request's body; names, labels ..., each with a NUL */
    struct nb_buffer path; /* owned: of a mail that is sent unchanged; empty for a batch */
    struct row rows[BATCH_DOCUMENTS];
    size_t count;
    json_t *reply; /* owned */
    int code;
    struct nb_error error;
};

struct nb_pipeline {
    struct nb_pipeline_settings settings;
    struct nb_buffer path;
    size_t size;                  /* of the ring */
    uint64_t filled, sent, taken; /* batches so far: the ring holds [taken, filled] */
    uint64_t documents;           /* taken so far */
    bool is_closing;
    pthread_mutex_t lock; /* guards the states of the ring, `filled`, `sent` and `is_closing` */
    pthread_cond_t work, news;
    pthread_t threads[NB_CONNECTIONS_MOST];
    size_t thread_count;
    struct batch *ring;
};

/* ---- the threads ----------------------------------------------------------------------------- */

/* Converts the reply to a mail that was sent alone into the form of a batch's reply. */
static json_t *as_batch(json_t *reply)
{
    if (reply == NULL || json_object_get(reply, "results") != NULL)
        return reply;
    return json_pack("{s:[o]}", "results", reply);
}

static void send_batch(struct nb_pipeline *p, struct nb_call *call, struct batch *batch)
{
    bool is_whole = batch->path.length > 0;
    const struct nb_call_request request = {
        .method = "POST",
        .path = is_whole ? batch->path.bytes : p->path.bytes,
        .type = is_whole ? "message/rfc822" : "application/json",
        .body = {batch->body.bytes, batch->body.length},
    };
    batch->code = nb_call_json(call, &request, &batch->reply, &batch->error);
    if (is_whole)
        batch->reply = as_batch(batch->reply);
}

/* Waits for the oldest batch that is ready to be sent and returns it; NULL when the pipeline is
 * closing. */
static struct batch *next_batch(struct nb_pipeline *p)
{
    struct batch *batch = NULL;
    (void)pthread_mutex_lock(&p->lock);
    while (p->sent == p->filled && !p->is_closing)
        (void)pthread_cond_wait(&p->work, &p->lock);
    if (!p->is_closing) {
        batch = &p->ring[p->sent++ % p->size];
        assert(batch->state == STATE_WAITING);
        batch->state = STATE_SENT;
    }
    (void)pthread_mutex_unlock(&p->lock);
    return batch;
}

static void *run_connection(void *user)
{
    struct nb_pipeline *p = user;
    struct nb_call *call = NULL;
    struct nb_error error = {0};
    int rc = nb_call_open(&p->settings.client->daemon, &call, &error);
    struct batch *batch;
    while ((batch = next_batch(p)) != NULL) {
        if (rc == 0)
            send_batch(p, call, batch);
        else
            batch->error = error;
        (void)pthread_mutex_lock(&p->lock);
        batch->code = rc != 0 ? rc : batch->code;
        batch->state = STATE_DONE;
        (void)pthread_cond_signal(&p->news);
        (void)pthread_mutex_unlock(&p->lock);
    }
    nb_call_close(&call);
    return NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

static void empty_batch(struct batch *batch)
{
    batch->body.length = batch->texts.length = batch->path.length = 0;
    batch->count = 0;
    json_decref(batch->reply);
    batch->reply = NULL;
    batch->state = STATE_FILLING;
}

static int code_of_problem(const json_t *problem)
{
    return json_integer_value(json_object_get(problem, "status")) == 404 ? NB_NOT_FOUND
                                                                         : NB_INVALID;
}

static int take_outcome(struct nb_pipeline *p, const struct batch *batch, size_t i,
                        const json_t *result, struct nb_error *error)
{
    assert(i < batch->count);
    const struct row *row = &batch->rows[i];
    struct nb_outcome outcome = {.name = batch->texts.bytes + row->name,
                                 .label = batch->texts.bytes + row->label,
                                 .id = batch->texts.bytes + row->id,
                                 .row = batch->texts.bytes + row->table_row,
                                 .bytes = row->bytes,
                                 .number = p->documents++,
                                 .merged = i == 0 ? nb_answer_number(batch->reply, "merged") : 0};
    const json_t *problem = json_object_get(result, "error");
    if (batch->code != 0) {
        outcome.code = batch->code;
        outcome.refusal = batch->error.text;
    } else if (problem != NULL) {
        outcome.code = code_of_problem(problem);
        outcome.refusal = json_string_value(json_object_get(problem, "detail"));
        outcome.refusal = outcome.refusal != NULL ? outcome.refusal : "refused";
    } else {
        outcome.result = result;
    }
    return p->settings.take(p->settings.user, &outcome, error);
}

/* Returns whether the failure of a batch affects all documents. It does not when the batch was a
 * single document and that document was at fault. */
static bool ends_all(const struct batch *batch)
{
    return batch->code != 0 &&
           !(batch->count == 1 && (batch->code == NB_TOO_LARGE || batch->code == NB_INVALID ||
                                   batch->code == NB_UNUSABLE));
}

static int take_batch(struct nb_pipeline *p, const struct batch *batch, struct nb_error *error)
{
    if (ends_all(batch)) {
        *error = batch->error;
        return batch->code;
    }
    const json_t *results = json_object_get(batch->reply, "results");
    size_t count = batch->count;
    if (batch->code == 0 && p->settings.has_several)
        count = json_array_size(results);
    if (batch->code == 0 && json_array_size(results) != count)
        return nb_error_set(error, NB_CALL_PROTOCOL, "%.80s: %zu results for %zu documents",
                            p->settings.client->daemon.url, json_array_size(results), batch->count);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = take_outcome(p, batch, count == batch->count ? i : 0, json_array_get(results, i),
                          error);
    return rc;
}

/* Waits for the oldest batch and takes its results. */
static int take_oldest(struct nb_pipeline *p, struct nb_error *error)
{
    assert(p->taken < p->filled); /* else it would wait for ever */
    struct batch *batch = &p->ring[p->taken % p->size];
    (void)pthread_mutex_lock(&p->lock);
    while (batch->state != STATE_DONE)
        (void)pthread_cond_wait(&p->news, &p->lock);
    (void)pthread_mutex_unlock(&p->lock);
    int rc = take_batch(p, batch, error);
    empty_batch(batch);
    p->taken++;
    return rc;
}

/* ---- filling --------------------------------------------------------------------------------- */

static int dispatch(struct nb_pipeline *p, struct nb_error *error)
{
    struct batch *batch = &p->ring[p->filled % p->size];
    assert(batch->state == STATE_FILLING && batch->count > 0);
    if (batch->path.length == 0 && nb_buffer_puts(&batch->body, "]}") != 0)
        return nb_error_no_memory(error);
    (void)pthread_mutex_lock(&p->lock);
    batch->state = STATE_WAITING;
    p->filled++;
    (void)pthread_cond_signal(&p->work);
    (void)pthread_mutex_unlock(&p->lock);
    /* The next slot must be empty before the next batch is filled. */
    return p->filled - p->taken == p->size ? take_oldest(p, error) : 0;
}

/* Appends a text and a NUL; sets *begin to its offset. */
static int add_text(struct batch *batch, struct nb_string text, size_t *begin)
{
    *begin = batch->texts.length;
    int rc = nb_buffer_append(&batch->texts, text.bytes, text.length);
    return rc == 0 ? nb_buffer_append(&batch->texts, "", 1) : rc;
}

static int add_texts(struct batch *batch, const struct nb_item *item)
{
    assert(batch->state == STATE_FILLING && batch->count < BATCH_DOCUMENTS);
    struct row *row = &batch->rows[batch->count];
    row->bytes = item->content.length + item->values.length;
    int rc = add_text(batch, nb_string_of(item->name), &row->name);
    if (rc == 0)
        rc = add_text(batch, item->label, &row->label);
    if (rc == 0)
        rc = add_text(batch, item->id, &row->id);
    return rc == 0 ? add_text(batch, item->row, &row->table_row) : rc;
}

/* Returns whether a mail is sent unchanged: in base64 a large mail would exceed the daemon's limit
 * for a body. */
static bool goes_whole(const struct nb_item *item)
{
    return item->is_mail && item->values.length == 0 && item->content.length > BATCH_BYTES &&
           !nb_label_is_set(item->label);
}

/* Makes the request for a mail that is sent unchanged: the members of a document, whose texts are
 * those of the row, go into the query. */
static int write_whole(const struct nb_pipeline *p, const struct nb_item *item, struct batch *batch)
{
    const char *texts = batch->texts.bytes;
    const struct row *row = &batch->rows[batch->count];
    bool with_label = p->settings.with_label, has_label = item->label.length > 0;
    int rc = nb_buffer_append(&batch->path, p->path.bytes, p->path.length); /* including the NUL */
    if (rc == 0)
        batch->path.length--;
    if (rc == 0)
        rc = nb_path_query(&batch->path, has_label ? "label" : "unlabelled",
                           !with_label ? NULL
                           : has_label ? texts + row->label
                                       : "1");
    if (rc == 0)
        rc = nb_path_query(&batch->path, "id", item->id.length > 0 ? texts + row->id : NULL);
    return rc == 0 ? nb_buffer_append(&batch->body, item->content.bytes, item->content.length) : rc;
}

static int write_document(const struct nb_pipeline *p, const struct nb_item *item,
                          struct batch *batch)
{
    int rc = nb_buffer_puts(&batch->body, batch->count == 0 ? "{\"documents\":[" : ",");
    return rc == 0 ? nb_item_write(item, p->settings.with_label, &batch->body) : rc;
}

int nb_pipeline_add(struct nb_pipeline *p, const struct nb_item *item, struct nb_error *error)
{
    struct batch *batch = &p->ring[p->filled % p->size];
    if (batch->count > 0 &&
        batch->body.length + item->content.length + item->values.length > BATCH_BYTES) {
        int rc = dispatch(p, error);
        if (rc != 0)
            return rc;
        batch = &p->ring[p->filled % p->size];
    }
    bool is_whole = batch->count == 0 && goes_whole(item);
    int rc = add_texts(batch, item);
    if (rc == 0)
        rc = is_whole ? write_whole(p, item, batch) : write_document(p, item, batch);
    if (rc != 0)
        return nb_error_no_memory(error);
    batch->count++;
    size_t most = is_whole || p->settings.has_several ? 1 : BATCH_DOCUMENTS;
    return batch->count == most ? dispatch(p, error) : 0;
}

int nb_pipeline_finish(struct nb_pipeline *p, struct nb_error *error)
{
    int rc = p->ring[p->filled % p->size].count > 0 ? dispatch(p, error) : 0;
    while (rc == 0 && p->taken < p->filled)
        rc = take_oldest(p, error);
    return rc;
}

/* ---- opening and closing --------------------------------------------------------------------- */

int nb_pipeline_open(const struct nb_pipeline_settings *settings, struct nb_pipeline **pipeline,
                     struct nb_error *error)
{
    struct nb_pipeline *p = calloc(1, sizeof *p);
    if (p == NULL)
        return nb_error_no_memory(error);
    assert(settings->connections > 0 && settings->connections <= NB_CONNECTIONS_MOST);
    p->settings = *settings;
    p->size = settings->connections * SLOTS_PER_CONNECTION + 1;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->work, NULL);
    (void)pthread_cond_init(&p->news, NULL);
    p->ring = calloc(p->size, sizeof *p->ring);
    int rc = p->ring != NULL
                 ? nb_buffer_append(&p->path, settings->path, strlen(settings->path) + 1)
                 : NB_NO_MEMORY;
    while (rc == 0 && p->thread_count < settings->connections) {
        if (pthread_create(&p->threads[p->thread_count], NULL, run_connection, p) != 0)
            rc = NB_NO_MEMORY;
        else
            p->thread_count++;
    }
    if (rc != 0) {
        nb_pipeline_close(&p);
        return nb_error_no_memory(error);
    }
    *pipeline = p;
    return 0;
}

void nb_pipeline_close(struct nb_pipeline **pipeline)
{
    struct nb_pipeline *p = *pipeline;
    if (p == NULL)
        return;
    (void)pthread_mutex_lock(&p->lock);
    p->is_closing = true;
    (void)pthread_cond_broadcast(&p->work);
    (void)pthread_mutex_unlock(&p->lock);
    for (size_t i = 0; i < p->thread_count; i++)
        (void)pthread_join(p->threads[i], NULL);
    for (size_t i = 0; p->ring != NULL && i < p->size; i++) {
        empty_batch(&p->ring[i]);
        nb_buffer_deinit(&p->ring[i].body);
        nb_buffer_deinit(&p->ring[i].texts);
        nb_buffer_deinit(&p->ring[i].path);
    }
    free(p->ring);
    nb_buffer_deinit(&p->path);
    (void)pthread_cond_destroy(&p->news);
    (void)pthread_cond_destroy(&p->work);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
    *pipeline = NULL;
}
