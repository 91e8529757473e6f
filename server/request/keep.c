/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/keep.h"

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "tokenizer/mail/encoded_words.h"
#include "tokenizer/mail/mime.h"

enum { SUBJECT_MOST = 4096 }; /* bytes of the field that are decoded; fewer are kept */

static struct nb_string field(const struct nb_request *request, const struct nb_document *document,
                              const char *name)
{
    struct nb_string mail = {document->bytes, document->length};
    if (document->kind != NB_DOCUMENT_MAIL)
        return (struct nb_string){"", 0};
    return nb_string_trim(nb_mime_find_field(mail, (size_t)request->config->header_bytes, name));
}

static struct nb_string without_angles(struct nb_string s)
{
    bool has_angles = s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>';
    return has_angles ? (struct nb_string){s.bytes + 1, s.length - 2} : s;
}

/* Reads the Subject as people see it, on one line. */
static int read_subject(const struct nb_request *request, const struct nb_document *document,
                        struct nb_buffer *subject)
{
    struct nb_string value = field(request, document, "Subject");
    value.length = value.length < SUBJECT_MOST ? value.length : SUBJECT_MOST;
    struct nb_bag_work work = NB_WORK_UNBOUNDED;
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    nb_mail_charsets_message(&charsets, (struct nb_string){document->bytes, document->length});
    int rc = nb_mail_decode_words(&charsets, value, subject);
    nb_mail_charsets_deinit(&charsets);
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
