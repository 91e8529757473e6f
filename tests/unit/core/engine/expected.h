/* SPDX-License-Identifier: Apache-2.0
 *
 * The expected contents of models, kept in a slow way, as lists of current documents. Shares no
 * code with the engine except the tokenizer. For tests.
 */
#ifndef NB_TESTS_UNIT_CORE_ENGINE_EXPECTED_H
#define NB_TESTS_UNIT_CORE_ENGINE_EXPECTED_H

#include "tests/unit/core/engine/picture.h"

enum { MODELS = 5, EXPECTED_LABEL_MOST = 64, EXPECTED_ID_MOST = 96, EXPECTED_NO_LABEL = 65535 };

struct expected_document {
    char id[EXPECTED_ID_MOST];
    uint32_t label; /* EXPECTED_NO_LABEL: it is stored without one */
    enum nb_document_kind kind;
    char *bytes; /* owned */
};

struct expected_model {
    bool exists;
    uint32_t fields;
    char (*labels)[EXPECTED_LABEL_MOST + 1]; /* owned; by number */
    uint32_t label_count;
    struct expected_document *documents; /* owned; in the order of arrival */
    size_t count;
};

static struct nb_document document_of(enum nb_document_kind kind, const char *bytes)
{
    return (struct nb_document){.kind = kind, .bytes = bytes, .length = strlen(bytes)};
}

static void expected_clear(struct expected_model *m)
{
    for (size_t i = 0; i < m->count; i++)
        free(m->documents[i].bytes);
    free(m->documents);
    free(m->labels);
    *m = (struct expected_model){.exists = false};
}

static void expected_copy(struct expected_model *to, const struct expected_model *from)
{
    struct expected_model copy = *from;
    copy.labels = malloc((copy.label_count + 1) * sizeof *copy.labels);
    copy.documents = malloc((copy.count + 1) * sizeof *copy.documents);
    ck_assert(copy.labels != NULL && copy.documents != NULL);
    if (copy.label_count > 0)
        memcpy(copy.labels, from->labels, copy.label_count * sizeof *copy.labels);
    for (size_t i = 0; i < copy.count; i++) {
        copy.documents[i] = from->documents[i];
        copy.documents[i].bytes = strdup(from->documents[i].bytes);
    }
    expected_clear(to);
    *to = copy;
}

/* Returns the number of a label; UINT32_MAX if there is none. */
static uint32_t expected_label(const struct expected_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->label_count; i++)
        if (strcmp(m->labels[i], name) == 0)
            return i;
    return UINT32_MAX;
}

static uint32_t expected_make_label(struct expected_model *m, const char *name)
{
    uint32_t label = expected_label(m, name);
    if (label != UINT32_MAX)
        return label;
    m->labels = realloc(m->labels, (m->label_count + 1) * sizeof *m->labels);
    ck_assert_ptr_nonnull(m->labels);
    snprintf(m->labels[m->label_count], sizeof *m->labels, "%s", name);
    return m->label_count++;
}

static struct expected_document *expected_find(const struct expected_model *m, const char *id)
{
    for (size_t i = 0; i < m->count; i++)
        if (strcmp(m->documents[i].id, id) == 0)
            return &m->documents[i];
    return NULL;
}

/* Returns the name of a document's label; empty: it has none. */
static const char *expected_label_of(const struct expected_model *m,
                                     const struct expected_document *d)
{
    return d->label == EXPECTED_NO_LABEL ? "" : m->labels[d->label];
}

static struct expected_document *expected_to_end(const struct expected_model *m,
                                                 struct expected_document *d)
{
    struct expected_document moved = *d;
    struct expected_document *last = &m->documents[m->count - 1];
    memmove(d, d + 1, (size_t)(last - d) * sizeof *d);
    *last = moved;
    return last;
}

/* Learns a document, at the end of the list or in its old place. A document that gets its first
 * label moves to the end. With an empty label the document is stored without a label. */
