/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/report.h"

#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

enum { CONFUSION_LABELS = 8 /* with more labels the table is too wide to be of use */ };

/* A column for the names of the rows, and one for each evaluation or label. */
_Static_assert((int)NB_TABLE_COLUMNS > (int)NB_REPORT_MOST, "evaluations");
_Static_assert((int)NB_TABLE_COLUMNS > (int)CONFUSION_LABELS, "labels");

static void add_figure(struct nb_table *table, const json_t *value, double factor, int digits,
                       const char *unit)
{
    if (json_is_number(value))
        nb_table_cell(table, "%.*f%s", digits, json_number_value(value) * factor, unit);
    else
        nb_table_cell(table, "-");
}

static void print_figures(const struct nb_report *report, FILE *out)
{
    static const struct {
        const char *member, *title, *unit;
        double factor;
        int digits;
    } ROWS[] = {
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
    const char *head[NB_REPORT_MOST + 1] = {""};
    char names[NB_REPORT_MOST][80];
    struct nb_table table;
    for (size_t i = 0; i < report->count; i++) {
        (void)snprintf(names[i], sizeof names[i], ">%s", report->names[i]);
        head[i + 1] = names[i];
    }
    nb_table_head(&table, head, report->count + 1);
    for (size_t row = 0; row < sizeof ROWS / sizeof ROWS[0]; row++) {
        nb_table_cell(&table, "%s", ROWS[row].title);
        for (size_t i = 0; i < report->count; i++)
            add_figure(&table, json_object_get(report->figures[i], ROWS[row].member),
                       ROWS[row].factor, ROWS[row].digits, ROWS[row].unit);
    }
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}

static void print_labels(const json_t *figures, FILE *out)
{
    static const char *const HEAD[] = {"label", ">documents", ">given", ">precision", ">recall"};
    struct nb_table table;
    const char *name;
    const json_t *label;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_object_foreach(json_object_get(figures, "labels"), name, label)
    {
        nb_table_cell(&table, "%s", name);
        add_figure(&table, json_object_get(label, "documents"), 1, 0, "");
        add_figure(&table, json_object_get(label, "predicted"), 1, 0, "");
        add_figure(&table, json_object_get(label, "precision"), 100, 2, " %");
        add_figure(&table, json_object_get(label, "recall"), 100, 2, " %");
    }
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}

static void print_confusion(const json_t *figures, FILE *out)
{
    json_t *labels = json_object_get(figures, "labels"), *row;
    const json_t *confusion = json_object_get(figures, "confusion");
    const char *head[CONFUSION_LABELS + 1] = {"is \\ given"};
    char names[CONFUSION_LABELS][80];
    struct nb_table table;
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
            nb_table_cell(&table, "%lld",
                          (long long)json_integer_value(json_object_get(cells, given)));
        }
    }
    (void)fputc('\n', out);
    nb_table_print(&table, out);
    nb_table_deinit(&table);
}

void nb_report_print(const struct nb_report *report, FILE *out)
{
    (void)fprintf(out, "positive label: %s\n\n", nb_shown(report->positive).text);
    print_figures(report, out);
    for (size_t i = 0; i < report->count; i++) {
        (void)fprintf(out, "\n%s\n", nb_shown(report->names[i]).text);
        print_labels(report->figures[i], out);
        print_confusion(report->figures[i], out);
    }
}
