/* SPDX-License-Identifier: Apache-2.0 */
#include "core/bayes/settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/array.h"
#include "core/base/feature.h"

/* Values as they stand in JSON and in the store, in the order of their enums. */
static const char *const event_models[] = {"multinomial", "binary", "bernoulli", "complement",
                                           NULL};
static const char *const estimates[] = {"mean", "map", "mle", NULL};
static const char *const predictions[] = {"estimate", "integrate", NULL};
static const char *const priors[] = {"empirical", "uniform", "given", "dirichlet", NULL};
static const char *const label_sets[] = {"one", "several", NULL};

static const char *const optimizes[] = {"f1", "precision", "costs", NULL};

static const char *const decisions[] = {"bayes", "stacked", NULL};

#define ALL_FIELDS ((1u << NB_FIELDS) - 1)
#define TEXT_FIELDS (1u << NB_FIELD_BODY | 1u << NB_FIELD_SUBJECT)
/* The fields that a model whose documents have several labels reads (core/stack/multilabel.h). */
#define WORD_FIELDS (TEXT_FIELDS | 1u << NB_FIELD_ADDRESS | 1u << NB_FIELD_URL)
/* The fields that a plain text can have. */
#define STACKED_TEXT_FIELDS                                                                        \
    (TEXT_FIELDS | 1u << NB_FIELD_STRUCTURE | 1u << NB_FIELD_URL | 1u << NB_FIELD_CASE |           \
     1u << NB_FIELD_PAIR | 1u << NB_FIELD_NGRAM)

static const char *const structures[] = {"naive", "tan", NULL};

static const char *const numbers[] = {"gaussian", "bins", "auto", NULL};

