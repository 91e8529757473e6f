/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/evaluation_report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/window_json.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"

enum { CONFUSION_LABELS = 8 /* with more labels the table is too wide to be of use */ };

/* A table has a column for the names of the rows, and one for each evaluation or label. */
_Static_assert((int)NB_TABLE_COLUMNS > (int)NB_REPORT_MOST, "evaluations");
_Static_assert((int)NB_TABLE_COLUMNS > (int)CONFUSION_LABELS, "labels");

static void add_figure(struct nb_text_table *table, const json_t *value, double factor, int digits,
                       const char *unit)
{
    if (json_is_integer(value))
        nb_table_cell(table, "%s", nb_figure_of((uint64_t)json_integer_value(value)).text);
    else if (json_is_number(value))
        nb_table_cell(table, "%.*f%s", digits, json_number_value(value) * factor, unit);
    else
        nb_table_cell(table, "-");
}

struct figure_row {
    const char *member, *title, *unit;
    double factor;
    int digits;
};

/* Figures of one label against all others. */
static const struct figure_row OF_POSITIVE[] = {
    {"documents", "documents", "", 1, 0},
    {"accuracy", "accuracy", " %", 100, 2},
    {"one_minus_roca_percent", "1 - area under ROC", " %", 1, 4},
    {"lam_percent", "LAM", " %", 1, 3},
    {"false_positive_rate", "false positives", " %", 100, 3},
    {"false_negative_rate", "false negatives", " %", 100, 3},
    {"log_loss", "log-loss", "", 1, 4},
    {"brier", "Brier score", "", 1, 4},
    {"ece", "calibration error", "", 1, 4},
};

/* Figures for many labels, none of which is naturally the positive one. */
static const struct figure_row OF_ALL[] = {
    {"accuracy", "accuracy", " %", 100, 2}, {"macro_f1", "macro-F1", " %", 100, 2},
    {"documents", "documents", "", 1, 0},   {"log_loss", "log-loss", "", 1, 4},
    {"brier", "Brier score", "", 1, 4},     {"ece", "calibration error", "", 1, 4},
};

static void print_figures(const struct nb_report *report, const struct figure_row *rows,
                          size_t count, FILE *out)
{
    const char *head[NB_REPORT_MOST + 1] = {""};
    char names[NB_REPORT_MOST][80];
    struct nb_text_table table;
    for (size_t i = 0; i < report->count; i++) {
        (void)snprintf(names[i], sizeof names[i], ">%s", report->names[i]);
        head[i + 1] = names[i];
    }
    nb_table_head(&table, head, report->count + 1);
    for (size_t row = 0; row < count; row++) {
        nb_table_cell(&table, "%s", rows[row].title);
        for (size_t i = 0; i < report->count; i++)
            add_figure(&table, json_object_get(report->figures[i], rows[row].member),
                       rows[row].factor, rows[row].digits, rows[row].unit);
    }
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}

static void print_labels(const json_t *figures, FILE *out)
{
    nb_table_print_rows("label=@|>documents|>given=predicted|>precision:.2p|>recall:.2p|>F1=f1:.2p",
                        json_object_get(figures, "labels"), out);
}

static void print_confusion(const json_t *figures, FILE *out)
{
    json_t *labels = json_object_get(figures, "labels"), *row;
    const json_t *confusion = json_object_get(figures, "confusion");
    const char *head[CONFUSION_LABELS + 1] = {"is \\ given"};
    char names[CONFUSION_LABELS][80];
    struct nb_text_table table;
    const char *truth, *given;
    size_t count = 0;
    if (json_object_size(labels) > CONFUSION_LABELS)
        return;
    json_object_foreach(labels, truth, row)
    {
        (void)snprintf(names[count], sizeof names[count], ">%s", truth);
        head[count + 1] = names[count];
        count++;
    }
    nb_table_head(&table, head, count + 1);
    json_object_foreach(labels, truth, row)
    {
        const json_t *cells = json_object_get(confusion, truth);
        json_t *column;
        nb_table_cell(&table, "%s", truth);
        json_object_foreach(labels, given, column)
        {
            nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(cells, given)).text);
        }
    }
    (void)fputc('\n', out);
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}

/* Prints pairs of labels in place of a confusion table that would be too wide. */
static void print_pairs(const json_t *figures, FILE *out)
{
    const json_t *pairs = json_object_get(figures, "worst_pairs");
    if (json_array_size(pairs) == 0 ||
        json_object_size(json_object_get(figures, "labels")) <= CONFUSION_LABELS)
        return;
    (void)fputs("\nmost often taken for another\n", out);
    nb_table_print_rows("is=label|given|>documents", pairs, out);
}

