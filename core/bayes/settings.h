/* SPDX-License-Identifier: Apache-2.0
 *
 * The settings of a model. One table gives the name, type, range and default of each; the JSON
 * codec, the store and openapi.json all read that table. A settings struct is immutable once
 * published; reading is for any thread.
 */
#ifndef NB_CORE_BAYES_SETTINGS_H
#define NB_CORE_BAYES_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/attribute.h"
#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/bayes/calibration.h"
#include "core/bayes/smoothing.h"
#include "core/bayes/thresholds.h"

enum nb_event_model {
    NB_EVENT_MULTINOMIAL,
    NB_EVENT_BINARY,
    NB_EVENT_BERNOULLI,
    NB_EVENT_COMPLEMENT
};
enum nb_estimate { NB_ESTIMATE_MEAN, NB_ESTIMATE_MAP, NB_ESTIMATE_MLE };
enum nb_structure { NB_STRUCTURE_NAIVE, NB_STRUCTURE_TAN };
enum nb_predict { NB_PREDICT_ESTIMATE, NB_PREDICT_INTEGRATE };
enum nb_prior_kind { NB_PRIOR_EMPIRICAL, NB_PRIOR_UNIFORM, NB_PRIOR_GIVEN, NB_PRIOR_DIRICHLET };
enum nb_number { NB_NUMBER_GAUSSIAN, NB_NUMBER_BINS, NB_NUMBER_AUTO };
enum nb_new_fields { NB_NEW_FIELDS_REFUSE, NB_NEW_FIELDS_LEARN };
/* Of the several labels of a document, how the thresholds are chosen (core/stack/multilabel_fit.h).
 */
enum nb_label_set_kind { NB_LABEL_SET_ONE, NB_LABEL_SET_SEVERAL };
enum nb_optimize { NB_OPTIMIZE_F1, NB_OPTIMIZE_PRECISION, NB_OPTIMIZE_COSTS };
enum nb_decision { NB_DECISION_BAYES, NB_DECISION_STACKED };
enum nb_preset { NB_PRESET_TEXT, NB_PRESET_MAIL, NB_PRESET_BOOK };

/* A weight that the program chooses. */
#define NB_WEIGHT_AUTO (-1.0)

