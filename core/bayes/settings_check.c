/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the values of settings against the table.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>

#include "core/bayes/settings_private.h"
#include "core/counts/pairs.h"

static int check_enum(const struct nb_setting *s, int value, struct nb_error *error)
{
    if (value >= 0 && value < nb_setting_names(s->names))
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

/* Checks a list of numbers by label. */
static int check_labels(const struct nb_setting *s, const struct nb_prior_weight *list,
                        size_t count, struct nb_error *error)
{
    if (count == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must name at least one label", s->name);
    for (size_t i = 0; i < count; i++) {
        char what[128];
        (void)snprintf(what, sizeof what, "%s of \"%.64s\"", s->name, list[i].label);
        int rc = check_number(s, what, list[i].weight, error);
        if (rc != 0)
            return rc;
        if (i > 0 && strcmp(list[i - 1].label, list[i].label) >= 0)
            return nb_error_set(error, NB_UNUSABLE, "%s must name each label once, in order (%s)",
                                s->name, list[i].label);
    }
    return 0;
}

/* Checks a number of a threshold; `member` names it where it is not the threshold itself. */
static int check_threshold(const struct nb_setting *s, const char *label, const char *member,
                           double value, struct nb_error *error)
{
    char what[128];
    (void)snprintf(what, sizeof what, "%s of \"%.64s\"%s", s->name, label, member);
    return check_number(s, what, value, error);
}

static int check_thresholds(const struct nb_setting *s, const struct nb_settings *settings,
                            struct nb_error *error)
{
    const struct nb_label_threshold *list = settings->thresholds;
    struct nb_setting cost = *s;
    int rc = 0;
    cost.maximum = 1e6;
    for (size_t i = 0; rc == 0 && i < settings->threshold_count; i++) {
        const char *label = list[i].label;
        if (list[i].kind == NB_THRESHOLD_COSTS) {
            rc = check_threshold(&cost, label, ": cost_fp", list[i].cost_fp, error);
            if (rc == 0)
                rc = check_threshold(&cost, label, ": cost_fn", list[i].cost_fn, error);
        } else {
            bool is_wish = list[i].kind == NB_THRESHOLD_PRECISION;
            rc = check_threshold(s, label, is_wish ? ": precision" : "", list[i].number, error);
            if (rc == 0 && is_wish && list[i].number >= 1) /* no number of documents shows it */
                rc = nb_error_set(error, NB_UNUSABLE, "%s of \"%.64s\": precision must be below 1",
                                  s->name, label);
        }
        if (rc == 0 && i > 0 && strcmp(list[i - 1].label, label) >= 0)
            rc = nb_error_set(error, NB_UNUSABLE, "%s must name each label once, in order (%s)",
                              s->name, label);
    }
    return rc;
}

static int check_prior(const struct nb_setting *s, const struct nb_settings *settings,
                       struct nb_error *error)
{
    int rc = check_enum(s, settings->prior, error);
    if (rc != 0)
        return rc;
    if (settings->prior == NB_PRIOR_DIRICHLET) {
        rc = check_number(s, "prior: \"default\"", settings->prior_default, error);
        return rc != 0 || settings->weight_count == 0
                   ? rc
                   : check_labels(s, settings->weights, settings->weight_count, error);
    }
    if (settings->prior != NB_PRIOR_GIVEN) {
        if (settings->weight_count == 0)
            return 0;
        return nb_error_set(error, NB_UNUSABLE, "%s has weights, but is %s", s->name,
                            s->names[settings->prior]);
    }
    return check_labels(s, settings->weights, settings->weight_count, error);
}

/* Checks the numbers of a field's values. */
static int check_field_values(const struct nb_setting *s, const struct nb_field_smoothing *field,
                              struct nb_error *error)
{
    if (field->count == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s of \"%s\" must name at least one value",
                            s->name, field->field);
    for (size_t i = 0; i < field->count; i++) {
        const struct nb_prior_weight *value = &field->values[i];
        char what[128];
        (void)snprintf(what, sizeof what, "%s of \"%.32s=%.32s\"", s->name, field->field,
                       value->label);
        int rc = check_number(s, what, value->weight, error);
        if (rc != 0)
            return rc;
        const struct nb_value_labels *by = field->labels != NULL ? &field->labels[i] : NULL;
        if (by != NULL && by->count > 0)
            rc = check_labels(s, by->list, by->count, error);
        if (rc != 0)
            return rc;
        if (strlen(value->label) > NB_CATEGORY_MOST)
            return nb_error_set(error, NB_UNUSABLE, "%s: a value is longer than %d bytes", what,
                                NB_CATEGORY_MOST);
        if (i > 0 && strcmp(field->values[i - 1].label, value->label) >= 0)
            return nb_error_set(error, NB_UNUSABLE, "%s must name each value once, in order",
                                s->name);
    }
    return 0;
}

/* Checks the fields whose values have numbers: only categories and sets have a finite list of
 * values. */
static int check_values(const struct nb_setting *s, const struct nb_settings *settings,
                        struct nb_error *error)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    if (by->field_count == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must name at least one field", s->name);
    for (size_t i = 0; i < by->field_count; i++) {
        const char *name = by->fields[i].field;
        size_t number = nb_attribute_find(nb_settings_attributes(settings), nb_string_of(name));
        if (number == settings->attribute_count)
            return nb_error_set(error, NB_UNUSABLE, "%s: the model has no field \"%s\" (`fields`)",
                                s->name, name);
        int kind = settings->attributes[number].kind;
        if (kind != NB_FIELD_KIND_CATEGORY && kind != NB_FIELD_KIND_SET)
            return nb_error_set(error, NB_UNUSABLE,
                                "%s: \"%s\" is a %s: only values of a category or a set can have "
                                "numbers of their own",
                                s->name, name, nb_field_kind_names[kind]);
        if (i > 0 && strcmp(by->fields[i - 1].field, name) >= 0)
            return nb_error_set(error, NB_UNUSABLE, "%s must name each field once, in order (%s)",
                                s->name, name);
        int rc = check_field_values(s, &by->fields[i], error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int check_smoothing(const struct nb_setting *s, const struct nb_settings *settings,
                           struct nb_error *error)
{
    const struct nb_smoothing *by = &settings->smoothing_by;
    int rc = check_number(s, s->name, settings->smoothing, error);
    if (by->kind == NB_SMOOTHING_LABELS)
        return rc == 0 ? check_labels(s, by->labels, by->label_count, error) : rc;
    if (rc == 0 && by->label_count != 0)
        return nb_error_set(error, NB_UNUSABLE, "%s has labels, but is not by label", s->name);
    if (rc == 0 && by->kind == NB_SMOOTHING_BETA)
        return check_number(s, "smoothing: beta", by->beta, error);
    if (rc == 0 && by->kind == NB_SMOOTHING_VALUES)
        return check_values(s, settings, error);
    if (rc == 0 && by->field_count != 0)
        return nb_error_set(error, NB_UNUSABLE, "%s has values, but is not by value", s->name);
    assert(by->kind >= NB_SMOOTHING_ONE && by->kind <= NB_SMOOTHING_VALUES);
    assert(by->p >= NB_SMOOTHING_UNIFORM && by->p <= NB_SMOOTHING_PARENT);
    return rc;
}

static int check_mask(const struct nb_setting *s, uint32_t mask, struct nb_error *error)
{
    assert(nb_setting_names(s->names) < 32);
    uint32_t known = (1u << nb_setting_names(s->names)) - 1;
    if ((mask & ~known) != 0)
        return nb_error_set(error, NB_UNUSABLE, "%s has a field that does not exist", s->name);
    if (mask == 0)
        return nb_error_set(error, NB_UNUSABLE, "%s must count at least one field", s->name);
    return 0;
}

static int check_host(const struct nb_setting *s, const char *name, struct nb_error *error)
{
    size_t length = name != NULL ? strlen(name) : 0;
    bool is_good = name == NULL || length > 0;
    for (size_t i = 0; i < length; i++)
        is_good = is_good && name[i] > ' ' && name[i] < 0x7F && strchr("();=\"", name[i]) == NULL;
    if (is_good && (double)length <= s->maximum)
        return 0;
    return nb_error_set(error, NB_UNUSABLE, "%s is the name of a host, of at most %.0f bytes",
                        s->name, s->maximum);
}

static int check_attributes(const struct nb_setting *s, const struct nb_settings *settings,
                            struct nb_error *error)
{
    const struct nb_attributes all = nb_settings_attributes(settings);
    if (all.count > NB_ATTRIBUTES_MOST)
        return nb_error_set(error, NB_UNUSABLE, "%s must be at most %d", s->name,
                            NB_ATTRIBUTES_MOST);
    for (size_t i = 0; i < all.count; i++) {
        struct nb_string name = nb_string_of(all.list[i].name);
        if (!nb_attribute_name_is_good(name))
            return nb_error_set(error, NB_UNUSABLE,
                                "%s: a name is 1 to %d bytes of UTF-8 without control characters, "
                                "'=' and ':'",
                                s->name, NB_ATTRIBUTE_NAME_MOST);
        if (nb_attribute_find(all, name) != i)
            return nb_error_set(error, NB_UNUSABLE, "%s must name each field once (%s)", s->name,
                                all.list[i].name);
        int rc = check_enum(s, all.list[i].kind, error);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int check_one(const struct nb_setting *s, const struct nb_settings *settings,
                     struct nb_error *error)
{
    switch (s->type) {
    case NB_SETTING_ENUM:
        return check_enum(s, nb_setting_get_int(settings, s), error);
    case NB_SETTING_DOUBLE:
        return check_number(s, s->name, nb_setting_get_double(settings, s), error);
    case NB_SETTING_WEIGHT:
        return nb_weight_is_auto(nb_setting_get_double(settings, s))
                   ? 0
                   : check_number(s, s->name, nb_setting_get_double(settings, s), error);
    case NB_SETTING_COUNT: /* a count that a double cannot hold exactly exceeds all bounds */
        return check_number(s, s->name, (double)nb_setting_get_count(settings, s), error);
    case NB_SETTING_BOOL:
    case NB_SETTING_MODEL: /* the name is checked where models are known: nb_parents_check */
        return 0;
    case NB_SETTING_HOST:
        return check_host(s, nb_setting_get_name(settings, s), error);
    case NB_SETTING_PRIOR:
        return check_prior(s, settings, error);
    case NB_SETTING_THRESHOLDS:
        return check_thresholds(s, settings, error);
    case NB_SETTING_SMOOTHING:
        return check_smoothing(s, settings, error);
    case NB_SETTING_ATTRIBUTES:
        return check_attributes(s, settings, error);
    case NB_SETTING_FIELDS:
        return check_mask(s, nb_setting_get_mask(settings, s), error);
    }
    return nb_error_set(error, NB_UNUSABLE, "%s is of no known type", s->name);
}

/* ---- incompatible settings ------------------------------------------------------------------- */

/* The least of all numbers of a smoothing, and the label or value that has it ("": all). */
struct least {
    double number;
    const char *name;
};

static void note_least(struct least *least, const struct nb_prior_weight *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].weight < least->number)
            *least = (struct least){list[i].weight, list[i].label};
}

static struct least least_smoothing(const struct nb_settings *s)
{
    const struct nb_smoothing *by = &s->smoothing_by;
    struct least least = {s->smoothing, ""};
    if (by->kind == NB_SMOOTHING_BETA && by->beta < least.number)
        least.number = by->beta;
    if (by->kind == NB_SMOOTHING_LABELS)
        least.number = INFINITY;
    note_least(&least, by->labels, by->label_count);
    for (size_t i = 0; i < by->field_count; i++) {
        note_least(&least, by->fields[i].values, by->fields[i].count);
        for (size_t v = 0; by->fields[i].labels != NULL && v < by->fields[i].count; v++)
            note_least(&least, by->fields[i].labels[v].list, by->fields[i].labels[v].count);
    }
    return least;
}

/* Whether an attribute is a text. In other attributes a value is drawn once, and integrating the
 * estimate out gives the mean as its likelihood. */
static bool has_text_field(const struct nb_settings *s)
{
    struct nb_attributes attributes = nb_settings_attributes(s);
    bool has = false;
    for (size_t i = 0; i < attributes.count; i++)
        has = has || attributes.list[i].kind == NB_FIELD_KIND_TEXT;
    return has;
}

static int check_predict(const struct nb_settings *s, struct nb_error *error)
{
    if (s->predict == NB_PREDICT_ESTIMATE)
        return 0;
    if (s->event_model != NB_EVENT_MULTINOMIAL)
        return nb_error_set(error, NB_UNUSABLE,
                            "predict: \"integrate\" is for event_model \"multinomial\" alone");
    if (s->estimate != NB_ESTIMATE_MEAN)
        return nb_error_set(
            error, NB_UNUSABLE,
            "predict: \"integrate\" is over the whole posterior: estimate, which it "
            "does not use, must be \"mean\"");
    if (s->parent != NULL)
        return nb_error_set(error, NB_UNUSABLE,
                            "predict: a model with a parent cannot have \"integrate\"");
    if (has_text_field(s))
        return nb_error_set(error, NB_UNUSABLE,
                            "predict: a model with fields of kind \"text\" cannot have "
                            "\"integrate\"");
    return 0;
}

/* Checks the m-estimate whose p comes from the parent. */
static int check_parent_share(const struct nb_settings *s, struct nb_error *error)
{
    if (s->parent == NULL)
        return nb_error_set(error, NB_UNUSABLE,
                            "smoothing: p \"parent\" is of a model that has one (`parent`)");
    if (s->decision != NB_DECISION_BAYES)
        return nb_error_set(error, NB_UNUSABLE,
                            "smoothing: p \"parent\" needs \"decision\": \"bayes\" (as in the "
                            "preset \"book\")");
    return 0;
}

/* Checks that the kind of smoothing is compatible with the other settings. */
static int check_kind(const struct nb_settings *s, struct nb_error *error)
{
    int kind = s->smoothing_by.kind;
    if (kind == NB_SMOOTHING_ONE)
        return 0;
    if (s->estimate == NB_ESTIMATE_MLE)
        return nb_error_set(
            error, NB_UNUSABLE,
            "estimate: \"mle\" has no prior: smoothing, which it does not use, must "
            "be one number");
    if (s->estimate == NB_ESTIMATE_MAP && kind == NB_SMOOTHING_M)
        return nb_error_set(error, NB_UNUSABLE,
                            "estimate: the m-estimate of smoothing is a \"mean\"");
    if (kind == NB_SMOOTHING_BETA && s->event_model != NB_EVENT_BERNOULLI)
        return nb_error_set(error, NB_UNUSABLE,
                            "smoothing: alpha and beta are of a word's presence, with event_model "
                            "\"bernoulli\" alone");
    if (nb_smoothing_is_of_parent(&s->smoothing_by))
        return check_parent_share(s, error);
    if (s->parent != NULL)
        return nb_error_set(error, NB_UNUSABLE,
                            "smoothing: a model with a parent must have one number, or an "
                            "m-estimate with p \"parent\"");
    return 0;
}

static int check_structure(const struct nb_settings *s, struct nb_error *error)
{
    size_t categories = 0;
    bool has_bins = s->number != NB_NUMBER_GAUSSIAN;
    for (size_t i = 0; i < s->attribute_count; i++)
        categories += s->attributes[i].kind == NB_FIELD_KIND_CATEGORY ||
                      (has_bins && s->attributes[i].kind == NB_FIELD_KIND_NUMBER);
    if (s->structure == NB_STRUCTURE_NAIVE)
        return 0;
    if (s->decision == NB_DECISION_STACKED || s->event_model == NB_EVENT_COMPLEMENT)
        return nb_error_set(error, NB_UNUSABLE,
                            "structure: \"tan\" needs \"decision\": \"bayes\" (as in the preset "
                            "\"book\") and another event_model than \"complement\"");
    if (categories > NB_PAIR_FIELDS_MOST)
        return nb_error_set(
            error, NB_UNUSABLE,
            "structure: \"tan\" is for at most %d fields of the kind category, or number "
            "if these are cut into bins",
            NB_PAIR_FIELDS_MOST);
    return 0;
}

/* Checks the parameters of the labels' prior: the mode counts each less 1, which is below 0 for a
 * label without a document. */
static int check_label_parameters(const struct nb_settings *s, struct nb_error *error)
{
    if (s->prior != NB_PRIOR_DIRICHLET || s->estimate == NB_ESTIMATE_MEAN)
        return 0;
    if (s->estimate == NB_ESTIMATE_MLE)
        return nb_error_set(error, NB_UNUSABLE,
                            "estimate: \"mle\" has no prior: prior, which it does not use, must "
                            "not be \"dirichlet\"");
    for (size_t i = 0; i < s->weight_count; i++)
        if (s->weights[i].weight < 1)
            return nb_error_set(error, NB_UNUSABLE,
                                "estimate: \"map\" needs a prior of at least 1 for each label, "
                                "because the mode counts 1 less: \"%.64s\" has %.15g",
                                s->weights[i].label, s->weights[i].weight);
    if (s->prior_default < 1)
        return nb_error_set(error, NB_UNUSABLE,
                            "estimate: \"map\" needs a prior of at least 1 for each label, "
                            "because the mode counts 1 less: \"default\" is %.15g",
                            s->prior_default);
    return 0;
}

static int check_estimate(const struct nb_settings *s, struct nb_error *error)
{
    bool is_mode = s->estimate == NB_ESTIMATE_MAP;
    struct least least = least_smoothing(s);
    int rc = check_kind(s, error);
    if (rc == 0)
        rc = check_predict(s, error);
    if (rc == 0)
        rc = check_label_parameters(s, error);
    if (rc != 0)
        return rc;
    if (is_mode && least.number < 1)
        return nb_error_set(error, NB_UNUSABLE,
                            "estimate: \"map\" needs a smoothing of at least 1, because with less "
                            "the posterior has no mode inside its range%s%.64s%s",
                            *least.name != '\0' ? ": \"" : "", least.name,
                            *least.name != '\0' ? "\"" : "");
    bool may_be_zero = s->estimate == NB_ESTIMATE_MLE || (is_mode && least.number <= 1);
    if (may_be_zero && s->event_model == NB_EVENT_COMPLEMENT)
        return nb_error_set(error, NB_UNUSABLE,
                            "estimate: with event_model \"complement\" no estimate may be 0, "
                            "because the score divides by it: use \"mean\", or \"map\" with a "
                            "smoothing above 1");
    return 0;
}

static int check_calibration(const struct nb_settings *s, struct nb_error *error)
{
    assert(s->fitted == NULL || s->fitted->method == s->calibration);
    if (s->calibration == NB_CALIBRATION_NONE)
        return 0;
    if (s->decision != NB_DECISION_BAYES)
        return nb_error_set(error, NB_UNUSABLE,
                            "calibration needs \"decision\": \"bayes\" (as in the preset "
                            "\"book\"): the stacked decision is calibrated, and its "
                            "probabilities are used as they are");
    if (s->parent != NULL)
        return nb_error_set(
            error, NB_UNUSABLE,
            "calibration: a model with a parent has none, because its scores change "
            "with the parent's documents: calibrate a model without one, or use "
            "\"decision\": \"stacked\", which is calibrated");
    return 0;
}

static int check_unlabelled(const struct nb_settings *s, struct nb_error *error)
{
    const char *bar = nb_settings_bar_unlabelled(s);
    if (!(s->unlabelled_weight > 0) || bar == NULL)
        return 0;
    return nb_error_set(error, NB_UNUSABLE,
                        "unlabelled_weight: a number above 0 does not go together with %s", bar);
}

/* Checks that nothing is set that has no meaning when a document has several labels. */
static int check_label_set(const struct nb_settings *s, struct nb_error *error)
{
    const struct {
        bool is_set;
        const char *what;
    } bars[] = {
        {s->parent != NULL, "parent"},
        {s->attribute_count > 0, "fields"},
        {s->new_fields != NB_NEW_FIELDS_REFUSE, "new_fields"},
        {s->event_model != NB_EVENT_MULTINOMIAL, "event_model other than \"multinomial\""},
        {s->estimate != NB_ESTIMATE_MEAN, "estimate other than \"mean\""},
        {s->predict != NB_PREDICT_ESTIMATE, "predict other than \"estimate\""},
        {s->smoothing_by.kind != NB_SMOOTHING_ONE, "smoothing other than one number"},
        {s->prior != NB_PRIOR_EMPIRICAL, "prior other than \"empirical\""},
        {nb_settings_leave_words_out(s), "min_count above 1 or skip_top"},
        {s->structure != NB_STRUCTURE_NAIVE, "structure other than \"naive\""},
        {s->calibration != NB_CALIBRATION_NONE, "calibration"},
        {s->min_known > 0, "min_known"},
        {s->unsure_band > 0, "unsure_band"},
        {s->history > 0, "history"},
        {nb_settings_wish_thresholds(s),
         "a precision or costs in thresholds, which `optimize` is for"},
    };
    for (size_t i = 0; nb_settings_are_several(s) && i < sizeof bars / sizeof *bars; i++)
        if (bars[i].is_set)
            return nb_error_about(error,
                                  nb_error_set(error, NB_UNUSABLE,
                                               "label_set: \"several\" does not go together with "
                                               "%s",
                                               bars[i].what),
                                  NULL, "label_set");
    return 0;
}

int nb_settings_check(const struct nb_settings *settings, struct nb_error *error)
{
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    for (size_t i = 0; i < count; i++) {
        int rc = check_one(&table[i], settings, error);
        if (rc != 0)
            return nb_error_about(error, rc, NULL, table[i].name);
    }
    int rc = check_structure(settings, error);
    if (rc == 0)
        rc = check_label_set(settings, error);
    if (rc == 0)
        rc = check_estimate(settings, error);
    if (rc == 0)
        rc = check_unlabelled(settings, error);
    return rc == 0 ? check_calibration(settings, error) : rc;
}
