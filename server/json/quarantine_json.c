/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/quarantine_json.h"

#include <stdlib.h>

#include "server/json/emit.h"
#include "server/json/evaluation_json.h"
#include "server/json/json_load.h"
#include "server/json/time.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

enum { SOURCE, UNTIL, IDS, WHOLE, MEMBERS };

static const struct nb_json_member members[MEMBERS] = {
    [SOURCE] = {"source", NB_TYPE_STRING, false},
    [UNTIL] = {"until", NB_TYPE_STRING, false},
    [IDS] = {"ids", NB_TYPE_ARRAY, false},
    [WHOLE] = {"all", NB_TYPE_BOOLEAN, false},
};

static int read_members(const json_t *const *values, struct nb_json_quarantine *q,
                        struct nb_error *error)
{
    struct nb_quarantine_options *options = &q->options;
    bool is_part = values[SOURCE] != NULL || values[UNTIL] != NULL || values[IDS] != NULL;
    int rc = 0;
    if (is_part == json_is_true(values[WHOLE]))
        return nb_error_set(error, NB_INVALID,
                            "give at least one of \"source\", \"until\" and \"ids\", or \"all\": "
                            "true");
    if (values[SOURCE] != NULL) {
        options->has_source = true;
        options->source = nb_json_text(values[SOURCE]);
        rc = nb_check_source(options->source, error);
    }
    if (rc == 0 && values[UNTIL] != NULL)
        rc = nb_json_read_time(nb_json_text(values[UNTIL]), "until", &options->until, error);
    if (rc == 0 && values[IDS] != NULL)
        rc = nb_json_read_ids(values[IDS], NB_JSON_QUARANTINE_IDS, &q->ids, &options->id_count,
                              error);
    options->ids = q->ids;
    return rc;
}

int nb_json_quarantine_read(struct nb_string text, struct nb_json_quarantine *quarantine,
                            struct nb_error *error)
{
    const json_t *values[MEMBERS];
    json_t *object;
    *quarantine = (struct nb_json_quarantine){.options = {.until = INT64_MAX}};
    int rc = nb_json_load(text, NB_JSON_QUARANTINE_IDS + 100, &object, error);
    if (rc != 0)
        return rc;
    quarantine->object = object;
    rc = nb_json_take(object, "a choice of changes", members, MEMBERS, values, error);
    if (rc == 0)
        rc = read_members(values, quarantine, error);
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
        nb_emit_key(&e, "label");
        if (row->label.length > 0)
            nb_emit_string(&e, row->label);
        else
            nb_emit_raw(&e, "null");
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

static void emit_source(struct nb_emitter *e, const struct nb_quarantine_source *source)
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
    nb_emit_key(&e, "sources");
    nb_emit_open(&e, '{');
    for (size_t i = 0; i < effect->source_count; i++)
        emit_source(&e, &effect->sources[i]);
    nb_emit_close(&e, '}');
    nb_emit_key(&e, "evaluation");
    nb_emit_open(&e, '{');
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
        nb_emit_key(&e, "applied");
        nb_emit_open(&e, '{');
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
