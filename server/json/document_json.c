/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads documents from JSON. A document of the usual form is read in place (scan.c); everything
 * else is parsed by jansson, which reports what is wrong with it, and where.
 */
#include "server/json/document_json.h"

#include <assert.h>
#include <stdlib.h>

#include "core/base/array.h"
#include "core/engine/engine.h"
#include "server/json/emit.h"
#include "server/json/json_values.h"
#include "server/json/scan.h"
#include "tokenizer/mail_file.h"

/* The most JSON values that a text may have: for each document, and in addition to them. The
 * additional number is above jansson's limit of depth, so that a text that is nested too deep gets
 * the error for its depth. */
enum { VALUES_BESIDE = 4096, VALUES_PER_DOCUMENT = 40 };

/* The members of a document, read by scan.c or by jansson. */
struct members {
    struct nb_string value[NB_MEMBERS];
    bool given[NB_MEMBERS];
};

static bool has_content(const struct members *m)
{
    return m->given[NB_MEMBER_TEXT] || m->given[NB_MEMBER_MAIL] || m->given[NB_MEMBER_MAIL_BASE64];
}

/* Checks that the required members are there, and that no two members exclude each other. */
static int check_members(const struct members *m, bool has_values, enum nb_verb verb,
                         struct nb_error *error)
{
    int found = -1;
    for (int i = NB_MEMBER_TEXT; i <= NB_MEMBER_MAIL_BASE64; i++) {
        if (!m->given[i])
            continue;
        if (found >= 0)
            return nb_error_set(error, NB_INVALID,
                                "a document has one of text, mail and mail_base64; this one has "
                                "\"%s\" and \"%s\"",
                                nb_scan_members[found], nb_scan_members[i]);
        found = i;
    }
    bool has_nothing = found < 0 && !has_values;
    if (has_nothing && verb == NB_VERB_UNTRAIN && !m->given[NB_MEMBER_ID])
        return nb_error_set(error, NB_INVALID,
                            "untrain wants \"id\", or the document: one of \"text\", \"mail\" and "
                            "\"mail_base64\", or \"values\"");
    bool is_label = verb == NB_VERB_TRAIN && m->given[NB_MEMBER_ID] && m->given[NB_MEMBER_LABEL];
    if (has_nothing && verb != NB_VERB_UNTRAIN && !is_label)
        return nb_error_set(error, NB_INVALID,
                            "the document is missing: one of \"text\", \"mail\" and "
                            "\"mail_base64\", or \"values\"");
    if (verb == NB_VERB_TRAIN && !m->given[NB_MEMBER_LABEL])
        return nb_error_about(error,
                              nb_error_set(error, NB_INVALID,
                                           "member \"label\" is missing: a document to learn has "
                                           "one, or null if it is not known"),
                              NULL, "label");
    if (verb != NB_VERB_TRAIN && m->given[NB_MEMBER_LABEL] &&
        m->value[NB_MEMBER_LABEL].bytes == NULL)
        return nb_error_set(error, NB_INVALID, "member \"label\" must be a string, not null");
    return 0;
}

/* Decodes base64 (RFC 4648, section 4) with its padding; line breaks, which mail has, are allowed.
 * Appends the bytes to `out`, which has room for them, so that pointers into it stay valid. */
static int decode_base64(struct nb_string text, struct nb_buffer *out, struct nb_error *error)
{
    assert(out->capacity - out->length >= text.length / 4 * 3); /* reserved by the caller */
    size_t length = 0;
    const char *fault = nb_base64_decode(text, (unsigned char *)out->bytes + out->length,
                                         out->capacity - out->length, &length);
    if (fault != NULL)
        return nb_error_set(error, NB_INVALID,
                            "member \"mail_base64\" is not base64 with padding (RFC 4648): "
                            "near byte %zu of %zu",
                            (size_t)(fault - text.bytes), text.length);
    out->length += length;
    return 0;
}

/* Sets all members of a document except `decoded` and `json`, which hold the strings of `m`
 * already. `decoded` has room for the decoded base64. */
