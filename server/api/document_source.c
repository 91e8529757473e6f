/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/document_source.h"

#include <string.h>

#include "config/config.h"
#include "core/base/string.h"
#include "core/engine/engine.h"
#include "server/base/json_values.h"
#include "server/base/ndjson.h"
#include "server/http/admission.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"
#include "tokenizer/decode.h"
#include "tokenizer/mail_charset.h"
#include "tokenizer/mail_file.h"

static enum nb_verb verb_of(const struct nb_document_source *s)
{
    return (enum nb_verb)s->request->route->verb;
}

/* Returns the warning about a text that is not in the charset it claims to have; NULL: none. */
static const char *warning_of(const struct nb_text_charset *found)
{
    if (found->is_damaged)
        return "the text is UTF-8 but for some bytes, which were read as windows-1252";
    return found->is_guessed ? "the text is not UTF-8 and names no charset: it was read as "
                               "windows-1252; 'Content-Type: ...; charset=...' says otherwise"
                             : NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Refuses ?label and ?id where the documents have them, as members (JSON) or columns (CSV): in the
 * query they would be ignored silently. */
static int refuse_query(const struct nb_request *request, struct nb_error *error)
{
    static const char *const NAMES[] = {"label", "id", "labels"};
    if (request->query_count > 0 && request->type.media != NB_MEDIA_CSV &&
        nb_request_query(request, "unlabelled").bytes != NULL)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'unlabelled' goes with text/plain, message/rfc822, "
                            "application/mbox and text/csv; in JSON the member \"label\" is null");
    for (size_t i = 0; request->query_count > 0 && i < 2; i++) {
        if (nb_request_query(request, NAMES[i]).bytes != NULL)
            return nb_error_set(error, NB_INVALID,
                                "query parameter '%s' goes with text/plain, message/rfc822 and "
                                "application/mbox; in JSON it is a member of the document, in "
                                "CSV a column",
                                NAMES[i]);
    }
    return 0;
}

/* Reads ?separator, which stands between labels: ';' unless it is given. */
static int read_separator(const struct nb_document_source *s, char *separator,
                          struct nb_error *error)
{
    struct nb_string given = nb_request_query(s->request, "separator");
    *separator = ';';
    if (given.bytes == NULL)
        return 0;
    *separator = given.length == 1 ? *given.bytes : '\0';
    if (*separator == ';' || *separator == ',' || *separator == '|')
        return 0;
    return nb_error_set(error, NB_INVALID, "query parameter 'separator' is ';', ',' or '|'");
}

/* Reads ?unlabelled: whether to store documents without a label. */
static int read_unlabelled(const struct nb_document_source *s, bool *is, struct nb_error *error)
{
    uint64_t value = 0;
    int rc = nb_request_query_count(s->request, "unlabelled", 0, 1, &value, error);
    *is = value == 1;
    return rc;
}

static int open_json(struct nb_document_source *s, struct nb_error *error)
{
    size_t most = (size_t)s->request->config->batch_documents;
    int rc = refuse_query(s->request, error);
    if (rc == 0)
        rc = nb_json_body_new(s->request->body, most, &s->body, error);
    s->is_batch = rc == 0 && nb_json_body_is_batch(s->body);
    return rc;
}

static int next_json(struct nb_document_source *s, struct nb_error *error)
{
    if (s->taken == nb_json_body_size(s->body))
        return 0;
    int rc = nb_json_body_document(s->body, s->taken++, verb_of(s), &s->document, &s->why);
    if (rc == 0 || (s->is_batch && rc != NB_NO_MEMORY))
        return 1;
    *error = s->why;
    return rc;
}

/* Records whether a document could be read: `rc` is 0, or *why has the reason. Returns 1 or
 * NB_NO_MEMORY. */
static int end_line(struct nb_document_source *s, int rc, uint64_t number,
                    const struct nb_error *why, struct nb_error *error)
{
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    if (rc != 0)
        (void)nb_error_set(&s->why, why->code, "line %llu: %s", (unsigned long long)number,
                           why->text); /* it returns the code of `why` */
    return 1;
}

