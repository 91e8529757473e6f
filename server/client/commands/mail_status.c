/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/mail_status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/mail/filter_options.h"

/* The thresholds if none are given and the model has few documents. */
static const double SPAM_FROM = 0.9, HAM_TO = 0.5;

/* The most documents of a label, so that the sum over all labels does not overflow. */
static const json_int_t DOCUMENTS_MOST = (json_int_t)1 << 40;

/* Returns the most probable label except the positive one and sets *most to its probability; "" if
 * there is no other label. */
static const char *best_other(json_t *probabilities, const char *positive, double *most)
{
    const char *name, *best = "";
    const json_t *value;
    *most = 0;
    json_object_foreach(probabilities, name, value)
    {
        if (strcmp(name, positive) == 0 || (*best != '\0' && json_number_value(value) <= *most))
            continue;
        best = name;
        *most = json_number_value(value);
    }
    return best;
}

/* Moderates *of_positive by the numbers of documents in the verdict
 * (server/mail/filter_options.h). Returns false, with nothing changed, if the model has no
 * documents of the positive label, or none of the others. */
static bool take_care(const json_t *documents, const char *positive, double *of_positive)
{
    const char *name;
    const json_t *value;
    json_int_t own = 0, others = 0;
    json_object_foreach((json_t *)(uintptr_t)documents, name, value)
    {
        json_int_t count = json_integer_value(value);
        if (count < 0 || count > DOCUMENTS_MOST)
            return false;
        *(strcmp(name, positive) == 0 ? &own : &others) += count;
    }
    if (own == 0 || others == 0)
        return false;
    *of_positive = nb_caution(*of_positive, (uint64_t)own, (uint64_t)others);
    return true;
}

int nb_status_judge(const struct nb_status_thresholds *thresholds, const json_t *verdict,
                    struct nb_filter_status *status)
{
    json_t *probabilities = json_object_get(verdict, "probabilities");
    const char *label = json_string_value(json_object_get(verdict, "label"));
    const char *positive = thresholds->positive;
    double other;
    const char *best = best_other(probabilities, positive, &other);
    *status = (struct nb_filter_status){.note = ""};
    status->of_spam = json_number_value(json_object_get(probabilities, positive));
    bool is_ready = json_is_true(json_object_get(verdict, "ready"));
    double said = status->of_spam;
    bool takes_care = take_care(json_object_get(verdict, "documents"), positive, &status->of_spam);
    double spam_from = thresholds->spam_from, ham_to = thresholds->ham_to;
    if (takes_care && !is_ready) {
        spam_from = spam_from < 0 ? SPAM_FROM : spam_from;
        ham_to = ham_to < 0 ? HAM_TO : ham_to;
    }
    other += said - status->of_spam; /* the moderation moves this share from spam to the others */
    status->is_spam =
        spam_from >= 0 ? status->of_spam >= spam_from
                       : label != NULL && strcmp(label, positive) == 0 && status->of_spam >= other;
    status->is_unsure = !status->is_spam && ham_to >= 0 && status->of_spam > ham_to;
    if (!is_ready && !takes_care) {
        status->is_spam = false;
        status->is_unsure = true;
        status->note = ", too little learned";
    }
    const char *evidence = json_string_value(json_object_get(verdict, "evidence"));
    if (evidence != NULL && strcmp(evidence, "none") == 0 && !status->is_unsure) {
        status->is_spam = false;
        status->is_unsure = true;
        status->note = ", no known token";
    }
    bool is_other = !status->is_spam && !status->is_unsure;
    (void)snprintf(status->name, sizeof status->name, "%s",
                   status->is_unsure ? "unsure"
                   : status->is_spam ? positive
                                     : best);
    status->probability = is_other ? other : status->of_spam;
    return nb_utf8_has_control(nb_string_of(status->name)) ? NB_INVALID : 0;
}

void nb_status_unknown(struct nb_filter_status *status)
{
    *status = (struct nb_filter_status){.name = "unsure",
                                        .probability = 0.5,
                                        .of_spam = 0.5,
                                        .is_unsure = true,
                                        .note = ", nothing learned"};
}

/* ---- fields ---------------------------------------------------------------------------------- */

_Static_assert(NB_FIELDS_MOST >= 2 * NB_FLAG_LIST_MOST + 1,
               "two lists of templates and the status");

/* ---- checks ---------------------------------------------------------------------------------- */

/* Returns the length of the field name that begins `text` (RFC 5322, section 3.6.8). */
static size_t name_length(const char *text)
{
    size_t length = 0;
    while (text[length] > 32 && text[length] < 127 && text[length] != ':')
        length++;
    return length;
}

static int add_name(const char *text, char behind, struct nb_fields *fields, struct nb_error *error)
{
    size_t length = name_length(text);
    if (length == 0 || text[length] != behind || strpbrk(text, "\r\n") != NULL)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            behind == ':' ? "'%.100s' is not a header of the form NAME: TEXT"
                                          : "'%.100s' is not the name of a header",
                            text);
    fields->names[fields->name_count++] = (struct nb_string){text, length};
    return 0;
}

int nb_status_fields_check(const struct nb_status_fields *wanted, struct nb_fields *fields,
                           struct nb_error *error)
{
    int rc = add_name(wanted->name, '\0', fields, error);
    for (size_t i = 0; i < wanted->all.count && rc == 0; i++)
        rc = add_name(wanted->all.items[i], ':', fields, error);
    for (size_t i = 0; i < wanted->spam.count && rc == 0; i++)
        rc = add_name(wanted->spam.items[i], ':', fields, error);
    return rc;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Appends the expansion of %LETTER; any other character stands for itself, as in %%. */
static int expand(char letter, const char *model, const struct nb_filter_status *status,
                  struct nb_buffer *out)
{
    switch (letter) {
    case 's':
        return nb_buffer_puts(out, status->name);
    case 'p':
        return nb_buffer_printf(out, "%.4f", status->probability);
    case 'P':
        return nb_buffer_printf(out, "%.4f", status->of_spam);
    case 'm':
        return nb_buffer_puts(out, model);
    case 'y':
        return nb_buffer_puts(out, status->is_spam ? "YES" : "NO");
    default:
        return nb_buffer_append(out, &letter, 1);
    }
}

static int write_template(const char *text, const char *model,
                          const struct nb_filter_status *status, struct nb_buffer *out)
{
    int rc = 0;
    for (const char *p = text; *p != '\0' && rc == 0; p++) {
        if (*p == '%' && p[1] != '\0')
            rc = expand(*++p, model, status, out);
        else
            rc = nb_buffer_append(out, p, 1);
    }
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

int nb_status_fields_write(const struct nb_status_fields *wanted, const char *model,
                           const struct nb_filter_status *status, struct nb_buffer *out)
{
    int rc = nb_buffer_printf(out, "%s: %s, probability=%.4f, model=%s%s\n", wanted->name,
                              status->name, status->probability, model, status->note);
    for (size_t i = 0; i < wanted->all.count && rc == 0; i++)
        rc = write_template(wanted->all.items[i], model, status, out);
    for (size_t i = 0; i < wanted->spam.count && rc == 0 && status->is_spam; i++)
        rc = write_template(wanted->spam.items[i], model, status, out);
    return rc;
}