static bool has_many_labels(const struct nb_report *report)
{
    return report->count > 0 && json_object_size(json_object_get(report->figures[0], "labels")) > 2;
}

void nb_report_print(const struct nb_report *report, FILE *out)
{
    bool has_many = has_many_labels(report);
    if (has_many)
        print_figures(report, OF_ALL, sizeof OF_ALL / sizeof OF_ALL[0], out);
    if (has_many && report->is_named)
        (void)fputc('\n', out);
    if (!has_many || report->is_named) {
        (void)fprintf(out, "positive label: %s\n\n", nb_shown(report->positive).text);
        print_figures(report, OF_POSITIVE, sizeof OF_POSITIVE / sizeof OF_POSITIVE[0], out);
    }
    for (size_t i = 0; i < report->count; i++) {
        (void)fprintf(out, "\n%s\n", nb_shown(report->names[i]).text);
        print_labels(report->figures[i], out);
        print_confusion(report->figures[i], out);
        print_pairs(report->figures[i], out);
    }
}

/* ---- two side by side ------------------------------------------------------------------------ */

void nb_compare_print(const json_t *evaluation, const char *other)
{
    const json_t *now = json_object_get(evaluation, "now");
    const json_t *changed = json_object_get(evaluation, other);
    char column[32];
    const char *head[] = {"evaluation", ">now", column};
    struct nb_text_table table;
    (void)snprintf(column, sizeof column, ">%s", other); /* cut names are still names */
    nb_table_head(&table, head, 3);
    for (size_t i = 0; i < sizeof OF_POSITIVE / sizeof OF_POSITIVE[0]; i++) {
        const struct figure_row *row = &OF_POSITIVE[i];
        nb_table_cell(&table, "%s", row->title);
        add_figure(&table, json_object_get(now, row->member), row->factor, row->digits, row->unit);
        add_figure(&table, json_object_get(changed, row->member), row->factor, row->digits,
                   row->unit);
    }
    (void)putchar('\n');
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

json_t *nb_evaluation_json(const struct nb_evaluation *evaluation, char *const *labels)
{
    struct nb_buffer out = {0};
    char **names = calloc(evaluation->label_count + 1, sizeof *names);
    struct nb_emitter e = nb_emit_begin(&out);
    for (size_t i = 0; names != NULL && i < evaluation->label_count; i++)
        names[i] = labels[evaluation->labels[i].label];
    if (names != NULL)
        nb_emit_window(&e, 0, evaluation, names);
    json_t *figures =
        names != NULL && nb_emit_end(&e) == 0 ? json_loadb(out.bytes, out.length, 0, NULL) : NULL;
    free(names);
    nb_buffer_deinit(&out);
    return figures;
}

/* The figure by which evaluations are compared. The smaller value, multiplied by `sign`, is
 * better. */
struct criterion {
    const char *member, *title;
    double factor, sign;
};

static const struct criterion WINNER_OF_POSITIVE = {"one_minus_roca_percent", "1 - area under ROC",
                                                    1, 1};
static const struct criterion WINNER_OF_ALL = {"accuracy", "accuracy", 100, -1};

static const struct criterion *criterion_of(const struct nb_report *report)
{
    size_t labels = json_object_size(json_object_get(report->figures[0], "labels"));
    return labels > 2 && !report->is_named ? &WINNER_OF_ALL : &WINNER_OF_POSITIVE;
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
    bool is_there = nb_model_get(client, &row, &ignored) != NB_NOT_FOUND;
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

/* A plot is a square with axes from 0 to 1, with curves in it and a legend beside it. */
enum { LEFT = 60, TOP = 40, SIDE = 400, WIDTH = 660, HEIGHT = 500, TICKS = 5, LEGEND = 24 };

static const char *const COLOURS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#999999"};
enum { COLOUR_COUNT = sizeof COLOURS / sizeof COLOURS[0] };

static double x_of(double value)
{
    return LEFT + value * SIDE;
}

static double y_of(double value)
{
    return TOP + (1 - value) * SIDE;
}

/* Writes text with the special characters of XML escaped. Control characters are left out: XML 1.0
 * cannot hold them. */
static void put_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '<')
            (void)fputs("&lt;", out);
        else if (*text == '&')
            (void)fputs("&amp;", out);
        else if ((unsigned char)*text >= 32)
            (void)fputc(*text, out);
    }
}

