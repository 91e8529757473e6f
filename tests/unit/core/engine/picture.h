/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture of an engine: all that its public interface reports, as text. Two engines that hold the
 * same models give the same text. Also copies models by export and import. For tests.
 *
 * A dump may have features that no document has any more. The engine drops them when it has time.
 * So the picture leaves out these features and what depends on them: the numbers of the rows, and
 * whether all features have texts.
 */
#ifndef NB_TESTS_UNIT_CORE_ENGINE_PICTURE_H
#define NB_TESTS_UNIT_CORE_ENGINE_PICTURE_H

#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/archive/dump/export.h"
#include "core/archive/dump/import.h"
#include "core/base/array.h"
#include "core/base/buffer.h"
#include "core/engine/engine.h"
#include "core/stack/stack_private.h"

enum { PICTURE_MODELS_MOST = 64, PICTURE_PROBES = 3, PICTURE_DIFFERENCE = 1200 };

static const char *const picture_probes[PICTURE_PROBES] = {
    "w0 w1 w2 w3 w5 w8 w13 w21 w34 w55 unheard", "Free money W1 w1 w1 http://w2.example/w3 w4", ""};

/* A row of a dump. */
struct picture_feature {
    uint64_t id;
    char *text; /* owned, ends in NUL; empty: the dump has none */
    bool is_used;
};

struct picture {
    struct nb_buffer text;
    /* Of a copy in a store of another key: no keys and no ids of features that have texts, and no
     * verdicts, whose sums are in the order of the ids. */
    bool other_key;
    struct nb_engine *engine;
    struct picture_feature *features; /* of the model's dump, by row; owned */
    size_t feature_count, feature_room;
};

/* Like ck_assert, but does not write to a file each time the check passes. */
static void must(bool good)
{
    if (!good)
        ck_abort();
}

