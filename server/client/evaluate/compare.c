/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/evaluate/compare.h"

#include <stdio.h>

#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"

static uint64_t documents_of(const json_t *figures)
{
    return (uint64_t)json_integer_value(json_object_get(figures, "documents"));
}

void nb_compare_print(const json_t *evaluation, const char *other)
{
    static const char *const FIGURES[] = {"accuracy", "one_minus_roca_percent",
                                          "false_positive_rate", "false_negative_rate", "log_loss"};
    const json_t *now = json_object_get(evaluation, "now");
    const json_t *changed = json_object_get(evaluation, other);
    char column[32];
    const char *head[] = {"evaluation", ">now", column};
    struct nb_text_table table;
    (void)snprintf(column, sizeof column, ">%s", other); /* cut names are still names */
    nb_table_head(&table, head, 3);
    nb_table_cell(&table, "documents");
    nb_table_cell(&table, "%s", nb_figure_of(documents_of(now)).text);
    nb_table_cell(&table, "%s", nb_figure_of(documents_of(changed)).text);
    for (size_t i = 0; i < sizeof FIGURES / sizeof FIGURES[0]; i++) {
        nb_table_cell(&table, "%s", FIGURES[i]);
        nb_table_cell(&table, "%.5g", json_number_value(json_object_get(now, FIGURES[i])));
        nb_table_cell(&table, "%.5g", json_number_value(json_object_get(changed, FIGURES[i])));
    }
    (void)putchar('\n');
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}
