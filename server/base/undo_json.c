/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/undo_json.h"

#include <stdlib.h>

#include "core/base/array.h"
#include "core/base/label_set.h"
#include "core/base/string.h"
#include "server/base/emit.h"
#include "server/base/evaluation_json.h"
#include "server/base/json_values.h"
#include "server/base/time.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { QUARANTINE_SOURCE, QUARANTINE_UNTIL, QUARANTINE_IDS, QUARANTINE_WHOLE, QUARANTINE_MEMBERS };

static const struct nb_json_member quarantine_members[QUARANTINE_MEMBERS] = {
    [QUARANTINE_SOURCE] = {"source", NB_TYPE_STRING, false},
    [QUARANTINE_UNTIL] = {"until", NB_TYPE_STRING, false},
    [QUARANTINE_IDS] = {"ids", NB_TYPE_ARRAY, false},
    [QUARANTINE_WHOLE] = {"all", NB_TYPE_BOOLEAN, false},
};

static int read_quarantine(const json_t *const *values, struct nb_json_quarantine *q,
                           struct nb_error *error)
{
    struct nb_quarantine_options *options = &q->options;
    bool is_part = values[QUARANTINE_SOURCE] != NULL || values[QUARANTINE_UNTIL] != NULL ||
                   values[QUARANTINE_IDS] != NULL;
    int rc = 0;
    if (is_part == json_is_true(values[QUARANTINE_WHOLE]))
        return nb_error_set(error, NB_INVALID,
                            "give at least one of \"source\", \"until\" and \"ids\", or \"all\": "
                            "true");
    if (values[QUARANTINE_SOURCE] != NULL) {
        options->has_source = true;
        options->source = nb_json_text(values[QUARANTINE_SOURCE]);
        rc = nb_check_source(options->source, error);
    }
    if (rc == 0 && values[QUARANTINE_UNTIL] != NULL)
        rc = nb_json_read_time(nb_json_text(values[QUARANTINE_UNTIL]), "until", &options->until,
                               error);
    if (rc == 0 && values[QUARANTINE_IDS] != NULL)
        rc = nb_json_read_ids(values[QUARANTINE_IDS], NB_JSON_IDS, &q->ids, &options->id_count,
                              error);
    options->ids = q->ids;
    return rc;
}

int nb_json_quarantine_read(struct nb_string text, struct nb_json_quarantine *quarantine,
                            struct nb_error *error)
{
    const json_t *values[QUARANTINE_MEMBERS];
    json_t *object;
    *quarantine = (struct nb_json_quarantine){.options = {.until = INT64_MAX}};
    int rc = nb_json_load(text, NB_JSON_IDS + 100, &object, error);
    if (rc != 0)
        return rc;
    quarantine->object = object;
    rc = nb_json_take(object, "a choice of changes", quarantine_members, QUARANTINE_MEMBERS, values,
                      error);
    if (rc == 0)
        rc = read_quarantine(values, quarantine, error);
    if (rc != 0)
        nb_json_quarantine_deinit(quarantine);
    return rc;
}

void nb_json_quarantine_deinit(struct nb_json_quarantine *quarantine)
{
    json_decref(quarantine->object);
    free(quarantine->ids);
    *quarantine = (struct nb_json_quarantine){.object = NULL};
}

/* ---- what waits ------------------------------------------------------------------------------ */

int nb_json_quarantine_begin(struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "quarantine");
    nb_emit_raw(&e, "[");
    return nb_emit_end(&e);
}