static struct nb_string string_at(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

__attribute__((format(printf, 2, 3))) static void say(struct picture *p, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    must(length >= 0 && (size_t)length < sizeof line);
    must(nb_buffer_append(&p->text, line, (size_t)length) == 0);
}

static void say_bytes(struct picture *p, const void *bytes, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *b = bytes;
    for (size_t i = 0; i < length; i++) {
        const char hex[2] = {digits[b[i] >> 4], digits[b[i] & 15]};
        must(nb_buffer_append(&p->text, hex, 2) == 0);
    }
}

static void say_string(struct picture *p, struct nb_string s)
{
    must(nb_buffer_append(&p->text, s.bytes, s.length) == 0);
}

/* ---- a dump ---------------------------------------------------------------------------------- */

/* Returns the length without the last records, the twin's slots, which depend on the ids of the
 * features. */
static size_t without_slots(struct nb_string stack)
{
    struct nb_unpacker r = nb_unpacker_of(stack.bytes, stack.length);
    (void)nb_unpack_string(&r); /* the head */
    const unsigned char *end = r.at;
    while (!r.failed && nb_unpack_varint(&r) >> 16 < NB_STACK_VECTORS && r.at < r.end) {
        (void)nb_unpack_string(&r);
        end = r.at;
    }
    return stack.length == 0 ? 0 : (size_t)(end - (const unsigned char *)stack.bytes);
}

static int say_header(void *user, const struct nb_dump_header *header)
{
    struct picture *p = user;
    struct nb_buffer settings = {0};
    ck_assert_int_eq(nb_settings_write(&header->settings, &settings), 0);
    say(p, "settings ");
    say_bytes(p, settings.bytes, settings.length);
    nb_buffer_deinit(&settings);
    if (!p->other_key) {
        say(p, "\nkey ");
        say_bytes(p, header->key, sizeof header->key);
    }
    for (size_t i = 0; i < header->label_count; i++)
        say(p, "\nlabel %zu %s", i, header->labels[i]);
    say(p, "\nstack ");
    say_bytes(p, header->stack.bytes,
              p->other_key ? without_slots(header->stack) : header->stack.length);
    say(p, "\n");
    return 0;
}

static int say_words(void *user, const struct nb_dump_words *words)
{
    struct picture *p = user;
    ck_assert_uint_eq(words->first_row, p->feature_count);
    must(nb_array_reserve(&p->features, &p->feature_room, p->feature_count + words->count,
                          sizeof *p->features) == 0);
    for (size_t i = 0; i < words->count; i++) {
        char *text = nb_string_copy(words->texts == NULL ? string_at("") : words->texts[i]);
        must(text != NULL);
        p->features[p->feature_count++] = (struct picture_feature){words->ids[i], text, false};
    }
    return 0;
}

/* A copy of a dump that lacks some texts has the ids of the dump. */
static void say_feature(struct picture *p, const struct picture_feature *feature)
{
    say(p, " %s ", nb_field_name(nb_feature_field(feature->id)));
    if (!p->other_key || feature->text[0] == '\0')
        say(p, "%016" PRIx64 " ", feature->id);
    say_string(p, string_at(feature->text));
}

static int say_document(void *user, const struct nb_dump_document *document)
{
    struct picture *p = user;
    say(p, "document ");
    say_string(p, document->id);
    say(p, " %u %" PRId64 " '", document->label, document->learned);
    say_string(p, document->source);
    say(p, "' %" PRIu64 " ", document->tokens);
    say_bytes(p, document->score.bytes, document->score.length);
    for (size_t i = 0; i < document->size; i++) {
        must(document->rows[i] < p->feature_count);
        p->features[document->rows[i]].is_used = true;
        say_feature(p, &p->features[document->rows[i]]);
        say(p, " %u", document->counts[i]);
    }
    say(p, "\n");
    return 0;
}

static void forget_features(struct picture *p)
{
    for (size_t row = 0; row < p->feature_count; row++)
        free(p->features[row].text);
    free(p->features);
    p->features = NULL;
    p->feature_count = p->feature_room = 0;
}

/* Writes the features in the order of their rows, which the dump must keep. */
static int say_end(void *user, const struct nb_dump_totals *totals)
{
    struct picture *p = user;
    ck_assert_uint_eq(totals->features, p->feature_count);
    for (size_t row = 0; row < p->feature_count; row++) {
        if (p->features[row].is_used) {
            say(p, "row");
            say_feature(p, &p->features[row]);
            say(p, "\n");
        }
    }
    forget_features(p);
    say(p, "end %" PRIu64 " %" PRIu64 "\n", totals->documents, totals->occurrences);
    return 0;
}

/* Returns whether an export has lost its snapshot because the store had to grow, and the model has
 * changed in the meantime. Only then is the export begun again. */
static bool is_outrun(int rc, const struct nb_error *error)
{
    return rc == NB_IO &&
           (strstr(error->text, "the model has changed since the store had to grow") != NULL ||
            strstr(error->text, "the model was replaced or deleted meanwhile") != NULL);
}

static void say_dump(struct picture *p, const char *model)
{
    const struct nb_dump_sink sink = {say_header, say_words, say_document, say_end, p};
    struct nb_error error = {0};
    size_t before = p->text.length;
    int rc = nb_engine_export(p->engine, string_at(model), &sink, &error);
    while (is_outrun(rc, &error)) {
        p->text.length = before;
        forget_features(p);
        rc = nb_engine_export(p->engine, string_at(model), &sink, &error);
    }
    ck_assert_msg(rc == 0, "%s: %s", model, error.text);
}

/* ---- other questions ------------------------------------------------------------------------- */

static void say_info(struct picture *p, const struct nb_model_info *info)
{
    say(p, "info %" PRIu64 " %" PRIu64 " damaged %d", info->documents, info->vocabulary,
        info->is_damaged);
    for (size_t i = 0; i < info->label_count; i++)
        say(p, " %s %" PRIu64 " %" PRIu64, info->labels[i].label, info->labels[i].documents,
            info->labels[i].tokens);
    say(p, "\n");
}

static void say_verdict(struct picture *p, const char *model, const char *bytes)
{
    struct nb_verdict v;
    struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = bytes, .length = strlen(bytes)};
    nb_verdict_init(&v);
    int rc = nb_engine_classify(p->engine, string_at(model), &document, 5, &v, NULL);
    say(p, "verdict %d", rc);
    if (rc == 0) {
        say(p, " best %zu %d %d %" PRIu64 " %" PRIu64 " %d %a", v.best, v.calibrated, v.ready,
            v.total, v.known, v.has_evidence, v.of_labels);
        for (size_t i = 0; i < v.size; i++)
            say(p, " %s %a %a", v.labels[i], v.log_scores[i], v.probabilities[i]);
        for (size_t i = 0; i < v.explanation_count; i++) {
            say(p, " [");
            say_string(p, v.explanation[i].token);
            say(p, " %a]", v.explanation[i].evidence);
        }
    }
    say(p, "\n");
    nb_verdict_deinit(&v);
}

