/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_labels.h"

#include <math.h>
#include <string.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/filter/filter_mail.h"

/* ---- the lists ----------------------------------------------------------------------------------
 */

bool nb_filter_list_next(const char **list, struct nb_string *item)
{
    item->length = 0;
    while (**list != '\0' && item->length == 0) {
        size_t length = strcspn(*list, ",");
        *item = nb_string_trim((struct nb_string){*list, length});
        *list += length + ((*list)[length] == ',');
    }
    return item->length > 0;
}

static bool is_in(const char *list, struct nb_string label)
{
    struct nb_string item;
    while (nb_filter_list_next(&list, &item)) {
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

int nb_filter_check_labels(const struct nb_config *config, struct nb_error *error)
{
    const char *list = config->filter_spam_label;
    struct nb_string label, ham = nb_string_of(config->filter_ham_label);
    size_t count = 0;
    int rc = check_label("ham_label", ham, error);
    while (rc == 0 && nb_filter_list_next(&list, &label)) {
        count++;
        rc = check_label("spam_label", label, error);
        if (rc == 0 && is_in(list, label))
            rc = nb_error_set(error, NB_INVALID, "[filter] spam_label has '%.*s' twice",
                              (int)label.length, label.bytes);
    }
    if (rc != 0)
        return rc;
    if (count == 0 || count > NB_FILTER_LABELS)
        return nb_error_set(error, NB_INVALID, "[filter] spam_label must have 1 to %d labels",
                            NB_FILTER_LABELS);
    return is_in(config->filter_spam_label, ham)
               ? nb_error_set(error, NB_INVALID,
                              "[filter] spam_label and ham_label must be two labels")
               : 0;
}

bool nb_filter_is_spam(const struct nb_config *config, const char *label)
{
    return is_in(config->filter_spam_label, nb_string_of(label));
}

void nb_filter_learned_label(const struct nb_config *config, char label[NB_FILTER_LABEL])
{
    const char *list = config->filter_spam_label;
    struct nb_string first = {"", 0};
    (void)nb_filter_list_next(&list, &first); /* there is one, as checked */
    memcpy(label, first.bytes, first.length); /* of 64 bytes at most */
    label[first.length] = '\0';
}

/* ---- verdicts -----------------------------------------------------------------------------------
 */

/* The label of spam with the most documents; NULL when documents have none. */
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

/* Documents. */
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