static int fill(struct members *m, enum nb_verb verb, struct nb_json_document *document,
                struct nb_error *error)
{
    bool has_values = document->values.values != NULL;
    int rc = check_members(m, has_values, verb, error);
    if (rc == 0 && m->given[NB_MEMBER_LABEL] && m->value[NB_MEMBER_LABEL].bytes != NULL)
        rc = nb_label_take(&m->value[NB_MEMBER_LABEL], &document->label_room, error);
    if (rc == 0 && m->given[NB_MEMBER_ID])
        rc = nb_check_id(m->value[NB_MEMBER_ID], error);
    if (rc == 0 && m->value[NB_MEMBER_SOURCE].length > 0)
        rc = nb_check_source(m->value[NB_MEMBER_SOURCE], error);
    if (rc != 0)
        return rc;
    document->has_content = has_content(m) || has_values;
    document->label = m->value[NB_MEMBER_LABEL];
    document->id = m->value[NB_MEMBER_ID];
    document->source = m->value[NB_MEMBER_SOURCE];
    struct nb_string content = m->value[NB_MEMBER_TEXT];
    if (m->given[NB_MEMBER_MAIL])
        content = m->value[NB_MEMBER_MAIL];
    if (m->given[NB_MEMBER_MAIL_BASE64]) {
        size_t before = document->decoded.length;
        rc = decode_base64(m->value[NB_MEMBER_MAIL_BASE64], &document->decoded, error);
        if (rc != 0)
            return rc;
        content =
            (struct nb_string){document->decoded.bytes + before, document->decoded.length - before};
    }
    document->document = (struct nb_document){
        .kind = m->given[NB_MEMBER_TEXT] || !has_content(m) ? NB_DOCUMENT_TEXT : NB_DOCUMENT_MAIL,
        .bytes = content.bytes == NULL ? "" : content.bytes,
        .length = content.length,
        .values = {document->values.values, document->values.count}};
    return 0;
}

/* Skips the bytes of a mail file before its header. */
static int find_mail(struct nb_json_document *document, struct nb_error *error)
{
    struct nb_document *mail = &document->document;
    struct nb_string found;
    if (mail->kind != NB_DOCUMENT_MAIL)
        return 0;
    if (nb_mail_of_file((struct nb_string){mail->bytes, mail->length}, &document->lines, &found) !=
        0)
        return nb_error_no_memory(error);
    mail->bytes = found.bytes;
    mail->length = found.length;
    return 0;
}

/* On success (`rc` is 0) moves the document to the caller, otherwise frees its contents. */
static int deliver(int rc, struct nb_json_document *made, struct nb_json_document *document,
                   struct nb_error *error)
{
    if (rc == 0)
        rc = find_mail(made, error);
    assert(rc != 0 || made->document.bytes != NULL);
    if (rc == 0)
        *document = *made;
    else
        nb_json_document_deinit(made);
    return rc;
}

static int from_flat(const struct nb_flat_document *flat, enum nb_verb verb,
                     struct nb_json_document *document, struct nb_error *error)
{
    struct members m = {0};
    struct nb_json_document made = {0};
    size_t need = flat->raw[NB_MEMBER_MAIL_BASE64].length / 4 * 3 + 3;
    for (unsigned i = 0; i < NB_MEMBERS; i++)
        need += (flat->escaped >> i & 1u) != 0 ? flat->raw[i].length : 0;
    if (flat->escaped != 0 || (flat->given >> NB_MEMBER_MAIL_BASE64 & 1u) != 0) {
        if (nb_buffer_reserve(&made.decoded, need) != 0)
            return nb_error_no_memory(error);
    }
    for (unsigned i = 0; i < NB_MEMBERS; i++) {
        m.given[i] = (flat->given >> i & 1u) != 0;
        m.value[i] = flat->raw[i];
        if ((flat->escaped >> i & 1u) == 0)
            continue;
        assert(made.decoded.capacity - made.decoded.length >= flat->raw[i].length);
        m.value[i].bytes = made.decoded.bytes + made.decoded.length;
        m.value[i].length =
            nb_scan_unescape(flat->raw[i], made.decoded.bytes + made.decoded.length);
        made.decoded.length += m.value[i].length;
    }
    return deliver(fill(&m, verb, &made, error), &made, document, error);
}

/* Reads the strings of an object's members. The texts of numbers go to `decoded`, which also gets
 * room for the decoded base64. Returns 0 or NB_NO_MEMORY. */
