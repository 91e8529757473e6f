/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/base/string.h"
#include "core/engine/engine.h"

/* ---- the lists ------------------------------------------------------------------------------- */

/* Takes the next item off a list with commas, without the blanks around the item. Returns false
 * when none is left. Labels may have blanks inside. */
static bool filter_list_next(const char **list, struct nb_string *item)
{
    item->length = 0;
    while (**list != '\0' && item->length == 0) {
        size_t length = strcspn(*list, ",");
        *item = nb_string_trim((struct nb_string){*list, length});
        *list += length + ((*list)[length] == ',');
    }
    return item->length > 0;
}

struct nb_string nb_filter_without_angles(struct nb_string s)
{
    s = nb_string_trim(s);
    if (s.length >= 2 && s.bytes[0] == '<' && s.bytes[s.length - 1] == '>')
        s = (struct nb_string){s.bytes + 1, s.length - 2};
    return s;
}

static bool is_in(const char *list, struct nb_string label)
{
    struct nb_string item;
    while (filter_list_next(&list, &item)) {
        if (nb_string_same(item, label))
            return true;
    }
    return false;
}

static int check_label(const char *key, struct nb_string label, struct nb_error *error)
{
    struct nb_error why = {0};
    return nb_check_label(label, &why) == 0
               ? 0
               : nb_error_set(error, NB_INVALID, "[filter] %s: %s", key, why.text);
}

/* Checks that spam_labels is a list of 1 to NB_FILTER_LABELS different labels, and that ham_label
 * is a label that is not in the list. NB_INVALID: the message names the fault. */
static int filter_check_labels(const struct nb_config *config, struct nb_error *error)
{
    const char *list = config->filter_spam_labels;
    struct nb_string label, ham = nb_string_of(config->filter_ham_label);
    size_t count = 0;
    int rc = check_label("ham_label", ham, error);
    while (rc == 0 && filter_list_next(&list, &label)) {
        count++;
        rc = check_label("spam_labels", label, error);
        if (rc == 0 && is_in(list, label))
            rc = nb_error_set(error, NB_INVALID, "[filter] spam_labels has '%.*s' twice",
                              (int)label.length, label.bytes);
    }
    if (rc != 0)
        return rc;
    if (count == 0 || count > NB_FILTER_LABELS)
        return nb_error_set(error, NB_INVALID, "[filter] spam_labels must have 1 to %d labels",
                            NB_FILTER_LABELS);
    return is_in(config->filter_spam_labels, ham)
               ? nb_error_set(error, NB_INVALID,
                              "[filter] spam_labels and ham_label must be two labels")
               : 0;
}

bool nb_filter_is_spam(const struct nb_config *config, const char *label)
{
    return is_in(config->filter_spam_labels, nb_string_of(label));
}