int nb_json_quarantine_row(struct nb_buffer *out, size_t count, const struct nb_quarantine_row *row)
{
    struct nb_emitter e = nb_emit_begin(out);
    if (count > 0)
        nb_emit_raw(&e, ",");
    nb_emit_raw(&e, "{");
    nb_emit_member_string(&e, "id", row->id);
    nb_emit_member_string(&e, "source", row->source);
    nb_emit_member_time(&e, "time", row->time);
    nb_emit_flag(&e, "untrain", row->untrain);
    if (!row->untrain) {
        if (row->label.length > 0)
            nb_emit_member_labels(&e, "label", "labels", row->label);
        else
            nb_emit_member_null(&e, "label");
        nb_emit_member_u64(&e, "tokens", row->tokens);
    }
    if (row->verdict.length > 0) {
        nb_emit_member_string(&e, "verdict", row->verdict);
        nb_emit_member_short_double(&e, "probability", row->probability);
    }
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_quarantine_end(struct nb_buffer *out, int64_t now, struct nb_string next)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "]");
    nb_emit_member_time(&e, "time", now);
    if (next.length > 0)
        nb_emit_member_string(&e, "next", next);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

static void emit_documents_of(struct nb_emitter *e, const struct nb_quarantine_source *source)
{
    nb_emit_name(e, nb_string_of(source->source));
    nb_emit_open(e, '{');
    nb_emit_member_u64(e, "documents", source->documents);
    nb_emit_member_u64(e, "judged", source->judged);
    nb_emit_member_u64(e, "agreeing", source->agreeing);
    nb_emit_member_short_double(e, "log_loss", source->log_loss);
    nb_emit_close(e, '}');
}

int nb_json_quarantine_effect(struct nb_buffer *out, struct nb_string model,
                              const struct nb_quarantine_effect *effect)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_member_u64(&e, "documents", effect->documents);
    nb_emit_member_u64(&e, "bytes", effect->bytes);
    nb_emit_member_open(&e, "sources", '{');
    for (size_t i = 0; i < effect->source_count; i++)
        emit_documents_of(&e, &effect->sources[i]);
    nb_emit_close(&e, '}');
    nb_emit_member_open(&e, "evaluation", '{');
    nb_emit_figures(&e, "now", &effect->now);
    nb_emit_figures(&e, "with", &effect->with);
    nb_emit_close(&e, '}');
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- what was done --------------------------------------------------------------------------- */

int nb_json_quarantine_report(struct nb_buffer *out, struct nb_string model, bool is_drop,
                              const struct nb_quarantine_report *report)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    if (is_drop) {
        nb_emit_member_u64(&e, "dropped", report->dropped);
    } else {
        nb_emit_member_open(&e, "applied", '{');
        for (int s = 0; s < NB_QUARANTINED; s++)
            nb_emit_member_u64(&e, nb_status_name((enum nb_status)s), report->statuses[s]);
        nb_emit_close(&e, '}');
        nb_emit_member_u64(&e, "refused", report->refused);
        if (report->refused > 0)
            nb_emit_member_text(&e, "why", report->why.text);
    }
    nb_emit_member_u64(&e, "changed_since", report->changed_since);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

enum {
    UNDO_SOURCE,
    UNDO_FROM,
    UNDO_TO,
    UNDO_IDS,
    UNDO_DRY_RUN,
    UNDO_LIMIT,
    UNDO_NEXT,
    UNDO_MEMBERS
};

static const struct nb_json_member undo_members[UNDO_MEMBERS] = {
    [UNDO_SOURCE] = {"source", NB_TYPE_STRING, false},
    [UNDO_FROM] = {"from", NB_TYPE_STRING, false},
    [UNDO_TO] = {"to", NB_TYPE_STRING, false},
    [UNDO_IDS] = {"ids", NB_TYPE_ARRAY, false},
    [UNDO_DRY_RUN] = {"dry_run", NB_TYPE_BOOLEAN, false},
    [UNDO_LIMIT] = {"limit", NB_TYPE_COUNT, false},
    [UNDO_NEXT] = {"next", NB_TYPE_COUNT, false},
};

static int read_count(const json_t *value, const char *name, uint64_t *count,
                      struct nb_error *error)
{
    if (value == NULL)
        return 0;
    if (json_integer_value(value) < 1)
        return nb_error_set(error, NB_INVALID, "\"%s\" must be at least 1", name);
    *count = (uint64_t)json_integer_value(value);
    return 0;
}