/* Reads a line. If it is not UTF-8, reads it in its probable charset, as for lines of files. */
static int read_line(struct nb_document_source *s, struct nb_error *why)
{
    struct nb_string line = s->line->text;
    struct nb_text_charset found;
    if (nb_string_starts(line, "\xEF\xBB\xBF")) /* a byte order mark */
        line = nb_string_from(line, 3);
    int rc = nb_json_document_read(line, verb_of(s), &s->document, why);
    if (rc != NB_INVALID || nb_utf8_is_valid(line))
        return rc;
    rc = nb_text_decode_whole(&line, nb_string_of(""), (size_t)s->request->config->line_bytes,
                              &s->text, &found, why);
    if (rc == 0 && found.is_damaged)
        return nb_error_set(why, NB_INVALID, "it is UTF-8 but for some bytes");
    if (rc == 0)
        rc = nb_json_document_read(line, verb_of(s), &s->document, why);
    if (rc == 0)
        s->document.warning = warning_of(&found);
    return rc;
}

static int next_line(struct nb_document_source *s, struct nb_error *error)
{
    struct nb_error why = {0};
    int rc;
    if (s->taken++ > 0)
        return 0;
    if (s->line->is_too_long)
        rc = nb_error_set(&why, NB_TOO_LARGE, "longer than the limit of %llu bytes (line_bytes)",
                          (unsigned long long)s->request->config->line_bytes);
    else
        rc = read_line(s, &why);
    return end_line(s, rc, s->line->number, &why, error);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Converts a table to UTF-8. Refuses one that is damaged or whose charset is unclear. */
static int decode_table(struct nb_document_source *s, struct nb_string *table,
                        struct nb_error *error)
{
    struct nb_text_charset found;
    int rc = nb_text_decode_whole(table, nb_string_of(s->request->type.charset),
                                  (size_t)s->request->config->body_bytes, &s->text, &found, error);
    if (rc == 0 && (found.is_damaged || found.is_unlikely))
        return nb_error_set(error, NB_INVALID,
                            found.is_damaged
                                ? "the CSV is UTF-8 but for some bytes: mend it, or name its "
                                  "charset, as in 'Content-Type: text/csv; charset=cp850'"
                                : "the CSV is neither UTF-8 nor windows-1252: name its charset, as "
                                  "in 'Content-Type: text/csv; charset=cp850'");
    if (rc == 0)
        s->warning = warning_of(&found);
    return rc;
}

static int open_table(struct nb_document_source *s, struct nb_error *error)
{
    int rc = refuse_query(s->request, error);
    struct nb_string table = s->request->body;
    s->is_batch = s->is_table = true;
    if (rc == 0)
        rc = decode_table(s, &table, error);
    if (rc == 0)
        rc = nb_table_open(&s->table, table, error);
    if (rc == 0)
        rc = read_separator(s, &s->table.separator, error);
    return rc == 0 ? read_unlabelled(s, &s->table.takes_unlabelled, error) : rc;
}

/* Reads the next row, which the table has turned into a JSON document. */
static int next_row(struct nb_document_source *s, struct nb_error *error)
{
    uint64_t most = s->request->config->batch_documents;
    struct nb_error why = {0};
    int rc = nb_table_next(&s->table, &s->why, error);
    if (rc <= 0)
        return rc;
    if (++s->taken > most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "the CSV has more than the limit of %llu rows (batch_documents)",
                            (unsigned long long)most);
    if (s->why.code != 0)
        return 1;
    struct nb_string row = {s->table.json.bytes, s->table.json.length};
    rc = nb_json_document_read(row, verb_of(s), &s->document, &why);
    return end_line(s, rc, s->table.line, &why, error);
}

/* ---- text and mail --------------------------------------------------------------------------- */

/* Reads the label from the query. Training needs a label or unlabelled=1. */
static int read_label(struct nb_document_source *s, struct nb_string *label, struct nb_error *error)
{
    bool is_unlabelled = false;
    char separator = ';';
    struct nb_string labels = nb_request_query(s->request, "labels");
    int rc = read_unlabelled(s, &is_unlabelled, error);
    *label = nb_request_query(s->request, "label");
    if (rc == 0)
        rc = read_separator(s, &separator, error);
    if (rc != 0)
        return rc;
    if (labels.bytes != NULL && (label->bytes != NULL || is_unlabelled))
        return nb_error_set(error, NB_INVALID,
                            "query parameters 'labels', 'label' and 'unlabelled' exclude each "
                            "other");
    if (labels.bytes != NULL) {
        rc = nb_text_read_labels(labels, separator, &s->label, error);
        *label = nb_buffer_string(&s->label);
        return rc;
    }
    if (label->bytes != NULL && is_unlabelled)
        return nb_error_set(error, NB_INVALID,
                            "query parameters 'label' and 'unlabelled' exclude each other");
    if (label->bytes == NULL && verb_of(s) == NB_VERB_TRAIN && !is_unlabelled)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'label' is missing; with unlabelled=1 the document "
                            "is stored without one");
    return label->bytes != NULL ? nb_label_take(label, &s->label, error) : 0;
}