void nb_filter_learned_label(const struct nb_config *config, char label[NB_FILTER_LABEL])
{
    const char *list = config->filter_spam_labels;
    struct nb_string first = {"", 0};
    (void)filter_list_next(&list, &first);    /* the list was checked: it has one */
    memcpy(label, first.bytes, first.length); /* at most 64 bytes */
    label[first.length] = '\0';
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Returns the label of spam with the most documents; NULL if the model has no label of spam. */
static const char *most_taught(const struct nb_config *config, const struct nb_verdict *verdict)
{
    size_t best = verdict->size;
    for (size_t i = 0; i < verdict->size; i++) {
        bool is_more = best == verdict->size || verdict->documents[i] > verdict->documents[best];
        if (is_more && nb_filter_is_spam(config, verdict->labels[i]))
            best = i;
    }
    return best < verdict->size ? verdict->labels[best] : NULL;
}

void nb_filter_need(const struct nb_config *config, struct nb_verdict *verdict)
{
    char first[NB_FILTER_LABEL];
    const char *spam = most_taught(config, verdict);
    nb_filter_learned_label(config, first);
    const char *const labels[] = {spam != NULL ? spam : first, config->filter_ham_label};
    nb_verdict_need(verdict, labels, 2);
}

/* Numbers of documents. */
struct parts {
    uint64_t spam, others;
};

static void add_labels(const struct nb_config *config, const struct nb_verdict *verdict,
                       struct nb_filter_spam *spam, struct parts *parts)
{
    double most = -1;
    *spam = (struct nb_filter_spam){.is_known = false};
    for (size_t i = 0; i < verdict->size; i++) {
        bool is_spam = nb_filter_is_spam(config, verdict->labels[i]);
        *(is_spam ? &parts->spam : &parts->others) += verdict->documents[i];
        if (!is_spam)
            continue;
        spam->count++;
        spam->probability += verdict->probabilities[i];
        if (verdict->probabilities[i] > most) {
            most = verdict->probabilities[i];
            spam->label = verdict->labels[i];
        }
    }
    spam->probability = fmin(spam->probability, 1);
}

static uint64_t documents_of(const struct nb_verdict *verdict, const char *label)
{
    size_t i = 0;
    while (strcmp(verdict->labels[i], label) != 0)
        i++;
    return verdict->documents[i];
}

int nb_filter_find_spam(const struct nb_config *config, struct nb_verdict *verdict,
                        struct nb_filter_spam *spam)
{
    struct parts parts = {0, 0};
    add_labels(config, verdict, spam, &parts);
    spam->is_known = spam->count > 0;
    spam->has_others = spam->is_known && parts.others > 0;
    if (!spam->is_known)
        return 0;
    const char *const alone[] = {most_taught(config, verdict), config->filter_ham_label};
    int rc = nb_verdict_against(verdict, alone, &spam->probability);
    if (rc == NB_NO_MEMORY)
        return rc;
    if (rc == 0)
        parts = (struct parts){documents_of(verdict, alone[0]), documents_of(verdict, alone[1])};
    if (spam->has_others)
        spam->probability = nb_caution(spam->probability, parts.spam, parts.others);
    return 0;
}

/* Log-odds that no probability reaches. */
static const double LOG_ODDS_OF_CERTAINTY = NB_FILTER_LOG_ODDS_MOST + 0.5;

double nb_filter_log_odds(double probability)
{
    if (probability <= 0)
        return -NB_FILTER_LOG_ODDS_MOST;
    if (probability >= 1)
        return NB_FILTER_LOG_ODDS_MOST;
    return fmax(-NB_FILTER_LOG_ODDS_MOST,
                fmin(NB_FILTER_LOG_ODDS_MOST, log(probability) - log1p(-probability)));
}

double nb_filter_log_odds_at(double threshold)
{
    return threshold < 1 ? nb_filter_log_odds(threshold) : LOG_ODDS_OF_CERTAINTY;
}

double nb_filter_score(double log_odds, double required, double threshold)
{
    return required * (log_odds / nb_filter_log_odds_at(threshold));
}

double nb_filter_shown_score(double log_odds, double required, double threshold, bool is_over,
                             unsigned digits)
{
    double scale = pow(10, digits);
    double score = round(nb_filter_score(log_odds, required, threshold) * scale) / scale;
    if (is_over)
        return fmax(score, required);
    /* The largest number with this many digits that is below `required`, even if `required` itself
     * is shown with this many digits. */
    return fmin(score, (floor(required * scale + 1e-6) - 1) / scale) + 0.0; /* no -0.0 */
}

/* Whether a probability reaches a threshold; the threshold 1 means never. */
static bool reaches(double probability, double threshold)
{
    return threshold < 1 && probability >= threshold;
}

enum nb_filter_action nb_filter_action_at(const struct nb_config *config, double probability)
{
    if (reaches(probability, config->filter_reject))
        return NB_FILTER_REJECT;
    if (reaches(probability, config->filter_rewrite_subject))
        return NB_FILTER_REWRITE_SUBJECT;
    return reaches(probability, config->filter_add_header) ? NB_FILTER_ADD_HEADER
                                                           : NB_FILTER_NO_ACTION;
}

const char *const nb_filter_action_names[NB_FILTER_ACTIONS] = {
    [NB_FILTER_NO_ACTION] = "no action",
    [NB_FILTER_ADD_HEADER] = "add header",
    [NB_FILTER_REWRITE_SUBJECT] = "rewrite subject",
    [NB_FILTER_REJECT] = "reject",
};

const char *nb_filter_action_name(enum nb_filter_action action)
{
    return nb_filter_action_names[action];
}

struct nb_label_action {
    struct nb_string label;
    enum nb_filter_action action;
};

/* Reads "LABEL=ACTION", an item of [filter] label_actions. A label may have an equals sign. */
static bool read_label_action(struct nb_string item, struct nb_label_action *row)
{
    const char *equals = memrchr(item.bytes, '=', item.length);
    if (equals == NULL)
        return false;
    size_t length = (size_t)(equals - item.bytes);
    struct nb_string name = nb_string_trim(nb_string_from(item, length + 1));
    row->label = nb_string_trim((struct nb_string){item.bytes, length});
    row->action = NB_FILTER_NO_ACTION;
    while (row->action < NB_FILTER_ACTIONS &&
           !nb_string_equals(name, nb_filter_action_names[row->action]))
        row->action++;
    return row->action < NB_FILTER_ACTIONS;
}

/* The action that [filter] label_actions gives to this label of spam, else `otherwise`. */
static enum nb_filter_action action_of_label(const struct nb_config *config, const char *label,
                                             enum nb_filter_action otherwise)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (filter_list_next(&list, &item)) {
        struct nb_label_action row;
        if (read_label_action(item, &row) && nb_string_equals(row.label, label))
            return row.action;
    }
    return otherwise;
}

