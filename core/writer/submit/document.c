/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes with their document: it is validated, tokenized, and its features are looked up in the
 * counts.
 */
#include <assert.h>
#include <string.h>

#include "core/model/live/names.h"
#include "core/writer/submit/batch_private.h"
#include "core/writer/submit/features.h"
#include "tokenizer/mail/mail_identity.h"

/* ---- ids ------------------------------------------------------------------------------------- */

/* Writes the bytes that the id of a document with values is made from; `content` is what stands for
 * its text or mail. */
static int write_content(const struct nb_document *document, struct nb_string content,
                         struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, (uint8_t)document->kind);
    nb_pack_string(&w, content);
    for (size_t i = 0; i < document->values.count; i++) {
        const struct nb_value *value = &document->values.values[i];
        nb_pack_string(&w, value->name);
        nb_pack_varint(&w, value->is_list ? value->count + 1 : 0);
        for (size_t k = 0; k < value->count; k++)
            nb_pack_string(&w, value->items[k]);
    }
    return w.code;
}

static int make_values_id(const struct nb_key *key, const struct nb_document *document,
                          struct nb_string content, char made[NB_CONTENT_ID_LENGTH + 1])
{
    enum { KIND = 2 }; /* differs from those of enum nb_document_kind */
    struct nb_buffer bytes = {0};
    int rc = write_content(document, content, &bytes);
    if (rc == 0)
        nb_key_content_id(key, KIND, bytes.bytes, bytes.length, made);
    nb_buffer_deinit(&bytes);
    return rc;
}