static const char *const new_fields[] = {"refuse", "learn", NULL};

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
    {.name = "estimate",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, estimate),
     .names = estimates,
     .help = "What P(word|label) is of its posterior under a Dirichlet prior with the parameter "
             "`smoothing`: its mean, its mode (map), or without a prior the relative frequency "
             "(mle: Murphy 2012, section 3.4). With mle, and with map where `smoothing` is 1, a "
             "word that a label does not have makes it impossible."},
    {.name = "predict",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, predict),
     .names = predictions,
     .help = "How a document is scored under the posterior of P(word|label): by the estimate for "
             "each word (estimate), or by the whole document's likelihood with the probabilities "
             "integrated out (integrate: Dirichlet-multinomial, Murphy 2012, section 3.4), under "
             "which a word that came once is more likely to come again."},
    {.name = "smoothing",
     .type = NB_SETTING_SMOOTHING,
     .offset = offsetof(struct nb_settings, smoothing),
     .minimum = 0,
     .maximum = 1e6,
     .exclusive_minimum = true,
     .help = "Virtual occurrences per vocabulary word: 1 is Laplace. Or one number for each label, "
             "alpha and beta of a word's presence with the Bernoulli model, m and p of the "
             "m-estimate (Mitchell 1997, equation 6.22), or a number for each value of a field."},
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
         "not named weighs the mean of the named. Or a Dirichlet prior of the shares, with a "
         "number for each label (Murphy 2012, section 3.4)."},
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
    {.name = "max_term_count",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, max_term_count),
     .minimum = 0,
     .maximum = UINT32_MAX,
     .help = "A word that a document repeats counts so many times at most, when it is learned and "
             "when it is classified; 0: every time, as in the book. Documents that were learned "
             "before a change keep their counts."},
    {.name = "decision",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, decision),
     .names = decisions,
     .help = "Where label and probabilities come from: the soft-max of the log scores (bayes), or "
             "evidence per field, weighed and calibrated online (stacked)."},
    {.name = "label_set",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, label_set),
     .names = label_sets,
     .help = "Whether a document has one label, or any number of them (several): then each label "
             "is judged by itself against all documents without it. Fixed with the first "
             "document."},
    {.name = "optimize",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, optimize),
     .names = optimizes,
     .help = "With several labels: what the threshold of a label is chosen for, on leave-one-out "
             "scores of the model's documents: the greatest F1 of the label (f1), a precision of "
             "at least `precision` (precision), or the least cost of its errors (costs). "
             "`thresholds` go before."},
    {.name = "precision",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, precision),
     .minimum = 0,
     .maximum = 1,
     .exclusive_minimum = true,
     .help = "With `optimize` precision: the least share of the documents given a label that shall "
             "have it."},
    {.name = "cost_fp",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, cost_fp),
     .minimum = 0,
     .maximum = 1e6,
     .exclusive_minimum = true,
     .help = "With `optimize` costs: what it costs to give a label to a document without it."},
    {.name = "cost_fn",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, cost_fn),
     .minimum = 0,
     .maximum = 1e6,
     .exclusive_minimum = true,
     .help = "With `optimize` costs: what it costs not to give a label to a document that has it."},
    {.name = "unsure_band",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, unsure_band),
     .minimum = 0,
     .maximum = 0.5,
     .help = "A probability nearer than this to the threshold of a decision is unsure."},
    {.name = "min_known",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, min_known),
     .minimum = 0,
     .maximum = 1,
     .help = "A document whose `known`, the probability that it is of any of the labels, is below "
             "this is decided none; 0: never."},
    {.name = "thresholds",
     .type = NB_SETTING_THRESHOLDS,
     .offset = offsetof(struct nb_settings, thresholds),
     .minimum = 0,
     .maximum = 1,
     .exclusive_minimum = true,
     .help = "The least probability of a label for the decision to be this label: below it the "
             "decision is unsure. It is a number, a precision of which the number is chosen on "
             "leave-one-out scores or those before learning ({\"precision\": 0.99}), or the costs "
             "of deciding the label wrongly and of not deciding it, whose number is cost_fp / "
             "(cost_fp + cost_fn) (Elkan 2001). With several labels: a number. Verdicts have a "
             "decision if some label has a threshold; a label without one is decided whenever it "
             "wins. A threshold of the "
             "request goes before."},
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
        "(measured: core/EXPERIMENTS.md)."),
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
    {.name = "twin",
     .type = NB_SETTING_BOOL,
     .offset = offsetof(struct nb_settings, twin),
     .help = "Stack: whether each feature has a learned weight as well, which corrects what the "
             "stack gets wrong (2 MB a model at most)."},
    {.name = "passages",
     .type = NB_SETTING_BOOL,
     .offset = offsetof(struct nb_settings, passages),
     .help = "Stack: with the label 'spam' and up to 31 others, the passages of a text are judged "
             "one by one, too, and the one that speaks most for spam decides if it says enough: so "
             "innocent text that is added to spam does not hide it."},
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
    {.name = "max_age",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, max_age),
     .minimum = 0,
     .maximum = 4e9,
     .help = "Seconds after which a document is taken out again, counted from its last change; "
             "0: never."},
    {.name = "max_documents",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, max_documents),
     .minimum = 0,
     .maximum = UINT32_MAX,
     .help = "When there are more documents than this, the oldest are taken out again; 0: no "
             "limit."},
    {.name = "near_duplicates",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, near_duplicates),
     .minimum = 0,
     .maximum = 1000,
     .help =
         "So many documents of a label that are nearly the same are learned; a further one under "
         "a new id is not. 0: all are."},
    {.name = "near_duplicate_similarity",
     .type = NB_SETTING_DOUBLE,
     .offset = offsetof(struct nb_settings, near_duplicate_similarity),
     .minimum = 0.5,
     .maximum = 1,
     .help = "Documents are nearly the same from this Jaccard similarity of their features on, as "
             "estimated by one permutation hashing (Li, Owen and Zhang 2012)."},
    {.name = "near_duplicate_window",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, near_duplicate_window),
     .minimum = 1,
     .maximum = 100000,
     .help = "A document is compared with so many that were learned last."},
    {.name = "parent",
     .type = NB_SETTING_MODEL,
     .offset = offsetof(struct nb_settings, parent),
     .help =
         "A model whose counts and weights come in beside the model's own: without documents it "
         "answers as its parent does, and with each that it learns more as itself (the "
         "m-estimate with the parent's estimate as prior: Mitchell 1997, equation 6.22)."},
    {.name = "parent_strength",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, parent_strength),
     .minimum = 1,
     .maximum = 1e9,
     .help = "The parent's counts weigh as much as so many documents at most; from as many of its "
             "own on, the model's word is the greater."},
    {.name = "unlabelled_weight",
     .type = NB_SETTING_WEIGHT,
     .offset = offsetof(struct nb_settings, unlabelled_weight),
     .minimum = 0,
     .maximum = 1,
     .help =
         "What a document without a label weighs beside one with a label, its label as expected "
         "by EM (Nigam, McCallum, Thrun and Mitchell 2000). 0: nothing; auto: what the model's "
         "documents are predicted best with, left out, or nothing."},
    {.name = "calibration",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, calibration),
     .names = nb_calibration_names,
     .help =
         "With decision bayes: probabilities are the soft-max of the log scores (none), or what "
         "a sigmoid (platt) or a rising function (isotonic) makes of these, fitted on the "
         "leave-one-out scores of the model's documents (Niculescu-Mizil and Caruana 2005)."},
    {.name = "fields",
     .type = NB_SETTING_ATTRIBUTES,
     .offset = offsetof(struct nb_settings, attributes),
     .names = nb_field_kind_names,
     .help = "Fields that documents can have values of beside their text: each is an attribute of "
             "its own (Mitchell 1997, section 6.9: the naive Bayes classifier). A field can be "
             "added at any time, and stays."},
    {.name = "structure",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, structure),
     .names = structures,
     .help = "What a category depends on beside the label: nothing (naive), or one other category, "
             "such that the tree of these tells most (tan: Friedman, Geiger and Goldszmidt 1997). "
             "Bins of numbers are categories."},
    {.name = "number",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, number),
     .names = numbers,
     .help =
         "How fields of numbers are learned: by mean and variance of each label (gaussian: John "
         "and Langley 1995), cut into bins that are categories then (bins: Yang and Webb 2001), "
         "or of each field by the one of both that predicts better (auto)."},
    {.name = "new_fields",
     .type = NB_SETTING_ENUM,
     .offset = offsetof(struct nb_settings, new_fields),
     .names = new_fields,
     .help = "A document with a value of a field that `fields` has not is refused (refuse), or the "
             "field becomes one of the model (learn): a number, a list a set, all else a category. "
             "A document that is classified has no new fields: they are passed over."},
    {.name = "mail_server",
     .type = NB_SETTING_HOST,
     .offset = offsetof(struct nb_settings, mail_server),
     .minimum = 1,
     .maximum = 255,
     .help = "The name of the own mail server (authserv-id: RFC 8601, section 2.2), whose results "
             "of SPF, DKIM and DMARC and whose envelope are values of those of the categories "
             "`fields` that are called spf, dkim, dmarc, client, helo, sender and recipient."},
    {.name = "history",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, history),
     .minimum = 0,
     .maximum = 1000000,
     .help = "So many of the last verdicts that were asked for with `remember`, or by mail "
             "software, are kept on disk with what the model saw in the document, so that it can "
             "be labelled later by its id alone; 0: none."},
    {.name = "history_days",
     .type = NB_SETTING_COUNT,
     .offset = offsetof(struct nb_settings, history_days),
     .minimum = 1,
     .maximum = 3650,
     .help = "Days after which a verdict leaves the history."},
    {.name = "history_subject",
     .type = NB_SETTING_BOOL,
     .offset = offsetof(struct nb_settings, history_subject),
     .help = "Whether the history has Subject and From of mails."},
    {.name = "tokenizer",
     .type = NB_SETTING_FIELDS,
     .offset = offsetof(struct nb_settings, tokenizer_fields),
     .names = nb_field_names,
     .help = "Which parts of a document are counted; fixed with the first document."},
};