/* Reads label and id from the query. The id is always optional. */
static int read_names(struct nb_document_source *s, struct nb_error *error)
{
    struct nb_string label = {0};
    struct nb_string id = nb_request_query(s->request, "id");
    int rc = read_label(s, &label, error);
    if (rc == 0 && id.bytes != NULL)
        rc = nb_check_id(id, error);
    if (rc == 0 && id.bytes != NULL && s->is_batch)
        rc = nb_error_set(error, NB_INVALID,
                          "query parameter 'id' cannot name all the mails of an mbox");
    s->document = (struct nb_json_document){.has_content = true, .label = label, .id = id};
    return rc;
}

/* Drops the lines before the header of the current mail. Returns 1 or NB_NO_MEMORY. */
static int find_mail(struct nb_document_source *s, struct nb_error *error)
{
    struct nb_document *mail = &s->document.document;
    struct nb_string found;
    if (mail->kind != NB_DOCUMENT_MAIL)
        return 1;
    if (nb_mail_of_file((struct nb_string){mail->bytes, mail->length}, &s->lines, &found) != 0)
        return nb_error_no_memory(error);
    mail->bytes = found.bytes;
    mail->length = found.length;
    return 1;
}

/* Decodes HTML whose charset the transport does not name, by the rule for mails: by its byte order
 * mark, or by what the HTML itself names. Then *html is UTF-8 in s->text; otherwise it is
 * unchanged. The rule for texts detects UTF-16 and UTF-32, which have NULs. */