static void begin(FILE *out, const char *title, const char *x_title, const char *y_title)
{
    (void)fprintf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                  "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
                  "<text x=\"%d\" y=\"24\" font-size=\"15\">",
                  WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
    put_text(out, title);
    (void)fputs("</text>\n", out);
    for (int i = 0; i <= TICKS; i++) {
        double value = (double)i / TICKS;
        (void)fprintf(out,
                      "<path d=\"M%g %gV%g M%g %gH%g\" stroke=\"#ddd\" fill=\"none\"/>\n"
                      "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">%g</text>\n"
                      "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%g</text>\n",
                      x_of(value), y_of(0), y_of(1), x_of(0), y_of(value), x_of(1), x_of(value),
                      y_of(0) + 16, value, x_of(0) - 6, y_of(value) + 4, value);
    }
    (void)fprintf(out,
                  "<path d=\"M%g %gL%g %g\" stroke=\"#888\" stroke-dasharray=\"4 4\"/>\n"
                  "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\">",
                  x_of(0), y_of(0), x_of(1), y_of(1), x_of(0.5), y_of(0) + 36);
    put_text(out, x_title);
    (void)fprintf(out,
                  "</text>\n<text transform=\"translate(16 %g) rotate(-90)\" "
                  "text-anchor=\"middle\">",
                  y_of(0.5));
    put_text(out, y_title);
    (void)fputs("</text>\n", out);
}

static void put_legend(FILE *out, const struct nb_report *report, size_t i)
{
    int y = TOP + 12 + (int)i * LEGEND;
    (void)fprintf(out,
                  "<path d=\"M%d %dh20\" stroke=\"%s\" stroke-width=\"2\"/>\n"
                  "<text x=\"%d\" y=\"%d\">",
                  LEFT + SIDE + 16, y - 4, COLOURS[i % COLOUR_COUNT], LEFT + SIDE + 42, y);
    put_text(out, report->names[i]);
    (void)fputs("</text>\n", out);
}

static void put_curve(FILE *out, const json_t *points, const char *x, const char *y, size_t colour,
                      bool is_marked)
{
    size_t i;
    const json_t *point;
    char letter = 'M';
    (void)fputs("<path d=\"", out);
    json_array_foreach(points, i, point)
    {
        const json_t *at = json_object_get(point, x), *to = json_object_get(point, y);
        if (!json_is_number(at) || !json_is_number(to))
            continue; /* a bin without documents */
        (void)fprintf(out, "%c%.2f %.2f", letter, x_of(json_number_value(at)),
                      y_of(json_number_value(to)));
        letter = 'L';
    }
    (void)fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                  COLOURS[colour % COLOUR_COUNT]);
    json_array_foreach(points, i, point)
    {
        json_int_t documents = json_integer_value(json_object_get(point, "documents"));
        if (!is_marked || documents == 0)
            continue;
        (void)fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" fill=\"%s\"><title>",
                      x_of(json_number_value(json_object_get(point, x))),
                      y_of(json_number_value(json_object_get(point, y))),
                      COLOURS[colour % COLOUR_COUNT]);
        (void)fprintf(out, "%lld documents</title></circle>\n", (long long)documents);
    }
}

static FILE *open_plot(const char *name, struct nb_error *error)
{
    FILE *out = fopen(name, "we");
    if (out == NULL)
        (void)nb_error_errno(error, errno, name);
    return out;
}

static int end(FILE *out, const char *name, struct nb_error *error)
{
    (void)fputs("</svg>\n", out);
    bool is_written = ferror(out) == 0;
    if (fclose(out) != 0 || !is_written)
        return nb_error_set(error, NB_IO, "%s cannot be written", name);
    return 0;
}

int nb_plot_roc(const struct nb_report *report, const char *name, struct nb_error *error)
{
    char y_title[128];
    FILE *out = open_plot(name, error);
    if (out == NULL)
        return error->code;
    (void)snprintf(y_title, sizeof y_title, "share of %s that is found", report->positive);
    begin(out, "ROC curve", "share of the others that is taken for it", y_title);
    for (size_t i = 0; i < report->count; i++) {
        put_curve(out, json_object_get(report->figures[i], "roc"), "false_positive_rate",
                  "true_positive_rate", i, false);
        put_legend(out, report, i);
    }
    return end(out, name, error);
}

int nb_plot_reliability(const struct nb_report *report, const char *name, struct nb_error *error)
{
    FILE *out = open_plot(name, error);
    if (out == NULL)
        return error->code;
    begin(out, "Reliability", "probability that was given", "share for which it was right");
    for (size_t i = 0; i < report->count; i++) {
        put_curve(out, json_object_get(report->figures[i], "reliability"), "confidence", "accuracy",
                  i, true);
        put_legend(out, report, i);
    }
    return end(out, name, error);
}