static int read_undo(const json_t *const *values, struct nb_json_undo *undo, struct nb_error *error)
{
    struct nb_undo_options *options = &undo->options;
    int rc = 0;
    if (values[UNDO_SOURCE] == NULL && values[UNDO_FROM] == NULL && values[UNDO_TO] == NULL &&
        values[UNDO_IDS] == NULL)
        return nb_error_set(error, NB_INVALID,
                            "an undo needs at least one of \"source\", \"from\", \"to\" and "
                            "\"ids\"");
    if (values[UNDO_SOURCE] != NULL) {
        options->has_source = true;
        options->source = nb_json_text(values[UNDO_SOURCE]);
        rc = nb_check_source(options->source, error);
    }
    if (rc == 0 && values[UNDO_FROM] != NULL)
        rc = nb_json_read_time(nb_json_text(values[UNDO_FROM]), "from", &options->from, error);
    if (rc == 0 && values[UNDO_TO] != NULL)
        rc = nb_json_read_time(nb_json_text(values[UNDO_TO]), "to", &options->to, error);
    if (rc == 0 && options->from >= options->to)
        rc = nb_error_set(error, NB_UNUSABLE, "\"from\" must be before \"to\"");
    if (rc == 0 && values[UNDO_IDS] != NULL)
        rc = nb_json_read_ids(values[UNDO_IDS], NB_JSON_IDS, &undo->ids, &options->id_count, error);
    if (rc == 0)
        rc = read_count(values[UNDO_LIMIT], "limit", &undo->limit, error);
    if (rc == 0)
        rc = read_count(values[UNDO_NEXT], "next", &undo->after, error);
    options->ids = undo->ids;
    undo->dry_run = json_is_true(values[UNDO_DRY_RUN]);
    if (rc == 0 && undo->dry_run && (undo->limit != 0 || undo->after != 0))
        rc = nb_error_set(error, NB_INVALID, "a \"dry_run\" has no \"limit\" and no \"next\"");
    return rc;
}

int nb_json_undo_read(struct nb_string text, struct nb_json_undo *undo, struct nb_error *error)
{
    const json_t *values[UNDO_MEMBERS];
    json_t *object;
    *undo = (struct nb_json_undo){.options = {.from = 0, .to = INT64_MAX}};
    int rc = nb_json_load(text, NB_JSON_IDS + 100, &object, error);
    if (rc != 0)
        return rc;
    undo->object = object;
    rc = nb_json_take(object, "an undo", undo_members, UNDO_MEMBERS, values, error);
    if (rc == 0)
        rc = read_undo(values, undo, error);
    if (rc != 0)
        nb_json_undo_deinit(undo);
    return rc;
}

void nb_json_undo_deinit(struct nb_json_undo *undo)
{
    json_decref(undo->object);
    free(undo->ids);
    *undo = (struct nb_json_undo){.dry_run = false};
}

/* ---- what was done --------------------------------------------------------------------------- */

/* A label of a set, with the documents of the set. */
struct member {
    struct nb_string label;
    uint64_t documents;
};

static int compare_members(const void *a, const void *b)
{
    return nb_string_compare(((const struct member *)a)->label, ((const struct member *)b)->label);
}

static void emit_members(struct nb_emitter *e, struct member *members, size_t count)
{
    if (count > 0)
        qsort(members, count, sizeof *members, compare_members);
    for (size_t i = 0; i < count;) {
        struct member sum = members[i];
        while (++i < count && nb_string_same(members[i].label, sum.label))
            sum.documents += members[i].documents;
        nb_emit_name(e, sum.label);
        nb_emit_open(e, '{');
        nb_emit_member_u64(e, "documents", sum.documents);
        nb_emit_close(e, '}');
    }
}