static int decode_html(struct nb_document_source *s, struct nb_string *html, struct nb_error *error)
{
    char name[NB_CHARSET_NAME];
    struct nb_string given = nb_string_of(s->request->type.charset);
    if ((given.length > 0 && nb_charset_of_label(given, name) != NB_CHARSET_NONE) ||
        memchr(html->bytes, '\0', html->length) != NULL)
        return 0;
    struct nb_bag_work work = NB_WORK_UNBOUNDED; /* the body's size is limited already */
    struct nb_mail_charsets charsets = {.state = {.work = &work}};
    nb_mail_charsets_message(&charsets, nb_string_of(""));
    int rc = nb_mail_body_to_utf8(&charsets, nb_string_of(""), true, html, &s->text);
    nb_mail_charsets_deinit(&charsets);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

/* Converts a text or HTML to UTF-8. */
static int decode_text(struct nb_document_source *s, bool is_html, struct nb_string *content,
                       struct nb_error *error)
{
    struct nb_text_charset found;
    const char *body = content->bytes;
    int rc = is_html && content->length > 0 ? decode_html(s, content, error) : 0;
    if (rc != 0 || content->bytes != body)
        return rc;
    rc = nb_text_decode_whole(content, nb_string_of(s->request->type.charset),
                              (size_t)s->request->config->body_bytes, &s->text, &found, error);
    if (rc == 0)
        s->document.warning = warning_of(&found);
    return rc;
}

/* Reads the only document of a text or mail. UTF-8 is used in place; other charsets are
 * converted. */
static int next_whole(struct nb_document_source *s, struct nb_error *error)
{
    const struct nb_request *request = s->request;
    bool is_html = request->type.media == NB_MEDIA_HTML;
    bool is_text = is_html || request->type.media == NB_MEDIA_TEXT;
    struct nb_string content = request->body;
    if (s->taken++ > 0)
        return 0;
    if (is_text) {
        int rc = decode_text(s, is_html, &content, error);
        if (rc != 0)
            return rc;
    }
    s->document.document = (struct nb_document){.kind = is_html   ? NB_DOCUMENT_HTML
                                                        : is_text ? NB_DOCUMENT_TEXT
                                                                  : NB_DOCUMENT_MAIL,
                                                .bytes = content.bytes,
                                                .length = content.length};
    return find_mail(s, error);
}

static int next_mail(struct nb_document_source *s, struct nb_error *error)
{
    uint64_t most = s->request->config->batch_documents;
    int rc = nb_mbox_next(&s->mbox, &s->text);
    if (rc == NB_INVALID)
        return nb_error_set(error, rc, "the mbox does not begin with a 'From ' line");
    if (rc <= 0)
        return rc == 0 ? 0 : nb_error_no_memory(error);
    if (++s->taken > most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "the mbox holds more than the limit of %llu documents "
                            "(batch_documents)",
                            (unsigned long long)most);
    s->document.document = (struct nb_document){
        .kind = NB_DOCUMENT_MAIL, .bytes = s->text.bytes, .length = s->text.length};
    return find_mail(s, error);
}

static int open_mbox(struct nb_document_source *s, struct nb_error *error)
{
    struct nb_string lines;
    s->is_batch = true;
    if (nb_mail_file_lines(s->request->body, &s->file, &lines) != 0)
        return nb_error_no_memory(error);
    s->mbox = nb_mbox_of(lines.bytes, lines.length);
    return read_names(s, error);
}

/* ---- attached mails -------------------------------------------------------------------------- */

/* Reads ?attached: whether the documents are the mails attached to those of the body. */
static int read_attached(struct nb_document_source *s, struct nb_error *error)
{
    const struct nb_request *request = s->request;
    if (request->query_count == 0)
        return 0;
    struct nb_string value = nb_request_query(request, "attached");
    if (value.bytes == NULL)
        return 0;
    s->is_attached = nb_string_equals_nocase(value, "yes");
    if (!s->is_attached && !nb_string_equals_nocase(value, "no"))
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'attached' is 'yes' (learn the mails that are "
                            "attached to these) or 'no'");
    if (!s->is_attached)
        return 0;
    if (s->line != NULL ||
        (request->type.media != NB_MEDIA_MAIL && request->type.media != NB_MEDIA_MBOX &&
         request->type.media != NB_MEDIA_JSON))
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'attached' goes with message/rfc822, application/mbox "
                            "and application/json");
    if (nb_request_query(request, "id").bytes != NULL)
        return nb_error_set(error, NB_INVALID,
                            "query parameter 'id' cannot name all the mails that are attached");
    return 0;
}

static int next_document(struct nb_document_source *s, struct nb_error *error);