int nb_batch_make_id(const struct nb_key *key, const struct nb_document *document,
                     char made[NB_CONTENT_ID_LENGTH + 1])
{
    struct nb_string content = {document->bytes, document->length};
    int rc = 0;
    if (document->kind == NB_DOCUMENT_MAIL) {
        rc = nb_mail_identity(key, content, made);
        content = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    if (rc == 0 && document->values.count > 0)
        return make_values_id(key, document, content, made);
    if (rc == 0 && document->kind != NB_DOCUMENT_MAIL)
        nb_key_content_id(key, (unsigned char)document->kind, content.bytes, content.length, made);
    return rc;
}

/* Makes the id that a mail had before ids were made of its identity: of its bytes as they were. */
static int make_former_id(const struct nb_key *key, const struct nb_document *document,
                          char made[NB_CONTENT_ID_LENGTH + 1])
{
    if (document->values.count > 0)
        return make_values_id(key, document, (struct nb_string){document->bytes, document->length},
                              made);
    nb_key_mail_id(key, NB_DOCUMENT_MAIL, document->bytes, document->length, made);
    return 0;
}

/* Whether the model may have mails under ids that an older program has made. */
static bool has_former_ids(const struct nb_batch *batch)
{
    struct nb_published *published = nb_live_settings(batch->live);
    bool has = published->settings.tokenizer_version < NB_TOKENIZER_IDENTITIES;
    nb_published_release(&published);
    return has;
}

/* Finds a mail of an older store under the id that it has there; `made` then is this one. */
static int find_former(const struct nb_batch *batch, const struct nb_document *document,
                       char made[NB_CONTENT_ID_LENGTH + 1])
{
    char former[NB_CONTENT_ID_LENGTH + 1];
    if (nb_batch_is_in_ledger(batch, (struct nb_string){made, NB_CONTENT_ID_LENGTH}))
        return 0;
    int rc = make_former_id(batch->live->id_key, document, former);
    if (rc == 0 && nb_batch_is_in_ledger(batch, (struct nb_string){former, NB_CONTENT_ID_LENGTH}))
        memcpy(made, former, sizeof former);
    return rc;
}

static int set_id(const struct nb_batch *batch, const struct nb_document *document,
                  struct nb_string id, struct nb_submitted *change)
{
    char made[NB_CONTENT_ID_LENGTH + 1];
    assert(batch->live != NULL);
    if (id.length == 0) {
        int rc = nb_batch_make_id(batch->live->id_key, document, made);
        if (rc == 0 && document->kind == NB_DOCUMENT_MAIL && has_former_ids(batch))
            rc = find_former(batch, document, made);
        if (rc != 0)
            return rc;
        id = (struct nb_string){made, NB_CONTENT_ID_LENGTH};
    }
    return nb_buffer_append(&change->id, id.bytes, id.length);
}

/* ---- changes of documents -------------------------------------------------------------------- */

static int tokenize(struct nb_batch *batch, const struct nb_document *document,
                    struct nb_submitted *change)
{
    assert(batch->live->counts != NULL);
    struct nb_published *published = nb_live_settings(batch->live);
    struct nb_tokenizer_settings settings = nb_published_tokenizer(published);
    change->fields = settings.fields;
    int rc = nb_document_tokenize(document, batch->live->key, &settings,
                                  &batch->engine->settings.tokenizer, &batch->scratch);
    nb_published_release(&published);
    return rc != 0 ? rc : nb_submitted_features(batch, change);
}

static bool has_new_fields(struct nb_values values, struct nb_attributes attributes)
{
    for (size_t i = 0; i < values.count; i++)
        if (nb_attribute_find(attributes, values.values[i].name) == attributes.count)
            return true;
    return false;
}

/* Checks the values against the model's fields. Fields are never removed, so what is valid now is
 * still valid when the document is tokenized. A document for the quarantine adds no fields. */
static int check_values(const struct nb_batch *batch, const struct nb_document *document,
                        bool *needs_fields, struct nb_error *error)
{
    if (document->values.count == 0)
        return 0;
    struct nb_published *published = nb_live_settings(batch->live);
    struct nb_attributes attributes = nb_settings_attributes(&published->settings);
    *needs_fields =
        attributes.is_open && !batch->quarantined && has_new_fields(document->values, attributes);
    attributes.is_open = *needs_fields;
    int rc = nb_values_check(document->values, attributes, error);
    nb_published_release(&published);
    *needs_fields = *needs_fields && rc == 0;
    return rc;
}

static int check(struct nb_string id, struct nb_string source, struct nb_error *error)
{
    int rc = nb_check_source(source, error);
    return rc == 0 && id.length > 0 ? nb_check_id(id, error) : rc;
}

int nb_batch_add(struct nb_batch *batch, const struct nb_document *document, struct nb_string label,
                 struct nb_string id, struct nb_string source, bool *needs_fields,
                 struct nb_error *error)
{
    *needs_fields = false;
    int rc = label.bytes == NULL ? 0 : nb_check_label(label, error);
    if (rc == 0)
        rc = check(id, source, error);
    if (rc == 0)
        rc = nb_batch_acquire(batch, document, !batch->quarantined, error);
    if (rc == 0)
        rc = check_values(batch, document, needs_fields, error);
    if (rc != 0 || *needs_fields)
        return rc;
    struct nb_submitted change = {.quarantined = batch->quarantined};
    rc = set_id(batch, document, id, &change);
    if (rc == 0)
        rc = nb_buffer_append(&change.label, label.bytes, label.length);
    if (rc == 0)
        rc = nb_buffer_append(&change.source, source.bytes, source.length);
    if (rc == 0)
        rc = tokenize(batch, document, &change);
    return nb_batch_end_change(batch, &change, rc, error);
}

int nb_batch_untrain(struct nb_batch *batch, const struct nb_document *document,
                     struct nb_string id, struct nb_string source, struct nb_error *error)
{
    int rc = check(id, source, error);
    if (rc == 0)
        rc = nb_batch_acquire(batch, document, false, error);
    if (rc != 0)
        return rc;
    struct nb_submitted change = {.untrain = true, .quarantined = batch->quarantined};
    rc = set_id(batch, document, id, &change);
    if (rc == 0)
        rc = nb_buffer_append(&change.source, source.bytes, source.length);
    return nb_batch_end_change(batch, &change, rc, error);
}