/* Writes the documents of each label; those of sets of labels are summed by label. */
static int emit_labels(struct nb_emitter *e, const struct nb_undo_report *report)
{
    struct member *members = NULL;
    size_t count = 0, room = 0;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < report->label_count; i++) {
        struct nb_string rest = nb_string_of(report->labels[i].label), label;
        if (!nb_label_is_set(rest))
            nb_emit_label_documents(e, report->labels[i].label, report->labels[i].documents);
        while (rc == 0 && nb_label_is_set(rest) && nb_label_set_next(&rest, &label)) {
            rc = nb_array_reserve(&members, &room, count + 1, sizeof *members);
            if (rc == 0)
                members[count++] = (struct member){label, report->labels[i].documents};
        }
    }
    if (rc == 0)
        emit_members(e, members, count);
    free(members);
    return rc;
}

int nb_json_undo_report(struct nb_buffer *out, struct nb_string model,
                        const struct nb_undo_report *report, const struct nb_evaluation_report *now,
                        const struct nb_evaluation_report *without)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "model", model);
    nb_emit_flag(&e, "dry_run", now != NULL);
    nb_emit_member_u64(&e, "documents", report->documents);
    nb_emit_member_u64(&e, "forgotten", report->forgotten);
    nb_emit_member_u64(&e, "restored", report->restored);
    nb_emit_member_u64(&e, "unknown_before", report->unknown_before);
    if (now == NULL)
        nb_emit_member_u64(&e, "changed_since", report->changed_since);
    nb_emit_member_open(&e, "labels", '{');
    int rc = emit_labels(&e, report);
    nb_emit_close(&e, '}');
    e.code = e.code != 0 ? e.code : rc;
    if (report->next != 0)
        nb_emit_member_u64(&e, "next", report->next);
    if (now != NULL && without != NULL) {
        nb_emit_member_open(&e, "evaluation", '{');
        nb_emit_figures(&e, "now", now);
        nb_emit_figures(&e, "without", without);
        nb_emit_close(&e, '}');
    }
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- notes ----------------------------------------------------------------------------------- */

int nb_json_undone_begin(struct nb_buffer *out)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_key(&e, "undone");
    nb_emit_raw(&e, "[");
    return nb_emit_end(&e);
}

int nb_json_undone_note(struct nb_buffer *out, size_t count, const struct nb_undo_note *note)
{
    struct nb_emitter e = nb_emit_begin(out);
    if (count > 0)
        nb_emit_raw(&e, ",");
    nb_emit_raw(&e, "{");
    nb_emit_member_time(&e, "time", note->time);
    nb_emit_member_string(&e, "by", note->by);
    nb_emit_member_u64(&e, "documents", note->documents);
    if (note->options.has_source)
        nb_emit_member_string(&e, "source", note->options.source);
    if (note->options.from > 0)
        nb_emit_member_time(&e, "from", note->options.from);
    if (note->options.to != INT64_MAX)
        nb_emit_member_time(&e, "to", note->options.to);
    if (note->options.label.length > 0)
        nb_emit_member_string(&e, "label", note->options.label);
    if (note->ids > 0)
        nb_emit_member_u64(&e, "ids", note->ids);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

int nb_json_undone_end(struct nb_buffer *out, uint64_t next)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_raw(&e, "]");
    if (next != 0)
        nb_emit_member_u64(&e, "next", next);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}

/* ---- sources --------------------------------------------------------------------------------- */

static void emit_source(struct nb_emitter *e, const struct nb_source *source)
{
    nb_emit_open(e, '{');
    nb_emit_member_text(e, "source", source->name);
    nb_emit_member_u64(e, "documents", source->documents);
    nb_emit_member_u64(e, "unlabelled", source->unlabelled);
    nb_emit_member_time(e, "first", source->first);
    nb_emit_member_time(e, "last", source->last);
    nb_emit_close(e, '}');
}

int nb_json_sources(struct nb_buffer *out, const struct nb_sources *sources)
{
    struct nb_emitter e = nb_emit_begin(out);
    nb_emit_open(&e, '{');
    nb_emit_member_open(&e, "sources", '[');
    for (size_t i = 0; i < sources->count; i++)
        emit_source(&e, &sources->rows[i]);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "documents", sources->documents);
    if (sources->next != 0)
        nb_emit_member_u64(&e, "next", sources->next);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