enum nb_filter_action nb_filter_action_of(const struct nb_config *config,
                                          const struct nb_filter_spam *spam)
{
    enum nb_filter_action action = nb_filter_action_at(config, spam->probability);
    return action == NB_FILTER_NO_ACTION ? action : action_of_label(config, spam->label, action);
}

/* Checks that [filter] label_actions can be read and names only labels of spam. NB_INVALID: the
 * message names the fault. */
static int filter_check_label_actions(const struct nb_config *config, struct nb_error *error)
{
    const char *list = config->filter_label_actions;
    struct nb_string item;
    while (filter_list_next(&list, &item)) {
        struct nb_label_action row;
        char label[NB_FILTER_LABEL];
        if (!read_label_action(item, &row))
            return nb_error_set(error, NB_INVALID,
                                "[filter] label_actions: '%.*s' is not LABEL=ACTION; the actions "
                                "are no action, add header, rewrite subject and reject",
                                (int)(item.length < 100 ? item.length : 100), item.bytes);
        (void)snprintf(label, sizeof label, "%.*s", (int)row.label.length, row.label.bytes);
        if (row.label.length >= sizeof label || !nb_filter_is_spam(config, label))
            return nb_error_set(
                error, NB_INVALID, "[filter] label_actions: '%.*s' is none of spam_labels",
                (int)(row.label.length < 100 ? row.label.length : 100), row.label.bytes);
    }
    return 0;
}

/* Makes the name of a model: `format` with `value`, in lower case, in place of `mark`. */
static int put_name(const char *format, const char *mark, struct nb_string value,
                    const char *option, char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *place = strstr(format, mark);
    size_t before = (size_t)(place - format);
    /* Room for one byte more than a name may have, so that a name that is too long is noticed. */
    char name[NB_FILTER_MODEL + 1];
    int length = snprintf(name, sizeof name, "%.*s%.*s%s", (int)before, format,
                          (int)(value.length < sizeof name ? value.length : sizeof name),
                          value.bytes, place + strlen(mark));
    for (size_t i = before; i < before + value.length && i < sizeof name; i++)
        name[i] = nb_ascii_lower(name[i]);
    if (nb_check_model_name((struct nb_string){name, strlen(name)}, error) != 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "the user's address makes no name of a model ([filter] %s)", option);
    memcpy(model, name, (size_t)length + 1);
    return 0;
}

int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_model;
    user = nb_filter_without_angles(user);
    if (strstr(format, "%u") == NULL || user.length == 0) {
        (void)snprintf(model, NB_FILTER_MODEL, "%s", config->filter_model); /* at most 128 bytes */
        return 0;
    }
    return put_name(format, "%u", user, "user_model", model, error);
}

int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_parent;
    user = nb_filter_without_angles(user);
    const char *at = user.length > 0 ? memrchr(user.bytes, '@', user.length) : NULL;
    bool has_domain = at != NULL && at + 1 < user.bytes + user.length;
    if (strstr(format, "%d") == NULL || !has_domain) {
        bool is_common = strstr(format, "%d") != NULL;
        (void)snprintf(model, NB_FILTER_MODEL, "%s", is_common ? config->filter_model : format);
        return nb_check_model_name(nb_string_of(model), error);
    }
    struct nb_string domain = nb_string_from(user, (size_t)(at + 1 - user.bytes));
    return put_name(format, "%d", domain, "user_parent", model, error);
}

int nb_filter_check_config(const struct nb_config *config, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    struct nb_error why = {0};
    if (nb_check_model_name(nb_string_of(config->filter_model), &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] model: %s", why.text);
    int rc = filter_check_labels(config, error);
    if (rc == 0)
        rc = filter_check_label_actions(config, error);
    if (rc != 0)
        return rc;
    if (config->filter_add_header <= 0.5 || config->filter_reject <= 0.5)
        return nb_error_set(error, NB_INVALID,
                            "[filter] add_header and reject must be above 0.5, where scores are 0");
    if (config->filter_unsure > config->filter_add_header)
        return nb_error_set(error, NB_INVALID,
                            "[filter] unsure is the lower end of a band that ends at add_header; "
                            "it must not be above it");
    if (config->filter_user_parent[0] != '\0' &&
        nb_filter_parent(config, (struct nb_string){"user@example.org", 16}, model, &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] user_parent: %s", why.text);
    if (config->filter_user_model[0] == '\0')
        return 0;
    if (strstr(config->filter_user_model, "%u") == NULL)
        return nb_error_set(error, NB_INVALID,
                            "[filter] user_model must hold %%u, where the user's address goes");
    return nb_filter_model(config, (struct nb_string){"user@example.org", 16}, model, error);
}