const struct nb_setting *nb_settings_table(size_t *count)
{
    *count = sizeof table / sizeof *table;
    return table;
}

uint32_t nb_settings_default_fields(enum nb_preset preset, enum nb_decision decision,
                                    enum nb_label_set_kind label_set)
{
    if (label_set == NB_LABEL_SET_SEVERAL)
        return preset == NB_PRESET_BOOK ? TEXT_FIELDS : WORD_FIELDS;
    if (preset == NB_PRESET_MAIL)
        return ALL_FIELDS;
    return decision == NB_DECISION_STACKED ? STACKED_TEXT_FIELDS : TEXT_FIELDS;
}

void nb_settings_init(struct nb_settings *settings, enum nb_preset preset)
{
    enum nb_decision decision = preset == NB_PRESET_BOOK ? NB_DECISION_BAYES : NB_DECISION_STACKED;
    *settings = (struct nb_settings){
        .preset = (int)preset,
        .event_model = NB_EVENT_MULTINOMIAL,
        .estimate = NB_ESTIMATE_MEAN,
        .predict = NB_PREDICT_ESTIMATE,
        .smoothing = 1.0,
        .prior = NB_PRIOR_EMPIRICAL,
        .decision = (int)decision,
        .label_set = NB_LABEL_SET_ONE,
        .optimize = NB_OPTIMIZE_F1,
        .precision = 0.9,
        .cost_fp = 1,
        .cost_fn = 1,
        .unsure_band = 0,
        .min_known = 0,
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
        .twin = true,
        .passages = true,
        .evaluation_short = 1000,
        .evaluation_long = 10000,
        .near_duplicates = 0,
        .near_duplicate_similarity = 0.9,
        .near_duplicate_window = 10000,
        .parent_strength = 100,
        .history_days = 14,
        .unlabelled_weight = preset == NB_PRESET_BOOK ? 0 : NB_WEIGHT_AUTO,
        .tokenizer_fields = nb_settings_default_fields(preset, decision, NB_LABEL_SET_ONE),
        .tokenizer_version = NB_TOKENIZER_VERSION,
    };
}