static void expected_train(struct expected_model *m, const char *id, const char *label,
                           enum nb_document_kind kind, const char *bytes)
{
    struct expected_document *d = expected_find(m, id);
    uint32_t number = label[0] == '\0' ? EXPECTED_NO_LABEL : expected_make_label(m, label);
    if (d == NULL) {
        m->documents = realloc(m->documents, (m->count + 1) * sizeof *m->documents);
        ck_assert_ptr_nonnull(m->documents);
        d = &m->documents[m->count++];
        *d = (struct expected_document){.bytes = NULL};
        ck_assert_uint_lt(strlen(id), sizeof d->id);
        strcpy(d->id, id);
    }
    char *copy = strdup(bytes);
    if (d->bytes != NULL && d->label == EXPECTED_NO_LABEL && number != EXPECTED_NO_LABEL)
        d = expected_to_end(m, d);
    free(d->bytes);
    d->label = number;
    d->kind = kind;
    d->bytes = copy;
}

static void expected_untrain(struct expected_model *m, struct expected_document *d)
{
    free(d->bytes);
    memmove(d, d + 1, (size_t)(m->documents + m->count - (d + 1)) * sizeof *d);
    m->count--;
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* The state of comparing a dump with the list as its records arrive. */
struct comparison {
    struct nb_engine *engine;
    const char *name;
    const struct expected_model *model;
    struct nb_bag bag;
    uint64_t *rows;      /* owned; of each row, a number that stands for its feature */
    uint64_t *totals;    /* owned; of each row, its occurrences in current documents */
    uint64_t unlabelled; /* documents seen without a label */
    bool *tokens;        /* owned; of each row, whether its field is one of tokens */
    size_t row_count;
    bool has_texts;
    size_t at; /* documents seen */
};

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t number_of_feature(uint64_t id, const struct nb_string *text)
{
    if (text == NULL)
        return mixed(id);
    uint64_t hash = UINT64_C(0xcbf29ce484222325) + nb_feature_field(id);
    for (size_t i = 0; i < text->length; i++)
        hash = (hash ^ (unsigned char)text->bytes[i]) * UINT64_C(0x100000001b3);
    return mixed(hash);
}

static int compare_header(void *user, const struct nb_dump_header *header)
{
    struct comparison *c = user;
    c->has_texts = header->has_texts;
    ck_assert_msg(header->label_count == c->model->label_count, "%s has %zu labels, not %u",
                  c->name, header->label_count, c->model->label_count);
    for (size_t i = 0; i < header->label_count; i++)
        ck_assert_str_eq(header->labels[i], c->model->labels[i]);
    ck_assert_uint_eq(header->settings.tokenizer_fields, c->model->fields);
    return 0;
}

static int compare_words(void *user, const struct nb_dump_words *words)
{
    struct comparison *c = user;
    size_t end = words->first_row + words->count;
    ck_assert_uint_eq(words->first_row, c->row_count);
    c->rows = realloc(c->rows, end * sizeof *c->rows);
    c->totals = realloc(c->totals, end * sizeof *c->totals);
    c->tokens = realloc(c->tokens, end * sizeof *c->tokens);
    ck_assert(c->rows != NULL && c->totals != NULL && c->tokens != NULL);
    for (size_t i = 0; i < words->count; i++) {
        must(!c->has_texts || words->texts != NULL);
        c->rows[c->row_count] =
            number_of_feature(words->ids[i], c->has_texts ? &words->texts[i] : NULL);
        c->tokens[c->row_count] = nb_field_is_token(nb_feature_field(words->ids[i]));
        c->totals[c->row_count++] = 0;
    }
    return 0;
}

static int compare_document(void *user, const struct nb_dump_document *document)
{
    struct comparison *c = user;
    ck_assert_msg(c->at < c->model->count, "%s has too many documents", c->name);
    const struct expected_document *d = &c->model->documents[c->at++];
    struct nb_document bytes = document_of(d->kind, d->bytes);
    uint64_t want = 0;
    uint64_t got = 0;
    bool is_counted = d->label != EXPECTED_NO_LABEL;
    c->unlabelled += !is_counted;
    ck_assert_msg(strlen(d->id) == document->id.length &&
                      memcmp(d->id, document->id.bytes, document->id.length) == 0,
                  "%s: document %zu is '%.*s', not '%s'", c->name, c->at - 1,
                  (int)document->id.length, document->id.bytes, d->id);
    ck_assert_msg(d->label == document->label, "%s: '%s' has label %u, not %u", c->name, d->id,
                  document->label, d->label);
    ck_assert_int_eq(nb_engine_tokenize(c->engine, string_at(c->name), &bytes, &c->bag, NULL), 0);
    for (size_t i = 0; i < c->bag.size; i++)
        want += number_of_feature(c->bag.features[i].id, c->has_texts ? &c->bag.texts[i] : NULL) *
                c->bag.features[i].count;
    for (size_t i = 0; i < document->size; i++) {
        got += c->rows[document->rows[i]] * document->counts[i];
        c->totals[document->rows[i]] += is_counted ? document->counts[i] : 0;
    }
    ck_assert_msg(got == want && document->size == c->bag.size, "%s: the bag of '%s' differs",
                  c->name, d->id);
    ck_assert_uint_eq(document->tokens, c->bag.positions);
    return 0;
}

static int compare_end(void *user, const struct nb_dump_totals *totals)
{
    struct comparison *c = user;
    ck_assert_uint_eq(c->at, c->model->count);
    ck_assert_uint_eq(totals->documents, c->model->count);
    return 0;
}

static size_t labels_with_documents(const struct expected_model *m)
{
    size_t count = 0;
    for (uint32_t label = 0; label < m->label_count; label++) {
        size_t k = 0;
        while (k < m->count && m->documents[k].label != label)
            k++;
        count += k < m->count;
    }
    return count;
}

static void compare_info(struct comparison *c)
{
    struct nb_model_info info;
    struct nb_error error = {0};
    uint64_t vocabulary = 0;
    for (size_t i = 0; i < c->row_count; i++)
        vocabulary += c->tokens[i] && c->totals[i] > 0;
    ck_assert_msg(nb_engine_model(c->engine, string_at(c->name), &info, &error) == 0, "%s: %s",
                  c->name, error.text);
    ck_assert_uint_eq(info.documents, c->model->count - c->unlabelled);
    ck_assert_uint_eq(info.unlabelled, c->unlabelled);
    ck_assert_uint_eq(info.vocabulary, vocabulary);
    ck_assert_uint_eq(info.label_count, labels_with_documents(c->model));
    for (size_t i = 0; i < info.label_count; i++) {
        uint32_t label = expected_label(c->model, info.labels[i].label);
        uint64_t documents = 0;
        for (size_t k = 0; k < c->model->count; k++)
            documents += c->model->documents[k].label == label;
        ck_assert_uint_eq(info.labels[i].documents, documents);
    }
    nb_model_info_deinit(&info);
}

/* Expects the engine's model to equal the expected one. */
static void expect_model(struct nb_engine *engine, const char *name, const struct expected_model *m)
{
    struct comparison c = {.engine = engine, .name = name, .model = m};
    const struct nb_dump_sink sink = {compare_header, compare_words, compare_document, compare_end,
                                      &c};
    struct nb_error error = {0};
    nb_bag_init(&c.bag);
    int rc = nb_engine_export(engine, string_at(name), &sink, &error);
    ck_assert_msg(rc == (m->exists ? 0 : NB_NOT_FOUND), "%s: %s", name, error.text);
    if (m->exists)
        compare_info(&c);
    nb_bag_deinit(&c.bag);
    free(c.rows);
    free(c.totals);
    free(c.tokens);
}

#endif
