/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/feature.h"
#include "core/bayes/settings.h"
#include "tests/unit/run.h"
#include "tokenizer/document.h"

static struct nb_prior_weight weight(const char *label, double value)
{
    return (struct nb_prior_weight){strdup(label), value};
}

/* Fills in settings none of which is a default. */
static void fill(struct nb_settings *s)
{
    nb_settings_init(s, NB_PRESET_MAIL);
    s->event_model = NB_EVENT_COMPLEMENT;
    s->estimate = NB_ESTIMATE_MAP;
    s->smoothing = 1.1;
    s->prior = NB_PRIOR_GIVEN;
    s->weight_count = 2;
    s->weights = calloc(2, sizeof *s->weights);
    s->weights[0] = weight("ham", 0.4);
    s->weights[1] = weight("späm", 6e8);
    s->min_count = 3;
    s->skip_top = 100;
    s->max_term_count = 5;
    s->parent = strdup("tenant-1");
    s->parent_strength = 250;
    s->unlabelled_weight = 0;
    s->number = NB_NUMBER_AUTO;
    s->new_fields = NB_NEW_FIELDS_LEARN;
    s->mail_server = strdup("mx.example.org");
    s->tokenizer_version = 77;
}

static void compare(const struct nb_settings *a, const struct nb_settings *b)
{
    ck_assert_int_eq(a->event_model, b->event_model);
    ck_assert_int_eq(a->estimate, b->estimate);
    ck_assert_int_eq(a->predict, b->predict);
    ck_assert(a->smoothing == b->smoothing);
    ck_assert_int_eq(a->prior, b->prior);
    ck_assert_uint_eq(a->weight_count, b->weight_count);
    for (size_t i = 0; i < a->weight_count; i++) {
        ck_assert_str_eq(a->weights[i].label, b->weights[i].label);
        ck_assert(a->weights[i].weight == b->weights[i].weight);
    }
    ck_assert_uint_eq(a->min_count, b->min_count);
    ck_assert_uint_eq(a->skip_top, b->skip_top);
    ck_assert_uint_eq(a->max_term_count, b->max_term_count);
    ck_assert_int_eq(a->decision, b->decision);
    ck_assert_uint_eq(a->tokenizer_fields, b->tokenizer_fields);
    ck_assert_int_eq(a->parent != NULL, b->parent != NULL);
    if (a->parent != NULL)
        ck_assert_str_eq(a->parent, b->parent);
    ck_assert_uint_eq(a->parent_strength, b->parent_strength);
    ck_assert(a->unlabelled_weight == b->unlabelled_weight);
    ck_assert_int_eq(a->calibration, b->calibration);
    ck_assert_int_eq(a->structure, b->structure);
    ck_assert_int_eq(a->number, b->number);
    ck_assert_int_eq(a->new_fields, b->new_fields);
    ck_assert_int_eq(a->mail_server != NULL, b->mail_server != NULL);
    if (a->mail_server != NULL)
        ck_assert_str_eq(a->mail_server, b->mail_server);
    ck_assert_uint_eq(a->tokenizer_version, b->tokenizer_version);
}

START_TEST(the_table_is_complete)
{
    static const char *const names[] = {"preset",
                                        "event_model",
                                        "estimate",
                                        "predict",
                                        "smoothing",
                                        "prior",
                                        "min_count",
                                        "skip_top",
                                        "max_term_count",
                                        "decision",
                                        "label_set",
                                        "optimize",
                                        "precision",
                                        "cost_fp",
                                        "cost_fn",
                                        "unsure_band",
                                        "min_known",
                                        "thresholds",
                                        "ready_documents",
                                        "sharp_smoothing",
                                        "sharp_power",
                                        "robust_smoothing",
                                        "robust_power",
                                        "many_smoothing",
                                        "many_power",
                                        "length_power",
                                        "evidence_scale",
                                        "learning_rate",
                                        "expert_mixing",
                                        "expert_memory",
                                        "twin",
                                        "passages",
                                        "evaluation_short",
                                        "evaluation_long",
                                        "max_age",
                                        "max_documents",
                                        "near_duplicates",
                                        "near_duplicate_similarity",
                                        "near_duplicate_window",
                                        "parent",
                                        "parent_strength",
                                        "unlabelled_weight",
                                        "calibration",
                                        "fields",
                                        "structure",
                                        "number",
                                        "new_fields",
                                        "mail_server",
                                        "history",
                                        "history_days",
                                        "history_subject",
                                        "tokenizer"};
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    ck_assert_uint_eq(count, sizeof names / sizeof *names);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(table[i].name, names[i]);
        ck_assert_ptr_nonnull(table[i].help);
        ck_assert_uint_lt(table[i].offset, sizeof(struct nb_settings));
        bool listed = table[i].type == NB_SETTING_ENUM || table[i].type == NB_SETTING_FIELDS ||
                      table[i].type == NB_SETTING_ATTRIBUTES || table[i].type == NB_SETTING_PRIOR;
        ck_assert_int_eq(table[i].names != NULL, listed);
    }
}
END_TEST

