/* SPDX-License-Identifier: Apache-2.0 */
#include "server/documents.h"

#include <string.h>

#include "config/config.h"
#include "server/server.h"
#include "tokenizer/mail/mbox.h"
#include "tokenizer/text/charset.h"

struct reading {
    struct nb_request *request;
    enum nb_codec_verb verb;
    const struct nb_document_taker *taker;
    void *user;
};

/* A batch or stream that has been going on for long ends with the daemon. */
static int check_running(const struct reading *r, struct nb_error *error)
{
    if (atomic_load_explicit(&r->request->server->is_cutting, memory_order_relaxed))
        return nb_error_set(error, NB_STOPPING, "the daemon is stopping");
    return 0;
}

/* ---- JSON --------------------------------------------------------------------------------------
 */

static int read_json_document(const struct reading *r, const struct nb_codec_body *body, size_t i,
                              struct nb_error *error)
{
    struct nb_codec_document document;
    struct nb_error why = {0};
    int rc = nb_codec_body_document(body, i, r->verb, &document, &why);
    if (rc == 0) {
        rc = r->taker->document(r->user, &document, error);
        nb_codec_document_deinit(&document);
        return rc;
    }
    if (nb_codec_body_is_batch(body) && rc != NB_NO_MEMORY)
        return r->taker->failed(r->user, &why, error);
    return nb_error_set(error, why.code, "%s", why.text);
}

static int read_json(const struct reading *r, struct nb_error *error)
{
    struct nb_codec_body *body = NULL;
    size_t most = (size_t)r->request->server->config->batch_documents;
    int rc = nb_codec_body_new(r->request->body, most, &body, error);
    if (rc == 0)
        rc = r->taker->begin(r->user, nb_codec_body_is_batch(body), error);
    size_t size = rc == 0 ? nb_codec_body_size(body) : 0;
    for (size_t i = 0; rc == 0 && i < size; i++) {
        rc = check_running(r, error);
        if (rc == 0)
            rc = read_json_document(r, body, i, error);
    }
    nb_codec_body_free(&body);
    return rc;
}

/* In JSON, label and id are members: in the query they would be passed over in silence. */
static int refuse_query(const struct nb_request *request, struct nb_error *error)
{
    static const char *const NAMES[] = {"label", "id"};
    for (size_t i = 0; i < 2; i++) {
        if (nb_request_query(request, NAMES[i]).bytes != NULL)
            return nb_error_set(error, NB_INVALID,
                                "query parameter '%s' goes with text/plain, message/rfc822 and "
                                "application/mbox; in JSON it is a member of the document",
                                NAMES[i]);
    }
    return 0;
}

/* ---- text and mail -----------------------------------------------------------------------------
 */

/* Label and id of the query. The label is needed for training alone, the id never. */
static int read_names(const struct reading *r, struct nb_codec_document *document,
                      struct nb_error *error)
{
    struct nb_string label = nb_request_query(r->request, "label");
    struct nb_string id = nb_request_query(r->request, "id");
    int rc = 0;
    if (label.bytes == NULL && r->verb == NB_CODEC_TRAIN)
        return nb_error_set(error, NB_INVALID, "query parameter 'label' is missing");
    if (label.bytes != NULL)
        rc = nb_check_label(label, error);
    if (rc == 0 && id.bytes != NULL)
        rc = nb_check_id(id, error);
    if (rc != 0)
        return rc;
    *document = (struct nb_codec_document){.has_content = true, .label = label, .id = id};
    return 0;
}

static int read_one(const struct reading *r, enum nb_document_kind kind, struct nb_string content,
                    struct nb_error *error)
{
    struct nb_codec_document document;
    int rc = read_names(r, &document, error);
    if (rc == 0)
        rc = r->taker->begin(r->user, false, error);
    if (rc != 0)
        return rc;
    document.document = (struct nb_document){kind, content.bytes, content.length};
    return r->taker->document(r->user, &document, error);
}