struct nb_settings {
    int preset;                       /* enum nb_preset: determines the defaults of the others */
    int event_model;                  /* enum nb_event_model */
    int estimate;                     /* enum nb_estimate: core/bayes/estimate.h */
    int predict;                      /* enum nb_predict: core/bayes/estimate.h */
    double smoothing;                 /* one number; or alpha, m or the default of `smoothing_by` */
    struct nb_smoothing smoothing_by; /* owned */
    int prior;                        /* enum nb_prior_kind */
    /* Owned; sorted by label; with NB_PRIOR_GIVEN, or parameters with NB_PRIOR_DIRICHLET. */
    struct nb_prior_weight *weights;
    size_t weight_count;
    double prior_default; /* parameter of other labels; with NB_PRIOR_DIRICHLET, else 0 */
    uint64_t min_count;
    uint64_t skip_top;
    uint64_t max_term_count; /* most occurrences of one feature in one document; 0: no limit */
    int decision;            /* enum nb_decision */
    int label_set;           /* enum nb_label_set_kind; fixed by the first document */
    int optimize;            /* enum nb_optimize */
    double precision;        /* least precision of a label, with NB_OPTIMIZE_PRECISION */
    double cost_fp, cost_fn; /* of a label given wrongly, and of one missed: NB_OPTIMIZE_COSTS */
    double unsure_band;      /* half width, in units of probability */
    double min_known;        /* least `known` (core/model/known.h) for a decision other than none */
    /* Owned; sorted by label: the least probability with which a label that wins is decided. */
    struct nb_label_threshold *thresholds;
    size_t threshold_count;
    uint64_t ready_documents;            /* documents per label for a verdict to be `ready` */
    double sharp_smoothing, sharp_power; /* the experts of the stack: core/stack/stack.h */
    double robust_smoothing, robust_power;
    double many_smoothing, many_power;
    double length_power, evidence_scale, learning_rate, expert_mixing, expert_memory;
    bool twin;                                  /* of the stack: core/stack/stack.h */
    bool passages;                              /* core/stack/passages.h */
    uint64_t evaluation_short, evaluation_long; /* documents in the windows of the evaluation */
    uint64_t max_age, max_documents; /* ageing, in seconds and in documents; 0: no limit */
    /* How many near duplicates with the same label are learned (0: all), within a window of
     * near_duplicate_window documents. */
    uint64_t near_duplicates, near_duplicate_window;
    double near_duplicate_similarity;
    char *parent; /* owned; name of the model whose counts are used, too (core/stack/blend.h);
                     NULL: none */
    uint64_t parent_strength; /* the parent weighs as much as so many documents at most */
    /* The weight of a document without a label (core/em/unlabelled.h), or NB_WEIGHT_AUTO. */
    double unlabelled_weight;
    int calibration; /* enum nb_calibration_method, for probabilities by the book */
    /* Owned; the calibration fitted on the model's documents, not set by users. NULL: none yet. */
    struct nb_calibration *fitted;
    struct nb_attribute *attributes; /* owned, with their names; fields in addition to the text */
    size_t attribute_count;
    int structure;              /* enum nb_structure: core/bayes/tree.h */
    int number;                 /* enum nb_number: core/bayes/numbers.h */
    uint64_t history;           /* verdicts to keep (core/writer/remember.h); 0: none */
    uint64_t history_days;      /* days to keep a verdict */
    bool history_subject;       /* keep Subject and From of a mail with its verdict */
    int new_fields;             /* enum nb_new_fields: what to do with fields not in `attributes` */
    char *mail_server;          /* owned; tokenizer/mail_values.h. NULL: none */
    uint32_t tokenizer_fields;  /* bits 1u << enum nb_field; fixed by the first document */
    uint32_t tokenizer_version; /* NB_TOKENIZER_VERSION of the counts; not a user's setting */
    bool is_challenger;         /* of another model (core/jobs/challenger); not a user's setting */
};

enum nb_setting_type {
    NB_SETTING_ENUM,       /* int; `names` lists the values in order, NULL-terminated */
    NB_SETTING_DOUBLE,     /* double in (exclusive_minimum ? > : >=) minimum .. maximum */
    NB_SETTING_COUNT,      /* uint64_t in minimum .. maximum */
    NB_SETTING_BOOL,       /* bool */
    NB_SETTING_PRIOR,      /* prior, weights, weight_count */
    NB_SETTING_SMOOTHING,  /* smoothing, smoothing_by */
    NB_SETTING_WEIGHT,     /* double in minimum .. maximum, or NB_WEIGHT_AUTO: "auto" */
    NB_SETTING_MODEL,      /* char *, owned: the name of a model; NULL: none */
    NB_SETTING_HOST,       /* char *, owned: the name of a host; NULL: none */
    NB_SETTING_ATTRIBUTES, /* attributes, attribute_count; `names` lists the kinds */
    NB_SETTING_THRESHOLDS, /* thresholds, threshold_count */
    NB_SETTING_FIELDS      /* the bits of a mask; `names[i]` names bit i (NULL: not settable) */
};

struct nb_setting {
    const char *name; /* JSON member */
    enum nb_setting_type type;
    size_t offset; /* into struct nb_settings */
    double minimum, maximum;
    bool exclusive_minimum;
    const char *const *names;
    const char *help; /* one sentence, with the source of the formula */
};

/* Returns all settings in the order in which they are listed, and sets *count. */
const struct nb_setting *nb_settings_table(size_t *count);

/* Returns the default token fields of a preset under a decision: a stacked text model also counts
 * the fields that only the stack reads; with several labels, those whose words are read.
 * nb_settings_init sets all defaults of a preset. */
uint32_t nb_settings_default_fields(enum nb_preset preset, enum nb_decision decision,
                                    enum nb_label_set_kind label_set);
void nb_settings_init(struct nb_settings *settings, enum nb_preset preset);
void nb_settings_deinit(struct nb_settings *settings);
int nb_settings_copy(struct nb_settings *to, const struct nb_settings *from);