/* Finds the mails attached to the current document. Sets s->why if there are none. */
static int search(struct nb_document_source *s, struct nb_error *error)
{
    const struct nb_document *document = &s->document.document;
    struct nb_string mail = {document->bytes, document->length};
    int rc = 0;
    s->attached.count = s->given = 0;
    if (s->document.id.length > 0)
        rc = nb_error_set(&s->why, NB_INVALID,
                          "the member \"id\" cannot name all the mails that are attached");
    else if (!s->document.has_content || document->kind != NB_DOCUMENT_MAIL)
        rc = nb_error_set(&s->why, NB_INVALID,
                          "the document is no mail: attached=yes learns what is attached to mails");
    else
        rc = nb_mail_attached_find(&s->attached, mail, &s->why);
    if (rc == 0 && s->attached.count == 0)
        rc = nb_error_set(&s->why, NB_INVALID, "the mail %s", NB_MAIL_NOTHING_ATTACHED);
    if (rc != 0)
        s->attached.count = 0;
    if (rc == NB_NO_MEMORY || (rc != 0 && s->request->type.media == NB_MEDIA_MAIL)) {
        *error = s->why;
        return rc;
    }
    return 0;
}

/* Reads the next mail that is attached to one of the documents. */
static int next_attached(struct nb_document_source *s, struct nb_error *error)
{
    uint64_t most = s->request->config->batch_documents;
    if (s->given == s->attached.count) {
        int rc = next_document(s, error);
        if (rc <= 0 || s->why.code != 0)
            return rc;
        rc = search(s, error);
        if (rc != 0 || s->why.code != 0)
            return rc != 0 ? rc : 1;
    }
    if (s->attached_documents++ == most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "there are more than the limit of %llu attached mails "
                            "(batch_documents)",
                            (unsigned long long)most);
    struct nb_string mail = nb_mail_attached_get(&s->attached, s->given++);
    s->document.document.bytes = mail.bytes;
    s->document.document.length = mail.length;
    return 1;
}

/* ---- all media types ------------------------------------------------------------------------- */

static int open_documents(struct nb_document_source *source, struct nb_error *error)
{
    const struct nb_request *request = source->request;
    switch (request->type.media) {
    case NB_MEDIA_MBOX:
        return open_mbox(source, error);
    case NB_MEDIA_TEXT:
    case NB_MEDIA_HTML:
    case NB_MEDIA_MAIL:
        return read_names(source, error);
    case NB_MEDIA_CSV:
        return open_table(source, error);
    case NB_MEDIA_JSON:
    case NB_MEDIA_NDJSON:
    default:
        return open_json(source, error);
    }
}

int nb_document_source_open(struct nb_document_source *source, const struct nb_request *request,
                            const struct nb_ndjson_line *line, struct nb_error *error)
{
    *source = (struct nb_document_source){.request = request, .line = line};
    int rc = read_attached(source, error);
    if (rc != 0)
        return rc;
    if (line != NULL)
        return refuse_query(request, error); /* the first document need not be on line 1 */
    rc = open_documents(source, error);
    source->is_batch |= source->is_attached;
    return rc;
}

static int next_document(struct nb_document_source *s, struct nb_error *error)
{
    if (s->line != NULL)
        return next_line(s, error);
    if (s->body != NULL || s->is_table)
        nb_json_document_deinit(&s->document);
    if (s->body != NULL)
        return next_json(s, error);
    if (s->is_table)
        return next_row(s, error);
    return s->request->type.media == NB_MEDIA_MBOX ? next_mail(s, error) : next_whole(s, error);
}

int nb_document_source_next(struct nb_document_source *source, struct nb_error *error)
{
    struct nb_document_source *s = source;
    /* A long batch or stream ends early when the daemon breaks off requests. */
    int rc = nb_request_check_cut(s->request, error);
    s->why.code = 0;
    if (rc != 0)
        return rc;
    return s->is_attached ? next_attached(s, error) : next_document(s, error);
}

void nb_document_source_close(struct nb_document_source *source)
{
    nb_json_document_deinit(&source->document);
    nb_json_body_free(&source->body);
    if (source->is_table)
        nb_table_close(&source->table);
    nb_buffer_deinit(&source->text);
    nb_buffer_deinit(&source->lines);
    nb_buffer_deinit(&source->file);
    if (source->is_attached)
        nb_mail_attached_deinit(&source->attached);
    nb_buffer_deinit(&source->label);
}