static int read_members(const json_t *const *values, struct members *m, struct nb_buffer *decoded)
{
    const json_t *base64 = values[NB_MEMBER_MAIL_BASE64];
    size_t need = base64 != NULL ? nb_json_text(base64).length / 4 * 3 + 3 : 0;
    for (unsigned i = 0; i < NB_MEMBERS; i++)
        need += json_is_integer(values[i]) ? NB_NUMBER_TEXT : 0;
    int rc = need > 0 ? nb_buffer_reserve(decoded, need) : 0;
    for (unsigned i = 0; i < NB_MEMBERS && rc == 0; i++) {
        m->given[i] = values[i] != NULL;
        if (m->given[i] && !json_is_null(values[i]))
            rc = nb_json_name(values[i], decoded, &m->value[i]);
    }
    return rc;
}

/* Reads a document from a parsed object. If `models` is not NULL, the object must have a member of
 * that name, and *models is set to it. */
static int from_json(json_t *object, enum nb_verb verb, const json_t **models,
                     struct nb_json_document *document, struct nb_error *error)
{
    enum { VALUES = NB_MEMBERS, MODELS, ALL };
    const json_t *values[ALL];
    struct nb_json_member members[ALL];
    for (unsigned i = 0; i < NB_MEMBERS; i++)
        members[i] = (struct nb_json_member){nb_scan_members[i], NB_TYPE_STRING, false};
    members[NB_MEMBER_LABEL].types = NB_TYPE_NAME | NB_TYPE_NULL;
    members[NB_MEMBER_ID].types = NB_TYPE_NAME;
    members[VALUES] = (struct nb_json_member){"values", NB_TYPE_OBJECT, false};
    members[MODELS] = (struct nb_json_member){"models", NB_TYPE_ARRAY, true};
    int rc =
        nb_json_take(object, "a document", members, models != NULL ? ALL : MODELS, values, error);
    if (rc != 0)
        return rc;
    if (models != NULL)
        *models = values[MODELS];
    struct members m = {0};
    struct nb_json_document made = {0};
    if (values[VALUES] != NULL)
        rc = nb_json_values_read(values[VALUES], &made.values, error);
    if (rc != 0)
        return rc;
    rc = read_members(values, &m, &made.decoded);
    if (rc != 0)
        return deliver(nb_error_no_memory(error), &made, document, error);
    made.json = json_incref(object);
    return deliver(fill(&m, verb, &made, error), &made, document, error);
}

int nb_json_document_read(struct nb_string line, enum nb_verb verb,
                          struct nb_json_document *document, struct nb_error *error)
{
    struct nb_flat_document flat;
    const char *at = line.length == 0 ? "" : line.bytes;
    const char *end = at + line.length;
    if (nb_scan_document(&at, end, &flat) && nb_scan_end(at, end))
        return from_flat(&flat, verb, document, error);
    json_t *value;
    int rc = nb_json_load(line, VALUES_BESIDE, &value, error);
    if (rc != 0)
        return rc;
    rc = from_json(value, verb, NULL, document, error);
    json_decref(value);
    return rc;
}

static int read_names(const json_t *list, size_t most, struct nb_string *names,
                      struct nb_error *error)
{
    assert(json_is_array(list)); /* from_json has checked that it is an array */
    size_t size = json_array_size(list);
    if (size == 0)
        return nb_error_set(error, NB_INVALID, "\"models\" must have at least one name");
    if (size > most)
        return nb_error_set(error, NB_TOO_LARGE,
                            "\"models\" has %zu names, the limit is %zu (classify_models)", size,
                            most);
    for (size_t i = 0; i < size; i++) {
        const json_t *name = json_array_get(list, i);
        if (!json_is_string(name))
            return nb_error_set(error, NB_INVALID, "\"models\" holds strings, not %s",
                                nb_json_type_name(name));
        names[i] = nb_json_text(name);
        int rc = nb_check_model_name(names[i], error);
        if (rc != 0)
            return rc;
        size_t same = 0;
        while (!nb_string_same(names[same], names[i]))
            same++;
        if (same < i)
            return nb_error_set(error, NB_INVALID, "\"models\" has the name '%.*s' twice",
                                (int)names[i].length, names[i].bytes);
    }
    return 0;
}

int nb_json_document_read_models(struct nb_string text, size_t most,
                                 struct nb_json_document *document, struct nb_string **models,
                                 size_t *count, struct nb_error *error)
{
    json_t *value;
    const json_t *list;
    int rc = nb_json_load(text, most + VALUES_BESIDE, &value, error);
    if (rc != 0)
        return rc;
    rc = from_json(value, NB_VERB_CLASSIFY, &list, document, error);
    json_decref(value);
    if (rc != 0)
        return rc;
    *count = json_array_size(list);
    *models = calloc(*count + 1, sizeof **models);
    rc = *models != NULL ? read_names(list, most, *models, error) : nb_error_no_memory(error);
    if (rc != 0) {
        free(*models);
        nb_json_document_deinit(document);
    }
    return rc;
}