/* UTF-8 is used where it lies; other charsets are converted first. */
static int read_text(const struct reading *r, struct nb_error *error)
{
    struct nb_request *request = r->request;
    const char *charset = request->type.charset;
    if (charset[0] == '\0')
        return read_one(r, NB_DOCUMENT_TEXT, request->body, error);
    struct nb_buffer text = {NULL, 0, 0};
    int rc = nb_charset_to_utf8((struct nb_string){charset, strlen(charset)}, request->body.bytes,
                                request->body.length, (size_t)request->server->config->body_bytes,
                                &text, error);
    if (rc == 0)
        rc = read_one(r, NB_DOCUMENT_TEXT, (struct nb_string){text.bytes, text.length}, error);
    nb_buffer_deinit(&text);
    return rc;
}

static int read_mails(const struct reading *r, struct nb_codec_document *document,
                      struct nb_buffer *mail, struct nb_error *error)
{
    struct nb_string body = r->request->body;
    struct nb_mbox mbox = nb_mbox_of(body.bytes, body.length);
    uint64_t most = r->request->server->config->batch_documents;
    for (uint64_t count = 1;; count++) {
        int rc = nb_mbox_next(&mbox, mail);
        if (rc == NB_INVALID)
            return nb_error_set(error, rc, "the mbox does not begin with a 'From ' line");
        if (rc <= 0)
            return rc == 0 ? 0 : nb_error_no_memory(error);
        if (count > most)
            return nb_error_set(error, NB_TOO_LARGE,
                                "the mbox holds more than the limit of %llu documents "
                                "(batch_documents)",
                                (unsigned long long)most);
        document->document = (struct nb_document){NB_DOCUMENT_MAIL, mail->bytes, mail->length};
        rc = check_running(r, error);
        if (rc == 0)
            rc = r->taker->document(r->user, document, error);
        if (rc != 0)
            return rc;
    }
}

static int read_mbox(const struct reading *r, struct nb_error *error)
{
    struct nb_codec_document document = {.has_content = true};
    struct nb_buffer mail = {NULL, 0, 0};
    int rc = read_names(r, &document, error);
    if (rc == 0 && document.id.length > 0)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'id' cannot name all the mails of an mbox");
    if (rc == 0)
        rc = r->taker->begin(r->user, true, error);
    if (rc == 0)
        rc = read_mails(r, &document, &mail, error);
    nb_buffer_deinit(&mail);
    return rc;
}

int nb_documents_read(struct nb_request *request, enum nb_codec_verb verb,
                      const struct nb_document_taker *taker, void *user, struct nb_error *error)
{
    struct reading r = {request, verb, taker, user};
    int rc;
    switch (request->type.media) {
    case NB_MEDIA_TEXT:
        return read_text(&r, error);
    case NB_MEDIA_MAIL:
        return read_one(&r, NB_DOCUMENT_MAIL, request->body, error);
    case NB_MEDIA_MBOX:
        return read_mbox(&r, error);
    case NB_MEDIA_JSON:
    case NB_MEDIA_NDJSON:
    default:
        rc = refuse_query(request, error);
        return rc != 0 ? rc : read_json(&r, error);
    }
}

/* ---- lines -------------------------------------------------------------------------------------
 */

int nb_documents_read_line(struct nb_request *request, const struct nb_line *line,
                           enum nb_codec_verb verb, const struct nb_document_taker *taker,
                           void *user, struct nb_error *error)
{
    struct reading r = {request, verb, taker, user};
    struct nb_codec_document document;
    struct nb_error why = {0};
    int rc = line->number == 1 ? refuse_query(request, error) : check_running(&r, error);
    if (rc != 0)
        return rc;
    if (line->is_too_long)
        rc = nb_error_set(&why, NB_TOO_LARGE, "longer than the limit of %llu bytes (line_bytes)",
                          (unsigned long long)request->server->config->line_bytes);
    else
        rc = nb_codec_document_read(line->text, verb, &document, &why);
    if (rc == 0) {
        rc = taker->document(user, &document, error);
        nb_codec_document_deinit(&document);
        return rc;
    }
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    struct nb_error placed = {0};
    (void)nb_error_set(&placed, why.code, "line %llu: %s", (unsigned long long)line->number,
                       why.text); /* returns the code it was given */
    return taker->failed(user, &placed, error);
}
