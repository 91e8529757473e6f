/* SPDX-License-Identifier: Apache-2.0
 *
 * The documents of a request's body one after the other, whatever its media type: a JSON document,
 * a JSON batch, a line of NDJSON, a text, a mail, an mbox, the rows of a CSV. With the query
 * parameter attached=yes the mails that are attached to these mails. For the thread that works on
 * the request.
 */
#ifndef NB_SERVER_API_DOCUMENT_SOURCE_H
#define NB_SERVER_API_DOCUMENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/json/document_json.h"
#include "server/json/json_table.h"
#include "tokenizer/mail/mail_attached.h"
#include "tokenizer/mail/mail_file.h"

struct nb_ndjson_line;
struct nb_request;

struct nb_document_source {
    bool is_batch; /* the body is one of several documents, however many there are */
    /* The document at hand, and why it cannot be read (code 0: it can). */
    struct nb_json_document document;
    struct nb_error why;
    const char *warning; /* of how the bytes of a table were read; NULL: there is none */

    /* private */
    const struct nb_request *request;
    const struct nb_ndjson_line *line; /* NULL: the whole body */
    struct nb_json_body *body;         /* of JSON */
    struct nb_mbox mbox;
    bool is_table; /* the body is CSV, and this: */
    struct nb_json_table table;
    struct nb_buffer label; /* of the query, where its form needs bytes */
    struct nb_buffer text;  /* a text after charset conversion, or one mail of an mbox */
    struct nb_buffer lines; /* a mail after conversion of its lines (tokenizer/mail/mail_file.h) */
    struct nb_buffer file;  /* an mbox likewise */
    size_t taken;           /* documents so far */
    bool is_attached;       /* mails are forwards of those that are wanted, and these: */
    struct nb_mail_attached attached;
    size_t given;              /* of those */
    size_t attached_documents; /* given of all mails so far */
};

/* Begins with `line`, or with the whole of request->body when that is NULL; both are borrowed. A
 * code fails the request. To be closed in any case. */
int nb_document_source_open(struct nb_document_source *source, const struct nb_request *request,
                            const struct nb_ndjson_line *line, struct nb_error *error);

/* The next document: 1 with source->document or source->why, both until the next call; 0 when there
 * is no other; a code that fails the request. A document that is the only one of its request and
 * cannot be read fails the request. */
int nb_document_source_next(struct nb_document_source *source, struct nb_error *error);

void nb_document_source_close(struct nb_document_source *source);

#endif