static void say_evaluation(struct picture *p, const char *model)
{
    struct nb_evaluation_report r = {0};
    int rc = nb_engine_evaluation(p->engine, string_at(model), string_at(""), -1,
                                  NB_SCORES_BEFORE_LEARNING, &r, NULL);
    say(p, "evaluation %d", rc);
    for (size_t i = 0; rc == 0 && i < r.window_count; i++)
        say(p, " %" PRIu64 " %" PRIu64 " %a %a %a", r.windows[i], r.evaluations[i].documents,
            r.evaluations[i].accuracy, r.evaluations[i].log_loss, r.evaluations[i].brier);
    say(p, "\n");
    if (rc == 0)
        nb_evaluation_report_deinit(&r);
}

static int say_vocabulary_header(void *user, uint64_t vocabulary, const char *const *labels,
                                 size_t label_count)
{
    (void)labels;
    say(user, "vocabulary %" PRIu64 " %zu\n", vocabulary, label_count);
    return 0;
}

static int say_token(void *user, const struct nb_telling_token *token)
{
    struct picture *p = user;
    say(p, "token ");
    say_string(p, token->token);
    say(p, " %a\n", token->evidence);
    return 0;
}

static void say_model(struct picture *p, const struct nb_model_info *listed)
{
    struct nb_error error = {0};
    struct nb_model_info info;
    struct nb_string name = string_at(listed->name);
    const struct nb_vocabulary_sink tokens = {say_vocabulary_header, say_token, p};
    say(p, "model %s\n", listed->name);
    say_info(p, listed);
    say_dump(p, listed->name);
    ck_assert_msg(nb_engine_model(p->engine, name, &info, &error) == 0, "%s: %s", listed->name,
                  error.text);
    say_info(p, &info);
    say_evaluation(p, listed->name);
    for (int i = 0; i < PICTURE_PROBES && !p->other_key; i++)
        say_verdict(p, listed->name, picture_probes[i]);
    if (info.label_count > 0 && !p->other_key)
        ck_assert_int_eq(nb_engine_vocabulary(p->engine, name, string_at(info.labels[0].label), 20,
                                              100000, &tokens, NULL),
                         0);
    nb_model_info_deinit(&info);
}

/* Appends the picture of the model `only`, or of all models if it is NULL. */
static void take_picture(struct picture *p, struct nb_engine *engine, const char *only)
{
    struct nb_model_info *infos;
    size_t count;
    bool more;
    p->engine = engine;
    ck_assert_int_eq(
        nb_engine_models(engine, string_at(""), PICTURE_MODELS_MOST, &infos, &count, &more, NULL),
        0);
    ck_assert(!more);
    for (size_t i = 0; i < count; i++) {
        if (only == NULL || strcmp(only, infos[i].name) == 0)
            say_model(p, &infos[i]);
        nb_model_info_deinit(&infos[i]);
    }
    free(infos);
}