/* The fields that a plain text can have: tokens, and fields that only the stack reads. */
enum {
    TOKENS = 1 << NB_FIELD_BODY | 1 << NB_FIELD_SUBJECT,
    OF_TEXTS = TOKENS | 1 << NB_FIELD_STRUCTURE | 1 << NB_FIELD_URL | 1 << NB_FIELD_CASE |
               1 << NB_FIELD_PAIR | 1 << NB_FIELD_NGRAM
};

START_TEST(presets_are_as_documented)
{
    static const struct {
        enum nb_preset preset;
        enum nb_decision decision;
        uint32_t fields;
    } table[] = {{NB_PRESET_TEXT, NB_DECISION_STACKED, OF_TEXTS},
                 {NB_PRESET_MAIL, NB_DECISION_STACKED, (1u << NB_FIELDS) - 1},
                 {NB_PRESET_BOOK, NB_DECISION_BAYES, TOKENS}};
    struct nb_settings book;
    nb_settings_init(&book, NB_PRESET_BOOK);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct nb_settings s;
        nb_settings_init(&s, table[i].preset);
        ck_assert_int_eq(s.preset, table[i].preset);
        ck_assert_int_eq(s.event_model, NB_EVENT_MULTINOMIAL);
        ck_assert(s.smoothing == 1.0);
        ck_assert_int_eq(s.prior, NB_PRIOR_EMPIRICAL);
        ck_assert_uint_eq(s.min_count, 0);
        ck_assert_uint_eq(s.skip_top, 0);
        ck_assert_uint_eq(s.max_term_count, 0);
        ck_assert_int_eq(s.decision, table[i].decision);
        ck_assert(s.twin);
        ck_assert_uint_eq(s.tokenizer_fields, table[i].fields);
        ck_assert_uint_eq(s.tokenizer_version, NB_TOKENIZER_VERSION);
        ck_assert_int_eq(nb_settings_check(&s, NULL), 0);
        ck_assert(nb_weight_is_auto(s.unlabelled_weight) == (table[i].preset != NB_PRESET_BOOK));
        s.decision = book.decision;
        s.unlabelled_weight = book.unlabelled_weight;
        s.tokenizer_fields = book.tokenizer_fields;
        compare(&s, &book);
    }
}
END_TEST

START_TEST(a_copy_is_equal_and_its_own)
{
    struct nb_settings s, copy;
    fill(&s);
    ck_assert_int_eq(nb_settings_copy(&copy, &s), 0);
    compare(&copy, &s);
    ck_assert_ptr_ne(copy.weights[0].label, s.weights[0].label);
    nb_settings_deinit(&s);
    ck_assert_uint_eq(s.weight_count, 0);
    ck_assert_str_eq(copy.weights[1].label, "späm");
    nb_settings_deinit(&copy);
}
END_TEST

