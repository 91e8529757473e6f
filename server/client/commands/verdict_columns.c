/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/verdict_columns.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/error.h"
#include "core/base/heap.h"
#include "server/client/base/client_answer.h"
#include "server/client/files/write_csv.h"

/* ---- the request ----------------------------------------------------------------------------- */

int nb_verdict_columns_path(const struct nb_verdict_columns *columns, struct nb_buffer *path)
{
    const char *join = "?";
    int rc = nb_buffer_puts(path, "/classify");
    if (rc == 0 && columns->threshold >= 0) {
        rc = nb_buffer_printf(path, "%sthreshold=%.17g", join, columns->threshold);
        join = "&";
    }
    if (rc == 0 && columns->top > 0) {
        rc = nb_buffer_printf(path, "%stop=%" PRIu64, join, columns->top);
        join = "&";
    }
    if (rc == 0 && columns->evidence > 0)
        rc = nb_buffer_printf(path, "%sexplain=%" PRIu64, join, columns->evidence);
    return rc == 0 ? nb_buffer_append(path, "", 1) : rc;
}

/* ---- the labels ------------------------------------------------------------------------------ */

struct ranked {
    const char *label; /* borrowed from the verdict */
    double probability;
    bool wins;
};

static int by_probability(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->wins != y->wins)
        return x->wins ? -1 : 1;
    if (x->probability != y->probability)
        return x->probability > y->probability ? -1 : 1;
    return strcmp(x->label, y->label);
}

/* Fills `rank` with the `top` most probable labels, the winner first. Returns how many there are.
 */
static size_t rank_labels(const json_t *verdict, uint64_t top,
                          struct ranked rank[NB_VERDICT_TOP_MOST])
{
    const char *winner = nb_answer_text(verdict, "label");
    json_t *labels = json_object_get(verdict, "probabilities");
    const char *name;
    json_t *value;
    struct nb_heap heap = {
        .items = rank, .most = (size_t)top, .item_size = sizeof *rank, .compare = by_probability};
    json_object_foreach(labels, name, value)
    {
        struct ranked one = {name, json_number_value(value), strcmp(name, winner) == 0};
        nb_heap_add(&heap, &one);
    }
    nb_heap_sort(&heap);
    return heap.count;
}

const char *nb_verdict_columns_first(const struct nb_verdict_columns *columns,
                                     const json_t *verdict)
{
    const char *label =
        json_string_value(json_object_get(verdict, columns->threshold >= 0 ? "decision" : "label"));
    return label != NULL ? label : "?";
}

/* ---- the evidence ---------------------------------------------------------------------------- */

/* "pills +3.120; lunch -0.400": evidence above 0 speaks for the label. Evidence of null makes the
 * runner-up impossible and is shown as +inf; the row of the prior is left out because it is not a
 * token. */
static int put_evidence(const json_t *verdict, struct nb_buffer *out)
{
    size_t i;
    const json_t *row;
    const char *join = "";
    int rc = 0;
    json_array_foreach(json_object_get(verdict, "explanation"), i, row)
    {
        const char *token = json_string_value(json_object_get(row, "token"));
        const json_t *evidence = json_object_get(row, "evidence");
        if (token == NULL || rc != 0)
            continue;
        double value = json_is_number(evidence) ? json_number_value(evidence) : (double)INFINITY;
        rc = nb_buffer_printf(out, "%s%s %+.3f", join, token, value);
        join = "; ";
    }
    return rc;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static int put_cell(const char *text, char separator, struct nb_buffer *out)
{
    return nb_csv_cell(nb_string_of(text), separator, false, out);
}

int nb_verdict_columns_head(const struct nb_verdict_columns *columns, char separator,
                            struct nb_buffer *out)
{
    int rc = columns->threshold >= 0 ? put_cell("decision", separator, out) : 0;
    for (uint64_t i = 2; i <= columns->top && rc == 0; i++)
        rc = nb_buffer_printf(out, "%cpredicted_%" PRIu64 "%cprobability_%" PRIu64, separator, i,
                              separator, i);
    return rc == 0 && columns->evidence > 0 ? put_cell("evidence", separator, out) : rc;
}

static int put_ranks(const struct nb_verdict_columns *columns, const json_t *verdict,
                     char separator, struct nb_buffer *out)
{
    struct ranked rank[NB_VERDICT_TOP_MOST];
    size_t count = rank_labels(verdict, columns->top, rank);
    int rc = 0;
    for (size_t i = 1; i < columns->top && rc == 0; i++) {
        char probability[32] = "";
        if (i < count)
            (void)snprintf(probability, sizeof probability, "%.6f", rank[i].probability);
        rc = put_cell(i < count ? rank[i].label : "", separator, out);
        if (rc == 0)
            rc = put_cell(probability, separator, out);
    }
    return rc;
}

int nb_verdict_columns_csv(const struct nb_verdict_columns *columns, const json_t *verdict,
                           char separator, struct nb_buffer *out)
{
    struct nb_buffer evidence = {0};
    int rc = 0;
    if (columns->threshold >= 0)
        rc = put_cell(verdict != NULL ? nb_answer_text(verdict, "decision") : "", separator, out);
    if (rc == 0 && columns->top > 0)
        rc = put_ranks(columns, verdict, separator, out);
    if (rc == 0 && columns->evidence > 0) {
        rc = put_evidence(verdict, &evidence);
        if (rc == 0)
            rc = nb_csv_cell((struct nb_string){evidence.bytes, evidence.length}, separator, false,
                             out);
    }
    nb_buffer_deinit(&evidence);
    return rc;
}

/* ---- for people ------------------------------------------------------------------------------ */

int nb_verdict_columns_text(const struct nb_verdict_columns *columns, const json_t *verdict,
                            struct nb_buffer *out)
{
    struct ranked rank[NB_VERDICT_TOP_MOST];
    size_t count = columns->top > 0 ? rank_labels(verdict, columns->top, rank) : 0;
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = nb_buffer_printf(out, "%s%s %.6f", i == 0 ? "  | " : ", ", rank[i].label,
                              rank[i].probability);
    if (rc == 0 && columns->evidence > 0)
        rc = nb_buffer_puts(out, "  | ");
    return rc == 0 && columns->evidence > 0 ? put_evidence(verdict, out) : rc;
}
