/* SPDX-License-Identifier: Apache-2.0 */
#include "core/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/feature.h"
#include "core/base/pack.h"
#include "tokenizer/document.h"

/* Values as they stand in JSON and in the store, in the order of their enums. */
static const char *const event_models[] = {"multinomial", "binary", "bernoulli", "complement",
                                           NULL};
static const char *const priors[] = {"empirical", "uniform", "given", NULL};
static const char *const decisions[] = {"bayes", "stacked", NULL};

#define ALL_FIELDS ((1u << NB_FIELDS) - 1)
#define TEXT_FIELDS (1u << NB_FIELD_BODY | 1u << NB_FIELD_SUBJECT)
/* What a plain text can have. */
#define STACKED_TEXT_FIELDS                                                                        \
    (TEXT_FIELDS | 1u << NB_FIELD_STRUCTURE | 1u << NB_FIELD_URL | 1u << NB_FIELD_CASE |           \
     1u << NB_FIELD_PAIR | 1u << NB_FIELD_NGRAM)

static const char *const presets[] = {"text", "mail", "book", NULL};

#define NUMBER(member, low, high, text)                                                            \
    {                                                                                              \
        .name = #member, .type = NB_SETTING_DOUBLE,                                                \
        .offset = offsetof(struct nb_settings, member), .minimum = (low), .maximum = (high),       \
        .exclusive_minimum = true, .help = (text)                                                  \
    }

static const struct nb_setting table[] = {
    {.name = "preset",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, preset),
     .names = presets,
     .help = "What the other settings are where they are left out: those of plain texts (text), "
             "of raw mails (mail), or of the textbook to the letter (book)."},
    {.name = "event_model",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, event_model),
     .names = event_models,
     .help =
         "How a document is thought to come about: a sequence of words (multinomial: Mitchell "
         "1997, table 6.2), words once each (binary), every word present or absent (bernoulli: "
         "McCallum and Nigam 1998), or what all other labels are not (complement: Rennie et al. "
         "2003)."},
    {.name = "smoothing",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, smoothing),
     .minimum = 0,
     .maximum = 1e6,
     .exclusive_minimum = true,
     .help =
         "Virtual occurrences per vocabulary word: 1 is Laplace; m = smoothing times vocabulary "
         "in the m-estimate (Mitchell 1997, equation 6.22)."},
    {.name = "prior",
     .type = NB_SETTING_PRIOR,
     .offset = offsetof(struct nb_settings, prior),
     .minimum = 0,
     .maximum = 1e9,
     .exclusive_minimum = true,
     .names = priors,
     .help =
         "P(label) before a word is read: the label's share of the documents (empirical: Mitchell "
         "1997, table 6.2), equal shares (uniform), or weights by label, where a label that is "
         "not named weighs the mean of the named."},
    {.name = "min_count",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, min_count),
     .minimum = 0,
     .maximum = UINT32_MAX,
     .help = "Words that occurred fewer times in all are not used (Mitchell 1997, section 6.10.1, "
             "used 3)."},
    {.name = "skip_top",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, skip_top),
     .minimum = 0,
     .maximum = 1000000,
     .help = "So many of the most frequent words are not used (Mitchell 1997, section 6.10.1, used "
             "100)."},
    {.name = "decision",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, decision),
     .names = decisions,
     .help = "Where label and probabilities come from: the soft-max of the log scores (bayes), or "
             "evidence per field, weighed and calibrated online (stacked)."},
    {.name = "unsure_band",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, unsure_band),
     .minimum = 0,
     .maximum = 0.5,
     .help = "A probability nearer than this to the threshold of a decision is unsure."},
    {.name = "ready_documents",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, ready_documents),
     .minimum = 0,
     .maximum = UINT32_MAX,
     .help =
         "Documents that every label must have, and of two labels at least, before a verdict is "
         "called ready."},
    NUMBER(
        sharp_smoothing, 0, 1e6,
        "Stack, two labels: smoothing of the sharp expert, the more accurate one on clean labels "
        "(measured: core/README.md)."),
    NUMBER(sharp_power, 0, 10,
           "Stack, two labels: power to which the sharp expert raises the evidence of a feature."),
    NUMBER(
        robust_smoothing, 0, 1e6,
        "Stack, two labels: smoothing of the robust expert, which wrong labels mislead less; 1 is "
        "Laplace."),
    NUMBER(robust_power, 0, 10,
           "Stack, two labels: power to which the robust expert raises the evidence of a feature."),
    NUMBER(many_smoothing, 0, 1e6, "Stack, more than two labels: smoothing of the evidence."),
    NUMBER(many_power, 0, 10, "Stack, more than two labels: power of the evidence of a feature."),
    NUMBER(length_power, 0, 1,
           "Stack: the summed evidence of a field is divided by this power of its number of "
           "features, because the words of a text are not independent."),
    NUMBER(evidence_scale, 0, 100, "Stack: brings the inputs of the regression to about 1."),
    NUMBER(learning_rate, 0, 10,
           "Stack: step of the online regression (AdaGrad: Duchi, Hazan and Singer 2011)."),
    NUMBER(expert_mixing, 0, 10,
           "Stack: how fast trust goes to the expert whose loss is less (exponentially weighted "
           "average: Cesa-Bianchi and Lugosi 2006)."),
    NUMBER(expert_memory, 1, 1e9,
           "Stack: documents after which the loss of an expert has faded to 1/e."),
    {.name = "evaluation_short",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, evaluation_short),
     .minimum = 1,
     .maximum = UINT32_MAX,
     .help = "Documents in the short window of the evaluation."},
    {.name = "evaluation_long",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, evaluation_long),
     .minimum = 1,
     .maximum = UINT32_MAX,
     .help = "Documents in the long window of the evaluation."},
    {.name = "tokenizer",
     .type = NB_SETTING_FIELDS,
     .offset = offsetof(struct nb_settings, tokenizer_fields),
     .names = nb_field_names,
     .help = "Which parts of a document are counted; fixed with the first document."},
};