/* Puts the i-th bad value into the settings. */
static void spoil(struct nb_settings *s, int i)
{
    switch (i) {
    case 0:
        s->smoothing = 0;
        break;
    case 1:
        s->smoothing = -1;
        break;
    case 2:
        s->smoothing = NAN;
        break;
    case 3:
        s->smoothing = INFINITY;
        break;
    case 4:
        s->event_model = 4;
        break;
    case 5:
        s->event_model = -1;
        break;
    case 6:
        s->decision = 2;
        break;
    case 7:
        s->prior = 4;
        break;
    case 8:
        s->weights[1].weight = -0.5;
        break;
    case 9:
        s->weights[0].weight = 0;
        break;
    case 10:
        s->weights[0].weight = NAN;
        break;
    case 11:
        s->weights[0].weight = 2e9;
        break;
    case 12:
        s->prior = NB_PRIOR_UNIFORM;
        break;
    case 13: {
        struct nb_prior_weight first = s->weights[0];
        s->weights[0] = s->weights[1];
        s->weights[1] = first;
        break;
    }
    case 14:
        s->min_count = UINT64_C(1) << 32;
        break;
    case 15:
        s->skip_top = UINT64_MAX;
        break;
    case 16:
        s->tokenizer_fields = 0;
        break;
    case 17:
        s->estimate = 3;
        break;
    case 18:
        s->smoothing = 0.5;
        break;
    case 19:
        s->smoothing = 1;
        break;
    case 20:
        s->estimate = NB_ESTIMATE_MLE;
        break;
    case 21:
        s->predict = 2;
        break;
    case 22:
        s->predict = NB_PREDICT_INTEGRATE;
        break;
    case 23:
        s->event_model = NB_EVENT_MULTINOMIAL;
        s->predict = NB_PREDICT_INTEGRATE;
        break;
    case 24:
        s->event_model = NB_EVENT_MULTINOMIAL;
        s->estimate = NB_ESTIMATE_MEAN;
        s->predict = NB_PREDICT_INTEGRATE;
        break;
    default:
        s->tokenizer_fields = 1u << NB_FIELDS;
        break;
    }
}

START_TEST(bad_values_are_refused_by_name)
{
    static const char *const texts[] = {
        "smoothing must be above 0",
        "smoothing must be above 0",
        "smoothing must be above 0",
        "smoothing must be at most 1000000",
        "event_model must be one of \"multinomial\", \"binary\", \"bernoulli\", \"complement\"",
        "event_model must be one of",
        "decision must be one of \"bayes\", \"stacked\"",
        "prior must be one of",
        "prior of \"späm\" must be above 0",
        "prior of \"ham\" must be above 0",
        "prior of \"ham\" must be above 0",
        "prior of \"ham\" must be at most 1000000000",
        "prior has weights, but is uniform",
        "prior must name each label once, in order",
        "min_count must be at most 4294967295",
        "skip_top must be at most 1000000",
        "tokenizer must count at least one field",
        "estimate must be one of \"mean\", \"map\", \"mle\"",
        "estimate: \"map\" needs a smoothing of at least 1",
        "estimate: with event_model \"complement\" no estimate may be 0",
        "estimate: with event_model \"complement\" no estimate may be 0",
        "predict must be one of \"estimate\", \"integrate\"",
        "predict: \"integrate\" is for event_model \"multinomial\" alone",
        "predict: \"integrate\" is over the whole posterior",
        "predict: a model with a parent cannot have \"integrate\"",
        "tokenizer has a field that does not exist",
    };
    ck_assert_uint_eq(sizeof texts / sizeof *texts, 26);
    struct nb_settings s;
    struct nb_error error = {0};
    fill(&s);
    ck_assert_int_eq(nb_settings_check(&s, &error), 0);
    spoil(&s, _i);
    ck_assert_int_eq(nb_settings_check(&s, &error), NB_UNUSABLE);
    ck_assert_int_eq(error.code, NB_UNUSABLE);
    ck_assert_msg(strncmp(error.text, texts[_i], strlen(texts[_i])) == 0, "says: %s", error.text);
    nb_settings_deinit(&s);
}
END_TEST