static void attributes_free(struct nb_attribute *attributes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(attributes[i].name);
    free(attributes);
}

void nb_settings_deinit(struct nb_settings *settings)
{
    nb_label_weights_free(settings->weights, settings->weight_count);
    nb_label_thresholds_free(settings->thresholds, settings->threshold_count);
    nb_smoothing_deinit(&settings->smoothing_by);
    attributes_free(settings->attributes, settings->attribute_count);
    free(settings->parent);
    free(settings->mail_server);
    if (settings->fitted != NULL)
        nb_calibration_free(&settings->fitted);
    settings->weights = NULL;
    settings->weight_count = 0;
    settings->thresholds = NULL;
    settings->threshold_count = 0;
    settings->attributes = NULL;
    settings->attribute_count = 0;
    settings->parent = settings->mail_server = NULL;
}

int nb_settings_add_attribute(struct nb_settings *settings, struct nb_string name, int kind)
{
    char *copy = nb_string_copy(name);
    if (copy == NULL || nb_array_resize(&settings->attributes, settings->attribute_count + 1,
                                        sizeof *settings->attributes) != 0) {
        free(copy);
        return NB_NO_MEMORY;
    }
    settings->attributes[settings->attribute_count++] =
        (struct nb_attribute){.name = copy, .kind = kind};
    return 0;
}

bool nb_settings_keep_attributes(const struct nb_settings *settings, const struct nb_settings *old)
{
    if (settings->attribute_count < old->attribute_count)
        return false;
    for (size_t i = 0; i < old->attribute_count; i++)
        if (settings->attributes[i].kind != old->attributes[i].kind ||
            strcmp(settings->attributes[i].name, old->attributes[i].name) != 0)
            return false;
    return true;
}

/* Appends copies of the attributes. */
static int copy_attributes(struct nb_settings *to, const struct nb_settings *from)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < from->attribute_count; i++)
        rc = nb_settings_add_attribute(to, nb_string_of(from->attributes[i].name),
                                       from->attributes[i].kind);
    return rc;
}

int nb_settings_copy(struct nb_settings *to, const struct nb_settings *from)
{
    assert(to != from);
    struct nb_prior_weight *weights;
    if (nb_label_weights_copy(from->weights, from->weight_count, &weights) != 0)
        return NB_NO_MEMORY;
    char *parent = from->parent == NULL ? NULL : strdup(from->parent);
    char *server = from->mail_server == NULL ? NULL : strdup(from->mail_server);
    struct nb_smoothing smoothing = {.kind = NB_SMOOTHING_ONE};
    struct nb_settings copied = {0};
    if ((from->parent != NULL && parent == NULL) || (from->mail_server != NULL && server == NULL) ||
        nb_smoothing_copy(&smoothing, &from->smoothing_by) != 0 ||
        nb_calibration_copy(&copied.fitted, from->fitted) != 0 ||
        nb_label_thresholds_copy(from->thresholds, from->threshold_count, &copied.thresholds) !=
            0 ||
        copy_attributes(&copied, from) != 0) {
        nb_calibration_free(&copied.fitted);
        nb_label_thresholds_free(copied.thresholds, from->threshold_count);
        attributes_free(copied.attributes, copied.attribute_count);
        nb_smoothing_deinit(&smoothing);
        nb_label_weights_free(weights, from->weight_count);
        free(parent);
        free(server);
        return NB_NO_MEMORY;
    }
    *to = *from;
    to->weights = weights;
    to->smoothing_by = smoothing;
    to->parent = parent;
    to->mail_server = server;
    to->attributes = copied.attributes;
    to->fitted = copied.fitted;
    to->thresholds = copied.thresholds;
    return 0;
}