/* In the store only: the version of the tokenizer that made the counts. */
static const char version_name[] = "tokenizer_version";

const struct nb_setting *nb_settings_table(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

uint32_t nb_settings_default_fields(enum nb_preset preset, enum nb_decision decision)
{
    if (preset == NB_PRESET_MAIL)
        return ALL_FIELDS;
    return decision == NB_DECISION_STACKED ? STACKED_TEXT_FIELDS : TEXT_FIELDS;
}

void nb_settings_init(struct nb_settings *settings, enum nb_preset preset)
{
    enum nb_decision decision = preset == NB_PRESET_MAIL ? NB_DECISION_STACKED : NB_DECISION_BAYES;
    *settings = (struct nb_settings){
        .preset = (int)preset,
        .event_model = NB_EVENT_MULTINOMIAL,
        .smoothing = 1.0,
        .prior = NB_PRIOR_EMPIRICAL,
        .decision = (int)decision,
        .unsure_band = 0,
        .ready_documents = 10,
        .sharp_smoothing = 0.02,
        .sharp_power = 1.5,
        .robust_smoothing = 0.5,
        .robust_power = 1.5,
        .many_smoothing = 0.1,
        .many_power = 2,
        .length_power = 0.8,
        .evidence_scale = 0.4,
        .learning_rate = 0.12,
        .expert_mixing = 0.5,
        .expert_memory = 2000,
        .evaluation_short = 1000,
        .evaluation_long = 10000,
        .tokenizer_fields = nb_settings_default_fields(preset, decision),
        .tokenizer_version = NB_TOKENIZER_VERSION,
    };
}

static void weights_free(struct nb_prior_weight *weights, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(weights[i].label);
    free(weights);
}

void nb_settings_deinit(struct nb_settings *settings)
{
    weights_free(settings->weights, settings->weight_count);
    settings->weights = NULL;
    settings->weight_count = 0;
}

int nb_settings_copy(struct nb_settings *to, const struct nb_settings *from)
{
    struct nb_prior_weight *weights = NULL;
    if (from->weight_count != 0) {
        weights = calloc(from->weight_count, sizeof *weights);
        if (weights == NULL)
            return NB_NO_MEMORY;
    }
    for (size_t i = 0; i < from->weight_count; i++) {
        weights[i].weight = from->weights[i].weight;
        weights[i].label = strdup(from->weights[i].label);
        if (weights[i].label == NULL) {
            weights_free(weights, i);
            return NB_NO_MEMORY;
        }
    }
    *to = *from;
    to->weights = weights;
    return 0;
}

/* ---- checking -------------------------------------------------------------------------------- */

/* The members of a settings struct that the table's entries point to. */
static const void *member(const struct nb_settings *settings, const struct nb_setting *s)
{
    return (const char *)settings + s->offset;
}

static int get_int(const struct nb_settings *settings, const struct nb_setting *s)
{
    int value;
    memcpy(&value, member(settings, s), sizeof value);
    return value;
}

static uint64_t get_count(const struct nb_settings *settings, const struct nb_setting *s)
{
    uint64_t value;
    memcpy(&value, member(settings, s), sizeof value);
    return value;
}

static double get_double(const struct nb_settings *settings, const struct nb_setting *s)
{
    double value;
    memcpy(&value, member(settings, s), sizeof value);
    return value;
}

static uint32_t get_mask(const struct nb_settings *settings, const struct nb_setting *s)
{
    uint32_t value;
    memcpy(&value, member(settings, s), sizeof value);
    return value;
}

static int name_count(const char *const *names)
{
    int count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

static int check_enum(const struct nb_setting *s, int value, struct nb_error *error)
{
    if (value >= 0 && value < name_count(s->names))
        return 0;
    struct nb_buffer list = {0};
    for (int i = 0; s->names[i] != NULL; i++)
        (void)nb_buffer_printf(&list, "%s\"%s\"", i == 0 ? "" : ", ", s->names[i]);
    int rc = nb_error_set(error, NB_UNUSABLE, "%s must be one of %.*s", s->name, (int)list.length,
                          list.length == 0 ? "" : list.bytes);
    nb_buffer_deinit(&list);
    return rc;
}

/* `what` names the value: the setting, or one weight of it. Written so that NaN fails. */
static int check_number(const struct nb_setting *s, const char *what, double value,
                        struct nb_error *error)
{
    bool enough = s->exclusive_minimum ? value > s->minimum : value >= s->minimum;
    if (enough && value <= s->maximum)
        return 0;
    if (!enough)
        return nb_error_set(error, NB_UNUSABLE, "%s must be %s %.15g", what,
                            s->exclusive_minimum ? "above" : "at least", s->minimum);
    return nb_error_set(error, NB_UNUSABLE, "%s must be at most %.15g", what, s->maximum);
}

static int check_prior(const struct nb_setting *s, const struct nb_settings *settings,
                       struct nb_error *error)
{
    int rc = check_enum(s, settings->prior, error);
    if (rc != 0)
        return rc;
    if (settings->prior != NB_PRIOR_GIVEN) {
        if (settings->weight_count == 0)
            return 0;
        return nb_error_set(error, NB_UNUSABLE, "%s has weights, but is %s", s->name,
                            priors[settings->prior]);
    }
    if (settings->weight_count == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must name at least one label", s->name);
    for (size_t i = 0; i < settings->weight_count; i++) {
        const struct nb_prior_weight *w = &settings->weights[i];
        char what[128];
        (void)snprintf(what, sizeof what, "%s of \"%.64s\"", s->name, w->label);
        rc = check_number(s, what, w->weight, error);
        if (rc != 0)
            return rc;
        if (i > 0 && strcmp(w[-1].label, w->label) >= 0)
            return nb_error_set(error, NB_UNUSABLE, "%s must name each label once, in order (%s)",
                                s->name, w->label);
    }
    return 0;
}

static int check_mask(const struct nb_setting *s, uint32_t mask, struct nb_error *error)
{
    uint32_t known = (1u << name_count(s->names)) - 1;
    if ((mask & ~known) != 0)
        return nb_error_set(error, NB_UNUSABLE, "%s has a field that does not exist", s->name);
    if (mask == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must count at least one field", s->name);
    return 0;
}

static int check_one(const struct nb_setting *s, const struct nb_settings *settings,
                     struct nb_error *error)
{
    switch (s->type) {
    case NB_SETTING_ENUM:
        return check_enum(s, get_int(settings, s), error);
    case NB_SETTING_DOUBLE:
        return check_number(s, s->name, get_double(settings, s), error);
    case NB_SETTING_COUNT: /* the bounds are far below 2^53: a count that rounds is over them */
        return check_number(s, s->name, (double)get_count(settings, s), error);
    case NB_SETTING_PRIOR:
        return check_prior(s, settings, error);
    case NB_SETTING_FIELDS:
        return check_mask(s, get_mask(settings, s), error);
    }
    return nb_error_set(error, NB_UNUSABLE, "%s is of no known type", s->name);
}

int nb_settings_check(const struct nb_settings *settings, struct nb_error *error)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int rc = check_one(&table[i], settings, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* ---- stored form: a number of entries, each a name and a value in a string of its own -------- */

static void write_names(struct nb_packer *w, const char *name)
{
    nb_pack_string(w, (struct nb_string){name, strlen(name)});
}

static void write_value(struct nb_packer *w, const struct nb_setting *s,
                        const struct nb_settings *settings)
{
    switch (s->type) {
    case NB_SETTING_ENUM: /* by name: the order may change */
        write_names(w, s->names[get_int(settings, s)]);
        break;
    case NB_SETTING_DOUBLE:
        nb_pack_double(w, get_double(settings, s));
        break;
    case NB_SETTING_COUNT:
        nb_pack_varint(w, get_count(settings, s));
        break;
    case NB_SETTING_PRIOR:
        write_names(w, s->names[settings->prior]);
        nb_pack_varint(w, settings->weight_count);
        for (size_t i = 0; i < settings->weight_count; i++) {
            write_names(w, settings->weights[i].label);
            nb_pack_double(w, settings->weights[i].weight);
        }
        break;
    case NB_SETTING_FIELDS:
        nb_pack_varint(w, get_mask(settings, s));
        break;
    }
}

int nb_settings_write(const struct nb_settings *settings, struct nb_buffer *out)
{
    struct nb_buffer value = {0};
    struct nb_packer w = {.out = out};
    struct nb_packer v = {.out = &value};
    size_t before = out->length;
    nb_pack_varint(&w, sizeof table / sizeof *table + 1);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        value.length = 0;
        write_value(&v, &table[i], settings);
        write_names(&w, table[i].name);
        nb_pack_string(&w, (struct nb_string){value.bytes, value.length});
    }
    value.length = 0;
    nb_pack_varint(&v, settings->tokenizer_version);
    write_names(&w, version_name);
    nb_pack_string(&w, (struct nb_string){value.bytes, value.length});
    nb_buffer_deinit(&value);
    int rc = w.code != 0 ? w.code : v.code;
    if (rc != 0)
        out->length = before;
    return rc;
}

static bool is_name(struct nb_string s, const char *name)
{
    return s.length == strlen(name) && memcmp(s.bytes, name, s.length) == 0;
}

/* The number of a name in a list; -1 if it is not there, which only a newer program writes. */
static int find_name(const char *const *names, struct nb_string s)
{
    for (int i = 0; names[i] != NULL; i++)
        if (is_name(s, names[i]))
            return i;
    return -1;
}

static int read_weights(struct nb_unpacker *r, struct nb_settings *settings)
{
    /* each takes a length byte and eight of the weight at least, which bounds the allocation */
    size_t count = (size_t)nb_unpack_bounded(r, (uint64_t)(r->end - r->at) / 9);
    if (count == 0)
        return 0;
    settings->weights = calloc(count, sizeof *settings->weights);
    if (settings->weights == NULL)
        return NB_NO_MEMORY;
    for (; settings->weight_count < count; settings->weight_count++) {
        struct nb_prior_weight *w = &settings->weights[settings->weight_count];
        struct nb_string label = nb_unpack_string(r);
        w->weight = nb_unpack_double(r);
        if (r->failed || memchr(label.bytes, '\0', label.length) != NULL)
            return NB_CORRUPT;
        w->label = strndup(label.bytes, label.length);
        if (w->label == NULL)
            return NB_NO_MEMORY;
    }
    return 0;
}

static int read_value(struct nb_unpacker *r, const struct nb_setting *s,
                      struct nb_settings *settings)
{
    char *to = (char *)settings + s->offset;
    if (s->type == NB_SETTING_DOUBLE) {
        double value = nb_unpack_double(r);
        memcpy(to, &value, sizeof value);
    } else if (s->type == NB_SETTING_COUNT) {
        uint64_t value = nb_unpack_varint(r);
        memcpy(to, &value, sizeof value);
    } else if (s->type == NB_SETTING_FIELDS) {
        uint32_t value = (uint32_t)nb_unpack_bounded(r, UINT32_MAX);
        memcpy(to, &value, sizeof value);
        if (value >> name_count(s->names) != 0)
            return NB_VERSION;
    } else {
        struct nb_string name = nb_unpack_string(r);
        int value = find_name(s->names, name);
        if (value < 0)
            return r->failed ? NB_CORRUPT : NB_VERSION;
        memcpy(to, &value, sizeof value);
        if (s->type == NB_SETTING_PRIOR)
            return read_weights(r, settings);
    }
    return 0;
}

/* One entry; `seen` has a bit for each of the table's and, above, one for the version. */
static int read_entry(struct nb_unpacker *r, struct nb_settings *settings, uint32_t *seen,
                      struct nb_error *error)
{
    const size_t count = sizeof table / sizeof *table;
    struct nb_string name = nb_unpack_string(r);
    struct nb_string stored = nb_unpack_string(r);
    struct nb_unpacker value = nb_unpacker_of(stored.bytes, stored.length);
    size_t i = 0;
    while (i < count && !is_name(name, table[i].name))
        i++;
    int rc = 0;
    if (r->failed || (*seen >> i & 1) != 0)
        rc = NB_CORRUPT;
    else if (i < count)
        rc = read_value(&value, &table[i], settings);
    else if (is_name(name, version_name))
        settings->tokenizer_version = (uint32_t)nb_unpack_bounded(&value, UINT32_MAX);
    else
        rc = NB_VERSION;
    *seen |= 1u << i;
    if (rc == 0 && !nb_unpacker_done(&value))
        rc = NB_CORRUPT;
    if (rc == NB_VERSION)
        return nb_error_set(error, rc, "the setting \"%.*s\" is of a newer version",
                            (int)(name.length < 64 ? name.length : 64), name.bytes);
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : nb_error_set(error, rc, "the stored settings are damaged");
}

int nb_settings_read(struct nb_settings *settings, struct nb_string stored, struct nb_error *error)
{
    struct nb_settings read;
    nb_settings_init(&read, NB_PRESET_TEXT);
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    uint32_t seen = 0;
    uint64_t entries = nb_unpack_varint(&r);
    int rc = 0;
    for (uint64_t i = 0; rc == 0 && i < entries; i++)
        rc = read_entry(&r, &read, &seen, error);
    if (rc == 0 && !nb_unpacker_done(&r))
        rc = nb_error_set(error, NB_CORRUPT, "the stored settings are damaged");
    if (rc == 0 && nb_settings_check(&read, error) != 0)
        rc = nb_error_set(error, NB_CORRUPT, "the stored settings have a value out of range");
    if (rc == 0)
        *settings = read;
    else
        nb_settings_deinit(&read);
    return rc;
}