START_TEST(a_structure_is_of_models_by_the_book)
{
    struct nb_settings s, back;
    struct nb_buffer out = {0};
    nb_settings_init(&s, NB_PRESET_BOOK);
    s.structure = NB_STRUCTURE_TAN;
    ck_assert_int_eq(nb_settings_check(&s, NULL), 0);
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    ck_assert_int_eq(nb_settings_read(&back, (struct nb_string){out.bytes, out.length}, NULL), 0);
    compare(&s, &back);
    s.event_model = NB_EVENT_COMPLEMENT;
    ck_assert_int_eq(nb_settings_check(&s, NULL), NB_UNUSABLE);
    s.event_model = NB_EVENT_BERNOULLI;
    s.decision = NB_DECISION_STACKED;
    ck_assert_int_eq(nb_settings_check(&s, NULL), NB_UNUSABLE);
    nb_settings_deinit(&s);
    nb_settings_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(a_given_prior_needs_a_label)
{
    struct nb_settings s;
    nb_settings_init(&s, NB_PRESET_TEXT);
    s.prior = NB_PRIOR_GIVEN;
    ck_assert_int_eq(nb_settings_check(&s, NULL), NB_UNUSABLE);
}
END_TEST

/* ---- stored form ----------------------------------------------------------------------------- */

static struct nb_string stored(const struct nb_buffer *b)
{
    return (struct nb_string){b->bytes, b->length};
}

START_TEST(what_is_written_reads_back)
{
    struct nb_settings s, back;
    struct nb_buffer out = {0};
    if (_i == 0)
        fill(&s);
    else
        nb_settings_init(&s, _i == 1 ? NB_PRESET_TEXT : NB_PRESET_MAIL);
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
    compare(&s, &back);
    nb_settings_deinit(&s);
    nb_settings_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

static void put_values(struct nb_settings *s)
{
    struct nb_smoothing *by = &s->smoothing_by;
    ck_assert_int_eq(nb_settings_add_attribute(s, nb_string_of("tags"), NB_FIELD_KIND_SET), 0);
    ck_assert_int_eq(nb_smoothing_add_field(by, nb_string_of("tags")), 0);
    by->fields[0].values = calloc(2, sizeof *by->fields[0].values);
    by->fields[0].count = 2;
    by->fields[0].values[0] = weight("", 0.5);
    by->fields[0].values[1] = weight("ä=b\n", 7);
}

/* Of each form of smoothing but one number: which is stored as it always was. */
static void put_form(struct nb_settings *s, int kind)
{
    nb_settings_init(s, NB_PRESET_BOOK);
    s->event_model = NB_EVENT_BERNOULLI;
    s->smoothing = 0.25;
    s->smoothing_by.kind = kind;
    if (kind == NB_SMOOTHING_BETA)
        s->smoothing_by.beta = 3;
    if (kind == NB_SMOOTHING_M)
        s->smoothing_by.p = NB_SMOOTHING_VOCABULARY;
    if (kind == NB_SMOOTHING_VALUES)
        put_values(s);
    if (kind == NB_SMOOTHING_LABELS) {
        s->smoothing_by.label_count = 2;
        s->smoothing_by.labels = calloc(2, sizeof *s->smoothing_by.labels);
        s->smoothing_by.labels[0] = weight("ham", 0.5);
        s->smoothing_by.labels[1] = weight("späm", 2);
    }
}

START_TEST(forms_of_smoothing_read_back)
{
    struct nb_settings s, copy, back;
    struct nb_buffer out = {0}, again = {0};
    put_form(&s, _i);
    ck_assert_int_eq(nb_settings_check(&s, NULL), 0);
    ck_assert_int_eq(nb_settings_copy(&copy, &s), 0);
    ck_assert_int_eq(nb_settings_write(&copy, &out), 0);
    nb_settings_deinit(&copy);
    ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
    ck_assert(back.smoothing == s.smoothing);
    ck_assert_int_eq(back.smoothing_by.kind, _i);
    ck_assert(back.smoothing_by.beta == s.smoothing_by.beta);
    ck_assert_int_eq(back.smoothing_by.p, s.smoothing_by.p);
    ck_assert_uint_eq(back.smoothing_by.label_count, s.smoothing_by.label_count);
    for (size_t i = 0; i < s.smoothing_by.label_count; i++) {
        ck_assert_str_eq(back.smoothing_by.labels[i].label, s.smoothing_by.labels[i].label);
        ck_assert(back.smoothing_by.labels[i].weight == s.smoothing_by.labels[i].weight);
    }
    ck_assert_uint_eq(back.smoothing_by.field_count, s.smoothing_by.field_count);
    for (size_t i = 0; i < s.smoothing_by.field_count; i++) {
        ck_assert_str_eq(back.smoothing_by.fields[i].field, "tags");
        ck_assert_uint_eq(back.smoothing_by.fields[i].count, 2);
        ck_assert_str_eq(back.smoothing_by.fields[i].values[1].label, "ä=b\n");
        ck_assert(back.smoothing_by.fields[i].values[1].weight == 7);
    }
    static const char name[] = "smoothing_by";
    bool has = memmem(out.bytes, out.length, name, sizeof name - 1) != NULL;
    ck_assert_int_eq(has, _i != NB_SMOOTHING_ONE);
    ck_assert_int_eq(nb_settings_write(&back, &again), 0);
    ck_assert_uint_eq(out.length, again.length);
    for (size_t length = 1; length < out.length; length++)
        ck_assert_int_eq(nb_settings_read(&copy, (struct nb_string){out.bytes, length}, NULL),
                         NB_CORRUPT);
    nb_settings_deinit(&s);
    nb_settings_deinit(&back);
    nb_buffer_deinit(&out);
    nb_buffer_deinit(&again);
}
END_TEST

/* Numbers alone are stored as they always were, and older programs read them. */
static void put_thresholds(struct nb_settings *s, int kind)
{
    nb_settings_init(s, NB_PRESET_TEXT);
    s->threshold_count = 2;
    s->thresholds = calloc(2, sizeof *s->thresholds);
    s->thresholds[0] = (struct nb_label_threshold){.label = strdup("ham"), .number = 0.5};
    s->thresholds[1] = (struct nb_label_threshold){.label = strdup("späm"), .kind = kind};
    if (kind == NB_THRESHOLD_COSTS)
        s->thresholds[1].cost_fp = 10, s->thresholds[1].cost_fn = 0.25;
    else
        s->thresholds[1].number = 0.99;
}

START_TEST(forms_of_thresholds_read_back)
{
    struct nb_settings s, copy, back;
    struct nb_buffer out = {0};
    put_thresholds(&s, _i);
    ck_assert_int_eq(nb_settings_check(&s, NULL), 0);
    ck_assert_int_eq(nb_settings_copy(&copy, &s), 0);
    ck_assert_int_eq(nb_settings_write(&copy, &out), 0);
    nb_settings_deinit(&copy);
    ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
    ck_assert_uint_eq(back.threshold_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct nb_label_threshold *is = &back.thresholds[i], *was = &s.thresholds[i];
        ck_assert_str_eq(is->label, was->label);
        ck_assert_int_eq(is->kind, was->kind);
        ck_assert(is->number == was->number);
        ck_assert(is->cost_fp == was->cost_fp && is->cost_fn == was->cost_fn);
    }
    static const char numbers[] = "thresholds", wishes[] = "threshold_wishes";
    bool has_numbers = memmem(out.bytes, out.length, numbers, sizeof numbers - 1) != NULL;
    bool has_wishes = memmem(out.bytes, out.length, wishes, sizeof wishes - 1) != NULL;
    ck_assert_int_eq(has_numbers, _i == NB_THRESHOLD_NUMBER);
    ck_assert_int_eq(has_wishes, _i != NB_THRESHOLD_NUMBER);
    for (size_t length = 1; length < out.length; length++)
        ck_assert_int_eq(nb_settings_read(&copy, (struct nb_string){out.bytes, length}, NULL),
                         NB_CORRUPT);
    nb_settings_deinit(&s);
    nb_settings_deinit(&back);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(bad_thresholds_are_refused_by_name)
{
    static const struct {
        struct nb_label_threshold is;
        const char *says;
    } table[] = {
        {{NULL, NB_THRESHOLD_NUMBER, 0, 0, 0}, "thresholds of \"späm\" must be above 0"},
        {{NULL, NB_THRESHOLD_NUMBER, 1.5, 0, 0}, "thresholds of \"späm\" must be at most 1"},
        {{NULL, NB_THRESHOLD_NUMBER, NAN, 0, 0}, "thresholds of \"späm\" must be above 0"},
        {{NULL, NB_THRESHOLD_PRECISION, 0, 0, 0},
         "thresholds of \"späm\": precision must be above 0"},
        {{NULL, NB_THRESHOLD_PRECISION, 1, 0, 0},
         "thresholds of \"späm\": precision must be below 1"},
        {{NULL, NB_THRESHOLD_COSTS, 0, 0, 1}, "thresholds of \"späm\": cost_fp must be above 0"},
        {{NULL, NB_THRESHOLD_COSTS, 0, 1, 2e6},
         "thresholds of \"späm\": cost_fn must be at most 1000000"},
    };
    struct nb_settings s;
    struct nb_error error = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        put_thresholds(&s, table[i].is.kind);
        char *label = s.thresholds[1].label;
        s.thresholds[1] = table[i].is;
        s.thresholds[1].label = label;
        ck_assert_int_eq(nb_settings_check(&s, &error), NB_UNUSABLE);
        ck_assert_str_eq(error.text, table[i].says);
        nb_settings_deinit(&s);
    }
    for (int kind = NB_THRESHOLD_PRECISION; kind <= NB_THRESHOLD_COSTS; kind++) {
        put_thresholds(&s, kind);
        s.label_set = NB_LABEL_SET_SEVERAL;
        ck_assert_int_eq(nb_settings_check(&s, &error), NB_UNUSABLE);
        ck_assert_ptr_nonnull(strstr(error.text, "thresholds"));
        nb_settings_deinit(&s);
    }
}
END_TEST

START_TEST(the_parent_is_found_without_reading_the_rest)
{
    struct nb_settings s;
    struct nb_buffer out = {0};
    fill(&s);
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    ck_assert(nb_string_equals(nb_settings_stored_parent(stored(&out)), "tenant-1"));
    for (size_t length = 0; length < 18; length++) /* cut within the entry */
        ck_assert_uint_eq(nb_settings_stored_parent((struct nb_string){out.bytes, length}).length,
                          0);
    free(s.parent);
    s.parent = NULL;
    out.length = 0;
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    ck_assert_uint_eq(nb_settings_stored_parent(stored(&out)).length, 0);
    nb_settings_deinit(&s);
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(damage_is_noticed_or_harmless)
{
    struct nb_settings s, back;
    struct nb_buffer out = {0};
    fill(&s);
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    for (size_t length = 0; length < out.length; length++) {
        if (length == 0)
            continue; /* checked below */
        int rc = nb_settings_read(&back, (struct nb_string){out.bytes, length}, NULL);
        ck_assert_int_eq(rc, NB_CORRUPT);
    }
    for (size_t i = 0; i < out.length; i++) {
        for (int bit = 0; bit < 8; bit++) {
            out.bytes[i] = (char)(out.bytes[i] ^ 1 << bit);
            int rc = nb_settings_read(&back, stored(&out), NULL);
            ck_assert(rc == 0 || rc == NB_CORRUPT || rc == NB_VERSION);
            if (rc == 0) {
                ck_assert_int_eq(nb_settings_check(&back, NULL), 0);
                nb_settings_deinit(&back);
            }
            out.bytes[i] = (char)(out.bytes[i] ^ 1 << bit);
        }
    }
    nb_settings_deinit(&s);
    nb_buffer_deinit(&out);
}
END_TEST

static struct nb_string text(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

/* Returns a stored form with one entry. */
static struct nb_buffer entry(const char *name, struct nb_string value)
{
    struct nb_buffer out = {0};
    struct nb_packer w = {.out = &out};
    nb_pack_varint(&w, 1);
    nb_pack_string(&w, text(name));
    nb_pack_string(&w, value);
    return out;
}

START_TEST(older_forms_get_defaults_and_newer_are_refused)
{
    static const struct {
        const char *name;
        const char *value;
        size_t length;
        int rc;
    } cases[] = {
        {"event_model", "\6binary", 7, 0},
        {"skip_top", "\144", 1, 0},
        {"event_model", "\5newer", 6, NB_VERSION},
        {"temperature", "", 0, NB_VERSION},
        {"tokenizer", "\2\4body\5title", 12, NB_VERSION}, /* a field of a newer program */
        {"tokenizer", "\2\3url\4body", 10, 0},            /* in any order */
        {"tokenizer", "\2\4body\4body", 11, NB_CORRUPT},
        {"tokenizer", "\3\4body\3url", 10, NB_CORRUPT},
        {"tokenizer", "\0", 1, NB_CORRUPT},
        {"event_model", "\6binaryx", 8, NB_CORRUPT}, /* more than the value */
        {"smoothing", "\0\0\0\0\0\0\0\0", 8, NB_CORRUPT},
        {"smoothing_by", "\1m\7uniform", 10, 0},
        {"smoothing_by", "\1m\5newer", 8, NB_VERSION},
        {"smoothing_by", "\5newer", 6, NB_VERSION},
        {"smoothing_by", "\3one", 4, NB_CORRUPT},
        {"smoothing_by", "\1m", 2, NB_CORRUPT},
        {"smoothing_by", "\6values\1", 8, NB_CORRUPT},
        {"smoothing_by", "\6values\1\2a=\0", 11, NB_CORRUPT},
        {"prior", "\5given\xff\xff\xff\xff\x0f", 11, NB_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_buffer out =
            entry(cases[i].name, (struct nb_string){cases[i].value, cases[i].length});
        struct nb_settings back;
        struct nb_error error = {0};
        ck_assert_msg(nb_settings_read(&back, stored(&out), &error) == cases[i].rc, "case %zu: %s",
                      i, error.text);
        ck_assert_int_eq(error.code, cases[i].rc);
        if (cases[i].rc == 0) {
            ck_assert(back.smoothing == 1.0);
            nb_settings_deinit(&back);
        }
        nb_buffer_deinit(&out);
    }
    struct nb_settings back;
    static const char twice[] = "\2\11min_count\1\3\11min_count\1\4";
    ck_assert_int_eq(nb_settings_read(&back, text(twice), NULL), NB_CORRUPT);
    ck_assert_int_eq(nb_settings_read(&back, (struct nb_string){"\0", 1}, NULL), 0);
    nb_settings_deinit(&back);
    ck_assert_int_eq(nb_settings_read(&back, (struct nb_string){"", 0}, NULL), NB_CORRUPT);
}
END_TEST

/* A setting that the store does not have is that of the stored preset. */
START_TEST(what_is_not_stored_is_the_presets)
{
    static const char *const names[] = {"text", "mail", "book"};
    for (int preset = 0; preset < 3; preset++) {
        struct nb_buffer value = {0};
        struct nb_packer w = {.out = &value};
        nb_pack_string(&w, text(names[preset]));
        struct nb_buffer out = entry("preset", stored(&value));
        struct nb_settings back, want;
        nb_settings_init(&want, (enum nb_preset)preset);
        ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
        ck_assert_int_eq(back.preset, preset);
        compare(&back, &want);
        nb_buffer_deinit(&value);
        nb_buffer_deinit(&out);
    }
    struct nb_buffer out = entry("decision", text("\5bayes"));
    struct nb_settings back;
    ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
    ck_assert_uint_eq(back.tokenizer_fields, TOKENS);
    nb_buffer_deinit(&out);
}
END_TEST

/* Stored by name, so that a field that is put before another changes nothing. */
START_TEST(fields_are_stored_by_name)
{
    struct nb_settings s;
    struct nb_buffer out = {0};
    nb_settings_init(&s, NB_PRESET_TEXT);
    s.tokenizer_fields = 1u << NB_FIELD_URL | 1u << NB_FIELD_NGRAM;
    ck_assert_int_eq(nb_settings_write(&s, &out), 0);
    static const char want[] = "\11tokenizer\13\2\3url\5ngram";
    ck_assert_ptr_nonnull(memmem(out.bytes, out.length, want, sizeof want - 1));
    nb_buffer_deinit(&out);
}
END_TEST

START_TEST(words_are_left_out_from_a_count_of_two_on)
{
    static const struct {
        int event_model;
        uint64_t min_count, skip_top;
        bool leave_out, walk;
    } cases[] = {
        {NB_EVENT_MULTINOMIAL, 0, 0, false, false}, {NB_EVENT_MULTINOMIAL, 1, 0, false, false},
        {NB_EVENT_MULTINOMIAL, 2, 0, true, true},   {NB_EVENT_BINARY, 0, 1, true, true},
        {NB_EVENT_BERNOULLI, 1, 0, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nb_settings s;
        nb_settings_init(&s, NB_PRESET_TEXT);
        s.event_model = cases[i].event_model;
        s.min_count = cases[i].min_count;
        s.skip_top = cases[i].skip_top;
        ck_assert_msg(nb_settings_leave_words_out(&s) == cases[i].leave_out, "case %zu", i);
        ck_assert_msg(nb_settings_walk_vocabulary(&s) == cases[i].walk, "case %zu", i);
    }
}
END_TEST

START_TEST(a_model_keeps_the_tokenizer_that_counted_it)
{
    struct nb_settings counted, put;
    struct nb_error error = {0};
    nb_settings_init(&counted, NB_PRESET_TEXT);
    nb_settings_init(&put, NB_PRESET_MAIL);
    ck_assert_int_eq(nb_settings_check_tokenizer(&counted, &error), 0);
    counted.tokenizer_version = NB_TOKENIZER_VERSION + 1;
    nb_settings_set_tokenizer(&put, &counted);
    ck_assert_uint_eq(put.tokenizer_version, NB_TOKENIZER_VERSION + 1);
    ck_assert_int_eq(nb_settings_check_tokenizer(&put, &error), NB_VERSION);
    ck_assert_ptr_nonnull(strstr(error.text, "tokenizer"));
    put.tokenizer_version = NB_TOKENIZER_OLDEST; /* of a store that an older program has made */
    ck_assert_int_eq(nb_settings_check_tokenizer(&put, &error), 0);
    put.tokenizer_version = NB_TOKENIZER_OLDEST - 1;
    ck_assert_int_eq(nb_settings_check_tokenizer(&put, &error), NB_VERSION);
    nb_settings_set_tokenizer(&put, NULL);
    ck_assert_int_eq(nb_settings_check_tokenizer(&put, &error), 0);
}
END_TEST

/* A mean below a bound that all of them keep would be out of range. */
START_TEST(a_mean_of_ones_is_one)
{
    char names[50][8];
    struct nb_prior_weight list[50];
    for (size_t i = 0; i < 50; i++) {
        (void)snprintf(names[i], sizeof names[i], "l%02zu", i);
        list[i] = (struct nb_prior_weight){names[i], 1};
        ck_assert_msg(nb_label_weights_find(list, i + 1, "other") == 1, "%zu labels", i + 1);
    }
}
END_TEST

static struct nb_settings with_attributes(size_t count)
{
    static const char *const names[] = {"title", "land", "tags"};
    struct nb_settings s;
    nb_settings_init(&s, NB_PRESET_BOOK);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(nb_settings_add_attribute(&s, text(names[i]), (int)i), 0);
    return s;
}

/* In their order; settings without them are stored as ever. */
START_TEST(attributes_are_stored_and_copied)
{
    size_t bytes = 0;
    for (size_t count = 0; count <= 3; count++) {
        struct nb_settings s = with_attributes(count), back, copy;
        struct nb_buffer out = {0};
        ck_assert_int_eq(nb_settings_write(&s, &out), 0);
        ck_assert_int_eq(nb_settings_read(&back, stored(&out), NULL), 0);
        ck_assert_int_eq(nb_settings_copy(&copy, &back), 0);
        ck_assert_uint_eq(copy.attribute_count, count);
        ck_assert(nb_settings_keep_attributes(&copy, &s) && nb_settings_keep_attributes(&s, &copy));
        ck_assert(count == 0 || out.length > bytes);
        ck_assert_int_eq(memmem(out.bytes, out.length, "\6fields", 7) != NULL, count > 0);
        ck_assert_int_eq(nb_settings_walk_vocabulary(&copy), count == 3);
        bytes = out.length;
        nb_buffer_deinit(&out);
        nb_settings_deinit(&s);
        nb_settings_deinit(&back);
        nb_settings_deinit(&copy);
    }
}
END_TEST

START_TEST(attributes_stay)
{
    struct nb_settings two = with_attributes(2), three = with_attributes(3);
    ck_assert(nb_settings_keep_attributes(&three, &two));
    ck_assert(!nb_settings_keep_attributes(&two, &three));
    three.attributes[1].kind = NB_FIELD_KIND_TEXT;
    ck_assert(!nb_settings_keep_attributes(&three, &two));
    struct nb_error error;
    ck_assert_int_eq(nb_settings_add_attribute(&two, text("title"), 0), 0);
    ck_assert_int_eq(nb_settings_check(&two, &error), NB_UNUSABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "title"));
    ck_assert_int_eq(nb_settings_check(&three, &error), 0);
    three.decision = NB_DECISION_STACKED;
    ck_assert_int_eq(nb_settings_check(&three, &error), 0);
    nb_settings_deinit(&two);
    nb_settings_deinit(&three);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("settings");
    TCase *values = tcase_create("values");
    tcase_add_test(values, the_table_is_complete);
    tcase_add_test(values, presets_are_as_documented);
    tcase_add_test(values, a_copy_is_equal_and_its_own);
    tcase_add_loop_test(values, bad_values_are_refused_by_name, 0, 26);
    tcase_add_test(values, bad_thresholds_are_refused_by_name);
    tcase_add_test(values, a_structure_is_of_models_by_the_book);
    tcase_add_test(values, a_given_prior_needs_a_label);
    tcase_add_test(values, words_are_left_out_from_a_count_of_two_on);
    tcase_add_test(values, a_model_keeps_the_tokenizer_that_counted_it);
    tcase_add_test(values, a_mean_of_ones_is_one);
    tcase_add_test(values, attributes_stay);
    suite_add_tcase(suite, values);
    TCase *form = tcase_create("stored form");
    tcase_add_test(form, what_is_not_stored_is_the_presets);
    tcase_add_test(form, fields_are_stored_by_name);
    tcase_add_test(form, attributes_are_stored_and_copied);
    tcase_add_loop_test(form, what_is_written_reads_back, 0, 3);
    tcase_add_loop_test(form, forms_of_smoothing_read_back, 0, 5);
    tcase_add_loop_test(form, forms_of_thresholds_read_back, 0, 3);
    tcase_add_test(form, the_parent_is_found_without_reading_the_rest);
    tcase_add_test(form, damage_is_noticed_or_harmless);
    tcase_add_test(form, older_forms_get_defaults_and_newer_are_refused);
    suite_add_tcase(suite, form);
    return test_run(suite);
}
