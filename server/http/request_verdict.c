/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/request_verdict.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/base/log.h"
#include "server/http/query.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "tokenizer/charset.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/mime.h"

/* ---- memory ---------------------------------------------------------------------------------- */

struct nb_scratch_pool {
    pthread_mutex_t lock; /* no other lock is taken while it is held */
    struct nb_scratch *free;
};

struct nb_scratch_pool *nb_scratch_pool_new(void)
{
    struct nb_scratch_pool *pool = calloc(1, sizeof *pool);
    if (pool != NULL)
        (void)pthread_mutex_init(&pool->lock, NULL); /* cannot fail with the GNU library */
    return pool;
}

void nb_scratch_pool_free(struct nb_scratch_pool **pool)
{
    struct nb_scratch_pool *p = *pool;
    if (p == NULL)
        return;
    while (p->free != NULL) {
        struct nb_scratch *scratch = p->free;
        p->free = scratch->next;
        nb_verdict_deinit(&scratch->verdict);
        nb_bag_deinit(&scratch->bag);
        free(scratch);
    }
    (void)pthread_mutex_destroy(&p->lock); /* fails only when locked, which would be a bug */
    free(p);
    *pool = NULL;
}

struct nb_scratch *nb_scratch_take(struct nb_scratch_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    struct nb_scratch *scratch = pool->free;
    if (scratch != NULL)
        pool->free = scratch->next;
    pthread_mutex_unlock(&pool->lock);
    if (scratch != NULL)
        return scratch;
    scratch = calloc(1, sizeof *scratch);
    if (scratch == NULL)
        return NULL;
    nb_verdict_init(&scratch->verdict);
    nb_bag_init(&scratch->bag);
    return scratch;
}

void nb_scratch_give(struct nb_scratch_pool *pool, struct nb_scratch *scratch)
{
    if (scratch == NULL)
        return;
    nb_verdict_reset(&scratch->verdict);
    pthread_mutex_lock(&pool->lock);
    scratch->next = pool->free;
    pool->free = scratch;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the log --------------------------------------------------------------------------------- */

bool nb_verdict_log_wants(const struct nb_request *request)
{
    return request->config->log_verdicts && nb_log_wants(NB_LOG_INFO);
}

static struct nb_string without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

struct fields {
    struct nb_log_field list[12];
    size_t count;
};

static void add(struct fields *fields, struct nb_log_field field)
{
    assert(fields->count < sizeof fields->list / sizeof fields->list[0]);
    if (field.kind != NB_LOG_TEXT || field.text.length > 0)
        fields->list[fields->count++] = field;
}

void nb_verdict_log(const struct nb_request *request, const struct nb_verdict_note *note)
{
    struct fields fields = {.count = 0};
    char client[NB_ADDRESS_TEXT];
    assert(request->route != NULL && note->verdict.length > 0);
    nb_address_print(&request->peer.address, client);
    add(&fields, nb_log_text("message_id", without_angles(note->message_id)));
    add(&fields, nb_log_text("id", note->id));
    add(&fields, nb_log_text("model", note->model));
    add(&fields, nb_log_text("verdict", note->verdict));
    add(&fields, nb_log_number("probability", note->probability));
    add(&fields, nb_log_number("score", note->score));
    add(&fields, nb_log_text("action", note->action));
    add(&fields, nb_log_count("us", note->nanoseconds / 1000));
    add(&fields, nb_log_text("client", nb_string_of(client)));
    add(&fields, nb_log_text("protocol", nb_string_of(request->route->protocol->door)));
    nb_log_event(NB_LOG_INFO, "verdict", fields.list, fields.count);
}

enum { SUBJECT_MOST = 4096 }; /* most bytes that are decoded; the history keeps fewer */

static struct nb_string field(const struct nb_request *request, const struct nb_document *document,
                              const char *name)
{
    struct nb_string mail = {document->bytes, document->length};
    if (document->kind != NB_DOCUMENT_MAIL)
        return (struct nb_string){"", 0};
    return nb_string_trim(nb_mime_find_field(mail, (size_t)request->config->header_bytes, name));
}

/* Reads the Subject as people see it, on one line. Raw bytes without a charset are read as the
 * tokenizer reads them: as UTF-8 if they are valid, else as windows-1252. */
static int read_subject(const struct nb_request *request, const struct nb_document *document,
                        struct nb_buffer *subject)
{
    struct nb_string value = field(request, document, "Subject");
    value.length = value.length < SUBJECT_MOST ? value.length : SUBJECT_MOST;
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    nb_mail_charsets_message(&charsets, (struct nb_string){document->bytes, document->length});
    struct nb_buffer words = {0};
    int rc = nb_mail_decode_words(&charsets, value, &words);
    nb_mail_charsets_deinit(&charsets);
    if (rc == 0)
        rc = nb_charset_to_utf8(NULL, nb_string_of("us-ascii"), words.bytes, words.length, SIZE_MAX,
                                subject, NULL);
    nb_buffer_deinit(&words);
    for (size_t i = 0; rc == 0 && i < subject->length; i++)
        if ((unsigned char)subject->bytes[i] < 0x20)
            subject->bytes[i] = ' ';
    return rc;
}

int nb_verdict_keep(const struct nb_request *request, const struct nb_verdict *verdict,
                    const struct nb_document *document, const struct nb_kept_verdict *about,
                    struct nb_buffer *id, bool *is_kept, struct nb_error *error)
{
    struct nb_buffer subject = {0};
    struct nb_remembered kept = {.id = about->id, .source = about->source};
    int rc = about->source.length > 0 ? 0 : nb_request_source(request, &kept.source, error);
    if (rc != 0)
        return rc;
    kept.message_id = without_angles(field(request, document, "Message-ID"));
    if (verdict->keeps_subject && read_subject(request, document, &subject) != 0)
        rc = nb_error_no_memory(error);
    kept.subject = (struct nb_string){subject.bytes, subject.length};
    if (rc == 0)
        rc = nb_engine_remember(request->server->engine, verdict, document, &kept, id, is_kept,
                                error);
    nb_buffer_deinit(&subject);
    return rc;
}
