/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the documents of a request's body one after another, for all media types: a JSON document,
 * a JSON batch, a line of NDJSON, a text, a mail, an mbox, the rows of a CSV table. With the query
 * parameter attached=yes the documents are the mails that are attached to the mails of the body.
 * For the thread that works on the request.
 */
#ifndef NB_SERVER_API_DOCUMENT_SOURCE_H
#define NB_SERVER_API_DOCUMENT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "server/base/document_json.h"
#include "server/base/json_table.h"
#include "tokenizer/mail_attached.h"
#include "tokenizer/mail_file.h"

struct nb_ndjson_line;
struct nb_request;

struct nb_document_source {
    bool is_batch; /* the body holds a list of documents, even if it has only one */
    /* The current document, or the reason why it cannot be read (code 0: it can be read). */
    struct nb_json_document document;
    struct nb_error why;
    const char *warning; /* about the charset of a CSV table; NULL: none */

    /* private */
    const struct nb_request *request;
    const struct nb_ndjson_line *line; /* NULL: the whole body */
    struct nb_json_body *body;         /* owned: the parsed body; NULL: the body is not JSON */
    struct nb_mbox mbox;
    bool is_table; /* the body is CSV; `table` reads it */
    struct nb_json_table table;
    struct nb_buffer label; /* the label of the query, if normalizing changes it */
    struct nb_buffer text;  /* a text after charset conversion, or one mail of an mbox */
    struct nb_buffer lines; /* a mail with converted lines (tokenizer/mail_file.h) */
    struct nb_buffer file;  /* an mbox after the same conversion */
    size_t taken;           /* documents read so far */
    bool is_attached;       /* the documents are the mails attached to the mails of the body */
    struct nb_mail_attached attached;
    size_t given;              /* attached mails of the current mail given so far */
    size_t attached_documents; /* attached mails given so far, of all mails */
};

/* Opens `line`, or the whole of request->body if `line` is NULL; both are borrowed. Returns 0 or a
 * code, which fails the request. nb_document_source_close is needed in both cases. */
int nb_document_source_open(struct nb_document_source *source, const struct nb_request *request,
                            const struct nb_ndjson_line *line, struct nb_error *error);

/* Reads the next document. Returns 1 with source->document or source->why, both valid until the
 * next call; 0 at the end; or a code, which fails the request. If the only document of a request
 * cannot be read, the request fails. */
int nb_document_source_next(struct nb_document_source *source, struct nb_error *error);

void nb_document_source_close(struct nb_document_source *source);

#endif
