/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/winner.h"

#include <stdio.h>
#include <string.h>

#include "server/client/base/client_answer.h"
#include "server/client/terminal/terminal.h"

/* The figure by which evaluations are compared. The smaller value, multiplied by `sign`, is
 * better. */
struct criterion {
    const char *member, *title;
    double factor, sign;
};

static const struct criterion OF_POSITIVE = {"one_minus_roca_percent", "1 - area under ROC", 1, 1};
static const struct criterion OF_ALL = {"accuracy", "accuracy", 100, -1};

static const struct criterion *criterion_of(const struct nb_report *report)
{
    size_t labels = json_object_size(json_object_get(report->figures[0], "labels"));
    return labels > 2 && !report->is_named ? &OF_ALL : &OF_POSITIVE;
}

/* Returns below 0 when `a` is better than `b`. An undefined figure (null) counts as 0. */
static int compare(const struct criterion *criterion, const json_t *a, const json_t *b)
{
    const char *const members[] = {criterion->member, "log_loss"};
    const double signs[] = {criterion->sign, 1};
    for (size_t i = 0; i < 2; i++) {
        double difference = signs[i] * (json_number_value(json_object_get(a, members[i])) -
                                        json_number_value(json_object_get(b, members[i])));
        if (difference < 0 || difference > 0)
            return difference < 0 ? -1 : 1;
    }
    return 0;
}

size_t nb_winner_find(const struct nb_report *report)
{
    if (report->count < 2)
        return report->count;
    const struct criterion *criterion = criterion_of(report);
    size_t best = 0;
    for (size_t i = 1; i < report->count; i++)
        if (compare(criterion, report->figures[i], report->figures[best]) < 0)
            best = i;
    for (size_t i = 0; i < report->count; i++)
        if (i != best && compare(criterion, report->figures[i], report->figures[best]) == 0)
            return report->count;
    return best;
}

/* ---- the command ----------------------------------------------------------------------------- */

int nb_winner_quote(const char *word, struct nb_buffer *out)
{
    static const char PLAIN[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_=.,:/+-";
    if (*word != '\0' && word[strspn(word, PLAIN)] == '\0')
        return nb_buffer_puts(out, word);
    int rc = nb_buffer_puts(out, "'");
    for (; rc == 0 && *word != '\0'; word++)
        rc = *word == '\'' ? nb_buffer_puts(out, "'\\''") : nb_buffer_append(out, word, 1);
    return rc == 0 ? nb_buffer_puts(out, "'") : rc;
}

/* Appends settings that are separated by spaces, each preceded by `before`. A word without an
 * equals sign is the name of an evaluation without its own settings, and is left out. */
static int put_settings(const char *settings, const char *before, struct nb_buffer *out)
{
    struct nb_buffer word = {0};
    int rc = 0;
    while (rc == 0 && *(settings += strspn(settings, " ")) != '\0') {
        size_t length = strcspn(settings, " ");
        const char *setting = settings;
        settings += length;
        if (memchr(setting, '=', length) == NULL)
            continue;
        word.length = 0;
        rc = nb_buffer_append(&word, setting, length);
        if (rc == 0)
            rc = nb_buffer_append(&word, "", 1);
        if (rc == 0)
            rc = nb_buffer_puts(out, before);
        if (rc == 0)
            rc = nb_winner_quote(word.bytes, out);
    }
    nb_buffer_deinit(&word);
    return rc;
}

static int put_command(const struct nb_client *client, bool is_there, const char *own,
                       const struct nb_flag_list *common, struct nb_buffer *out)
{
    const char *before = is_there ? " " : " --set ";
    int rc = nb_buffer_puts(out, is_there ? "bayesc set " : "bayesc create ");
    if (rc == 0)
        rc = nb_winner_quote(client->model, out);
    for (size_t i = 0; rc == 0 && i < common->count; i++)
        rc = put_settings(common->items[i], before, out);
    if (rc == 0)
        rc = put_settings(own, before, out);
    return rc == 0 ? nb_buffer_append(out, "", 1) : rc;
}

static double value_of(const struct criterion *criterion, const json_t *figures)
{
    return criterion->factor * json_number_value(json_object_get(figures, criterion->member));
}

/* Prints the best evaluation and the second best. */
static void print_best(const struct nb_report *report, size_t best)
{
    const struct criterion *criterion = criterion_of(report);
    size_t next = best == 0;
    for (size_t i = 0; i < report->count; i++)
        if (i != best && compare(criterion, report->figures[i], report->figures[next]) < 0)
            next = i;
    double first = value_of(criterion, report->figures[best]);
    double second = value_of(criterion, report->figures[next]);
    bool is_equal = !(first < second) && !(first > second);
    (void)printf("\nbest by %s: %s, %.4f %%", criterion->title, nb_shown(report->names[best]).text,
                 first);
    (void)printf(" (next: %s, %.4f %%%s)\n", nb_shown(report->names[next]).text, second,
                 is_equal ? " with a higher log-loss" : "");
}

int nb_winner_print(const struct nb_client *client, const struct nb_report *report,
                    const struct nb_flag_list *common, struct nb_error *error)
{
    struct nb_buffer command = {0}, shown = {0};
    struct nb_error ignored;
    json_t *row = NULL;
    size_t best = nb_winner_find(report);
    if (report->count < 2)
        return 0;
    if (best == report->count) {
        (void)puts("\nno variant is better than all others");
        return 0;
    }
    print_best(report, best);
    /* If the daemon fails now, the model is assumed to exist. */
    bool is_there = nb_answer_get(client, "", &row, &ignored) != NB_NOT_FOUND;
    int rc = put_command(client, is_there, report->names[best], common, &command);
    if (rc == 0)
        nb_terminal_safe(command.bytes, SIZE_MAX, &shown);
    if (rc == 0)
        (void)printf("to use it: %s\n", shown.bytes != NULL ? shown.bytes : "");
    json_decref(row);
    nb_buffer_deinit(&shown);
    nb_buffer_deinit(&command);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}