/* What P(v) of a label with so many documents is proportional to, by its name: with NB_PRIOR_GIVEN
 * its weight, or the mean of all weights if it has none; with NB_PRIOR_DIRICHLET D_v + a_v, or with
 * the estimate `map` D_v + a_v - 1 (Murphy 2012, section 3.4). Above 0 if the label has a document.
 */
double nb_settings_label_weight(const struct nb_settings *settings, const char *label,
                                double documents);
/* The threshold of a label, borrowed; NULL: it has none. */
const struct nb_label_threshold *nb_settings_threshold(const struct nb_settings *settings,
                                                       const char *label);
/* Whether a threshold is not a number alone. */
static inline bool nb_settings_wish_thresholds(const struct nb_settings *s)
{
    return nb_label_thresholds_have(s->thresholds, s->threshold_count, NB_THRESHOLD_PRECISION) ||
           nb_label_thresholds_have(s->thresholds, s->threshold_count, NB_THRESHOLD_COSTS);
}
/* The parameter a_v of a label. Only with NB_PRIOR_DIRICHLET. */
double nb_settings_label_parameter(const struct nb_settings *settings, const char *label);

/* The attributes of a model, borrowed from its settings. */
static inline struct nb_attributes nb_settings_attributes(const struct nb_settings *settings)
{
    return (struct nb_attributes){settings->attributes, settings->attribute_count,
                                  settings->new_fields == NB_NEW_FIELDS_LEARN};
}

/* Appends an attribute; `name` is copied. Returns 0, or NB_NO_MEMORY with nothing changed. */
int nb_settings_add_attribute(struct nb_settings *settings, struct nb_string name, int kind);

/* Whether `settings` have all attributes of `old`, of the same kinds and in the same places. A
 * model that may have counted features needs this. */
bool nb_settings_keep_attributes(const struct nb_settings *settings, const struct nb_settings *old);

/* Checks every value against the table. Returns 0 or NB_UNUSABLE with the setting's name. */
int nb_settings_check(const struct nb_settings *settings, struct nb_error *error);

/* Whether min_count or skip_top leave words of the vocabulary out. Every word of the vocabulary
 * occurs at least once, so a min_count of 1 leaves out nothing. */
bool nb_settings_leave_words_out(const struct nb_settings *settings);
/* Returns a static string that describes the setting that keeps documents without a label out of
 * the counts (core/stack/blend.h); NULL: no setting does. With fields, scores come from a view of
 * the model's counts, by the same formulas as for a model with a parent
 * (core/stack/blend_fields.h). */
const char *nb_settings_bar_unlabelled(const struct nb_settings *settings);
static inline bool nb_weight_is_auto(double weight)
{
    return weight < 0;
}
/* Whether a document has any number of labels, not one. */
static inline bool nb_settings_are_several(const struct nb_settings *settings)
{
    return settings->label_set == NB_LABEL_SET_SEVERAL;
}
/* Whether every change of the counts makes scoring walk over the whole vocabulary once. */
bool nb_settings_walk_vocabulary(const struct nb_settings *settings);

/* A model keeps the version of the tokenizer that counted its first document. Call this for
 * new settings: `counted` are the model's present settings, NULL if it has counted no document
 * yet. */
void nb_settings_set_tokenizer(struct nb_settings *settings, const struct nb_settings *counted);
/* Checks that this program can continue the model: the version of its tokenizer is
 * NB_TOKENIZER_OLDEST or later. Returns 0 or NB_VERSION. */
int nb_settings_check_tokenizer(const struct nb_settings *settings, struct nb_error *error);

/* The stored form: names and values, including the fields. Settings that are not stored have the
 * default of the stored preset. Reading a name that this program does not know returns NB_VERSION,
 * with the name in *error, because it may change what the counts mean. */
int nb_settings_write(const struct nb_settings *settings, struct nb_buffer *out);
int nb_settings_read(struct nb_settings *settings, struct nb_string stored, struct nb_error *error);
/* Returns the parent from the beginning of stored settings, without reading the others. Borrowed.
 * Length 0: there is no parent, or the bytes are damaged. */
struct nb_string nb_settings_stored_parent(struct nb_string stored);

#endif