const struct nb_label_threshold *nb_settings_threshold(const struct nb_settings *settings,
                                                       const char *label)
{
    for (size_t i = 0; i < settings->threshold_count; i++)
        if (strcmp(settings->thresholds[i].label, label) == 0)
            return &settings->thresholds[i];
    return NULL;
}

double nb_settings_label_parameter(const struct nb_settings *settings, const char *label)
{
    for (size_t i = 0; i < settings->weight_count; i++)
        if (strcmp(settings->weights[i].label, label) == 0)
            return settings->weights[i].weight;
    return settings->prior_default;
}

double nb_settings_label_weight(const struct nb_settings *settings, const char *label,
                                double documents)
{
    switch ((enum nb_prior_kind)settings->prior) {
    case NB_PRIOR_GIVEN:
        return nb_label_weights_find(settings->weights, settings->weight_count, label);
    case NB_PRIOR_UNIFORM:
        return 1;
    case NB_PRIOR_DIRICHLET:
        return documents + nb_settings_label_parameter(settings, label) -
               (settings->estimate == NB_ESTIMATE_MAP);
    case NB_PRIOR_EMPIRICAL:
        break;
    }
    return documents;
}

bool nb_settings_leave_words_out(const struct nb_settings *settings)
{
    return settings->min_count > 1 || settings->skip_top > 0;
}

static bool has_numbers(const struct nb_settings *settings)
{
    bool has = false;
    for (size_t i = 0; i < settings->attribute_count; i++)
        has = has || settings->attributes[i].kind == NB_FIELD_KIND_NUMBER;
    return has;
}

const char *nb_settings_bar_unlabelled(const struct nb_settings *settings)
{
    const struct nb_settings *s = settings;
    bool has_fields = s->attribute_count > 0;
    bool is_book = has_fields && s->decision == NB_DECISION_BAYES;
    const struct {
        bool is_set;
        const char *what;
    } bars[] = {
        {nb_settings_are_several(s), "several labels (\"label_set\")"},
        {has_numbers(s) && s->number != NB_NUMBER_GAUSSIAN,
         "fields of numbers and another \"number\" than \"gaussian\""},
        {is_book && s->event_model == NB_EVENT_BERNOULLI,
         "fields and the event_model \"bernoulli\" (use \"multinomial\")"},
        {is_book && s->structure != NB_STRUCTURE_NAIVE,
         "fields and the structure \"tan\" (use \"naive\")"},
        {is_book && s->smoothing_by.kind != NB_SMOOTHING_ONE,
         "fields and another smoothing than one number"},
        {is_book && s->predict == NB_PREDICT_INTEGRATE,
         "fields and predict \"integrate\" (use \"estimate\")"},
        {is_book && nb_settings_leave_words_out(s), "fields and min_count above 1 or skip_top"},
    };
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++)
        if (bars[i].is_set)
            return bars[i].what;
    return NULL;
}

bool nb_settings_walk_vocabulary(const struct nb_settings *settings)
{
    bool walks = settings->event_model == NB_EVENT_BERNOULLI;
    bool has_bins = settings->number != NB_NUMBER_GAUSSIAN;
    for (size_t i = 0; i < settings->attribute_count;
         i++) { /* sets: for the values that a document lacks */
        int kind = settings->attributes[i].kind;
        walks = walks || kind == NB_FIELD_KIND_SET || (has_bins && kind == NB_FIELD_KIND_NUMBER);
    }
    return walks || nb_settings_leave_words_out(settings);
}

/* ---- the tokenizer's version ----------------------------------------------------------------- */

void nb_settings_set_tokenizer(struct nb_settings *settings, const struct nb_settings *counted)
{
    settings->tokenizer_version =
        counted != NULL ? counted->tokenizer_version : NB_TOKENIZER_VERSION;
}

int nb_settings_check_tokenizer(const struct nb_settings *settings, struct nb_error *error)
{
    uint32_t version = settings->tokenizer_version;
    if (version >= NB_TOKENIZER_OLDEST && version <= NB_TOKENIZER_VERSION)
        return 0;
    return nb_error_set(error, NB_VERSION,
                        "the model was counted with version %u of the tokenizer, and this program "
                        "reads versions %d to %d: use the program of that version, or train the "
                        "model anew from its documents",
                        version, NB_TOKENIZER_OLDEST, NB_TOKENIZER_VERSION);
}
