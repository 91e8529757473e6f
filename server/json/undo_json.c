/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/undo_json.h"

#include <stdlib.h>

#include "server/json/emit.h"
#include "server/json/evaluation_json.h"
#include "server/json/json_load.h"
#include "server/json/time.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { SOURCE, FROM, TO, IDS, DRY_RUN, LIMIT, NEXT, MEMBERS };

static const struct nb_json_member members[MEMBERS] = {
    [SOURCE] = {"source", NB_TYPE_STRING, false},
    [FROM] = {"from", NB_TYPE_STRING, false},
    [TO] = {"to", NB_TYPE_STRING, false},
    [IDS] = {"ids", NB_TYPE_ARRAY, false},
    [DRY_RUN] = {"dry_run", NB_TYPE_BOOLEAN, false},
    [LIMIT] = {"limit", NB_TYPE_COUNT, false},
    [NEXT] = {"next", NB_TYPE_COUNT, false},
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

static int read_members(const json_t *const *values, struct nb_json_undo *undo,
                        struct nb_error *error)
{
    struct nb_undo_options *options = &undo->options;
    int rc = 0;
    if (values[SOURCE] == NULL && values[FROM] == NULL && values[TO] == NULL && values[IDS] == NULL)
        return nb_error_set(error, NB_INVALID,
                            "an undo needs at least one of \"source\", \"from\", \"to\" and "
                            "\"ids\"");
    if (values[SOURCE] != NULL) {
        options->has_source = true;
        options->source = nb_json_text(values[SOURCE]);
        rc = nb_check_source(options->source, error);
    }
    if (rc == 0 && values[FROM] != NULL)
        rc = nb_json_read_time(nb_json_text(values[FROM]), "from", &options->from, error);
    if (rc == 0 && values[TO] != NULL)
        rc = nb_json_read_time(nb_json_text(values[TO]), "to", &options->to, error);
    if (rc == 0 && options->from >= options->to)
        rc = nb_error_set(error, NB_UNUSABLE, "\"from\" must be before \"to\"");
    if (rc == 0 && values[IDS] != NULL)
        rc = nb_json_read_ids(values[IDS], NB_JSON_UNDO_IDS, &undo->ids, &options->id_count, error);
    if (rc == 0)
        rc = read_count(values[LIMIT], "limit", &undo->limit, error);
    if (rc == 0)
        rc = read_count(values[NEXT], "next", &undo->after, error);
    options->ids = undo->ids;
    undo->dry_run = json_is_true(values[DRY_RUN]);
    if (rc == 0 && undo->dry_run && (undo->limit != 0 || undo->after != 0))
        rc = nb_error_set(error, NB_INVALID, "a \"dry_run\" has no \"limit\" and no \"next\"");
    return rc;
}

int nb_json_undo_read(struct nb_string text, struct nb_json_undo *undo, struct nb_error *error)
{
    const json_t *values[MEMBERS];
    json_t *object;
    *undo = (struct nb_json_undo){.options = {.from = 0, .to = INT64_MAX}};
    int rc = nb_json_load(text, NB_JSON_UNDO_IDS + 100, &object, error);
    if (rc != 0)
        return rc;
    undo->object = object;
    rc = nb_json_take(object, "an undo", members, MEMBERS, values, error);
    if (rc == 0)
        rc = read_members(values, undo, error);
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

static void emit_labels(struct nb_emitter *e, const struct nb_undo_report *report)
{
    nb_emit_key(e, "labels");
    nb_emit_open(e, '{');
    for (size_t i = 0; i < report->label_count; i++)
        nb_emit_label_documents(e, report->labels[i].label, report->labels[i].documents);
    nb_emit_close(e, '}');
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
    emit_labels(&e, report);
    if (report->next != 0)
        nb_emit_member_u64(&e, "next", report->next);
    if (now != NULL && without != NULL) {
        nb_emit_key(&e, "evaluation");
        nb_emit_open(&e, '{');
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
    nb_emit_key(&e, "sources");
    nb_emit_open(&e, '[');
    for (size_t i = 0; i < sources->count; i++)
        emit_source(&e, &sources->rows[i]);
    nb_emit_close(&e, ']');
    nb_emit_member_u64(&e, "documents", sources->documents);
    if (sources->next != 0)
        nb_emit_member_u64(&e, "next", sources->next);
    nb_emit_close(&e, '}');
    return nb_emit_end(&e);
}