/* Waits until no refit of any model is running. */
static inline void settle(struct nb_engine *engine)
{
    struct nb_engine_statistics statistics;
    struct picture first = {.other_key = false};
    take_picture(&first, engine, NULL); /* loads them all */
    nb_buffer_deinit(&first.text);
    for (nb_engine_statistics(engine, &statistics); statistics.refits > 0;
         nb_engine_statistics(engine, &statistics))
        usleep(200);
}

/* Returns whether two pictures are equal; if not, `difference` shows the texts from the first
 * difference on. */
static bool is_same_picture(const struct picture *a, const struct picture *b,
                            char difference[PICTURE_DIFFERENCE])
{
    size_t shorter = a->text.length < b->text.length ? a->text.length : b->text.length;
    size_t at = 0;
    while (at < shorter && a->text.bytes[at] == b->text.bytes[at])
        at++;
    if (at == a->text.length && at == b->text.length)
        return true;
    size_t line = at;
    while (line > 0 && a->text.bytes[line - 1] != '\n' && at - line < 200)
        line--;
    (void)snprintf(
        difference, PICTURE_DIFFERENCE, "it was\n%.*s\nand is\n%.*s",
        (int)(a->text.length - line > 500 ? 500 : a->text.length - line), a->text.bytes + line,
        (int)(b->text.length - line > 500 ? 500 : b->text.length - line), b->text.bytes + line);
    return false;
}

static inline void expect_same(const struct picture *a, const struct picture *b, const char *what)
{
    char difference[PICTURE_DIFFERENCE];
    if (!is_same_picture(a, b, difference))
        ck_abort_msg("%s: %s", what, difference);
}

/* ---- copies ---------------------------------------------------------------------------------- */

struct copying {
    struct nb_import *import;
    struct nb_error error;
    int records_left; /* until the copy breaks off; -1: never */
    struct nb_dump_totals totals;
};

static bool breaks_off(struct copying *c)
{
    return c->records_left >= 0 && c->records_left-- == 0;
}

static int copy_header(void *user, const struct nb_dump_header *header)
{
    struct copying *c = user;
    return breaks_off(c) ? NB_INVALID : nb_import_header(c->import, header, &c->error);
}

static int copy_words(void *user, const struct nb_dump_words *words)
{
    struct copying *c = user;
    return breaks_off(c) ? NB_INVALID : nb_import_words(c->import, words, &c->error);
}

static int copy_document(void *user, const struct nb_dump_document *document)
{
    struct copying *c = user;
    return breaks_off(c) ? NB_INVALID : nb_import_document(c->import, document, &c->error);
}

static int copy_end(void *user, const struct nb_dump_totals *totals)
{
    struct copying *c = user;
    c->totals = *totals;
    return breaks_off(c) ? NB_INVALID : 0;
}

/* Copies a model, from one engine into the same or another. With `records` >= 0 the copy stops
 * after this many records, if the dump has so many, and returns the import for the caller to abort.
 * Returns NULL when the copy is complete. */
static inline struct nb_import *copy_model(struct nb_engine *from, const char *model,
                                           struct nb_engine *to, const char *name, int records)
{
    struct copying c = {.records_left = records};
    const struct nb_dump_sink sink = {copy_header, copy_words, copy_document, copy_end, &c};
    bool created;
    uint64_t dropped;
    ck_assert_int_eq(nb_import_begin(to, string_at(name), string_at(""), &c.import, &c.error), 0);
    int rc = nb_engine_export(from, string_at(model), &sink, &c.error);
    if (rc != 0) {
        ck_assert_msg(rc == NB_INVALID && records >= 0, "%s: %s", model, c.error.text);
        return c.import;
    }
    rc = nb_import_commit(&c.import, &c.totals, &created, &dropped, &c.error);
    ck_assert_msg(rc == 0, "%s: %s", model, c.error.text);
    return NULL;
}

#endif