void nb_json_document_deinit(struct nb_json_document *document)
{
    nb_json_values_deinit(&document->values);
    nb_buffer_deinit(&document->decoded);
    nb_buffer_deinit(&document->lines);
    nb_buffer_deinit(&document->label_room);
    json_decref(document->json);
    *document = (struct nb_json_document){0};
}

/* ---- bodies ---------------------------------------------------------------------------------- */

struct nb_json_body {
    bool is_batch;
    size_t size;
    struct nb_flat_document *flat; /* owned; NULL: the members below are used */
    json_t *root;                  /* owned */
    const json_t *documents;       /* the array in `root`; NULL when it is not a batch */
};

static int over_limit(size_t most, struct nb_error *error)
{
    return nb_error_set(error, NB_TOO_LARGE, "a batch has at most %zu documents", most);
}

/* Returns 1 if the scanner has read the whole text, 0 if it could not, or an error code. */
static int scan_body(struct nb_json_body *body, struct nb_string text, size_t most,
                     struct nb_error *error)
{
    const char *at = text.length == 0 ? "" : text.bytes;
    const char *begin = at, *end = at + text.length;
    size_t capacity = 0;
    body->is_batch = nb_scan_batch_open(&at, end);
    if (!body->is_batch)
        at = begin;
    int more = body->is_batch ? nb_scan_batch_next(&at, end, true) : 1;
    while (more == 1) {
        if (body->is_batch && body->size == most)
            return over_limit(most, error);
        if (nb_array_reserve(&body->flat, &capacity, body->size + 1, sizeof *body->flat) != 0)
            return nb_error_no_memory(error);
        if (!nb_scan_document(&at, end, &body->flat[body->size]))
            return 0;
        body->size++;
        if (!body->is_batch)
            return nb_scan_end(at, end);
        more = nb_scan_batch_next(&at, end, false);
    }
    return more == 0;
}

static int parse_body(struct nb_json_body *body, struct nb_string text, size_t most,
                      struct nb_error *error)
{
    static const struct nb_json_member members[] = {{"documents", NB_TYPE_ARRAY, true}};
    free(body->flat);
    *body = (struct nb_json_body){0};
    size_t most_values = most < SIZE_MAX / VALUES_PER_DOCUMENT - VALUES_BESIDE
                             ? most * VALUES_PER_DOCUMENT + VALUES_BESIDE
                             : SIZE_MAX;
    int rc = nb_json_load(text, most_values, &body->root, error);
    if (rc != 0)
        return rc;
    body->size = 1;
    body->is_batch = json_object_get(body->root, "documents") != NULL;
    if (!body->is_batch)
        return 0;
    rc = nb_json_take(body->root, "a batch", members, 1, &body->documents, error);
    if (rc == 0)
        body->size = json_array_size(body->documents);
    if (rc == 0 && body->size > most)
        rc = over_limit(most, error);
    return rc;
}

int nb_json_body_new(struct nb_string text, size_t most_documents, struct nb_json_body **body,
                     struct nb_error *error)
{
    struct nb_json_body *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    int rc = scan_body(made, text, most_documents, error);
    if (rc == 0)
        rc = parse_body(made, text, most_documents, error);
    if (rc < 0)
        nb_json_body_free(&made);
    else
        *body = made;
    return rc < 0 ? rc : 0;
}

void nb_json_body_free(struct nb_json_body **body)
{
    if (*body == NULL)
        return;
    free((*body)->flat);
    json_decref((*body)->root);
    free(*body);
    *body = NULL;
}

bool nb_json_body_is_batch(const struct nb_json_body *body)
{
    return body->is_batch;
}

size_t nb_json_body_size(const struct nb_json_body *body)
{
    return body->size;
}

int nb_json_body_document(const struct nb_json_body *body, size_t index, enum nb_verb verb,
                          struct nb_json_document *document, struct nb_error *error)
{
    if (body->root == NULL)
        return from_flat(&body->flat[index], verb, document, error);
    json_t *object = body->documents == NULL ? body->root : json_array_get(body->documents, index);
    return from_json(object, verb, NULL, document, error);
}
