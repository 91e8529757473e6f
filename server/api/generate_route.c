/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/handlers.h"

#include <assert.h>

#include "config/config.h"
#include "core/jobs/generate/generate.h"
#include "server/base/emit.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/http/wait.h"

/* Defaults of query parameters. */
enum { LENGTH_DEFAULT = 50, LIMIT_DEFAULT = 50 };
#define INTERVAL_DEFAULT 0.95
#define INTERVAL_MOST 0.999999

/* A reply that is written to the spool piece by piece. */
struct reply {
    struct nb_request *request;
    struct nb_string label;
    double mass;           /* probability mass of the intervals of a distribution */
    size_t written;        /* elements written so far to the open list */
    size_t fields;         /* fields begun so far */
    bool in_values;        /* the list of a field's values is open */
    const char *close;     /* the brackets that close everything open */
    struct nb_error error; /* errors of writing, which the engine does not see */
};

static struct nb_emitter emitter_of(struct reply *r)
{
    assert(r->request->reply.has_spool); /* nb_reply_spool was called */
    return nb_emit_begin(&r->request->reply.spool.tail);
}

static int settle(struct reply *r, struct nb_emitter *e)
{
    if (nb_emit_end(e) != 0)
        return nb_error_no_memory(&r->error);
    int rc = nb_request_check_cut(r->request, &r->error);
    return rc != 0 ? rc : nb_spool_settle(&r->request->reply.spool, &r->error);
}

static int begin(struct reply *r, struct nb_request *request, struct nb_error *error)
{
    *r = (struct reply){
        .request = request, .label = nb_request_query(request, "label"), .close = "]}"};
    if (r->label.bytes == NULL)
        return nb_error_set(error, NB_INVALID, "query parameter 'label' is missing");
    return 0;
}

static void open_head(struct reply *r, struct nb_emitter *e)
{
    nb_emit_open(e, '{');
    nb_emit_member_string(e, "model", r->request->model);
    nb_emit_member_string(e, "label", r->label);
}

/* Begins an element of the open list. Writes its comma, since a new emitter does not know of
 * earlier elements. */
static struct nb_emitter next_element(struct reply *r)
{
    struct nb_emitter e = emitter_of(r);
    if (r->written++ > 0)
        nb_emit_raw(&e, ",");
    return e;
}

/* Ends the reply. `rc` is the engine's result, and `engines` its error. */
static int end(struct reply *r, int rc, const struct nb_error *engines, struct nb_error *error)
{
    assert(rc == 0 || r->error.code != 0 || engines->code != 0); /* one of them says why */
    if (rc == 0) {
        struct nb_emitter e = emitter_of(r);
        nb_emit_raw(&e, r->close);
        rc = settle(r, &e);
    }
    if (rc != 0) {
        *error = r->error.code != 0 ? r->error : *engines;
        return error->code;
    }
    return nb_reply_spooled(r->request, 200, "application/json", error);
}

/* ---- a sample -------------------------------------------------------------------------------- */

static int read_sampling(const struct nb_request *request, struct nb_sampling *sampling,
                         struct nb_error *error)
{
    uint64_t length, most = request->config->listing_rows;
    sampling->temperature = 1;
    int rc = nb_request_query_count(
        request, "length", most < LENGTH_DEFAULT ? most : LENGTH_DEFAULT, most, &length, error);
    if (rc == 0)
        rc = nb_request_query_count(request, "seed", 0, INT64_MAX, &sampling->seed, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "temperature", NB_TEMPERATURE_MOST,
                                     &sampling->temperature, error);
    if (rc == 0 && sampling->temperature < NB_TEMPERATURE_LEAST)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'temperature' must be at least %g",
                          NB_TEMPERATURE_LEAST);
    sampling->length = (size_t)length;
    sampling->words_most = (size_t)most;
    return rc;
}

static int write_sample_head(struct reply *r, const struct nb_sampling *sampling)
{
    struct nb_emitter e = emitter_of(r);
    open_head(r, &e);
    nb_emit_member_u64(&e, "seed", sampling->seed);
    nb_emit_member_short_double(&e, "temperature", sampling->temperature);
    nb_emit_key(&e, "tokens");
    nb_emit_raw(&e, "[");
    return settle(r, &e);
}

static int write_word(void *user, struct nb_string word)
{
    struct nb_emitter e = next_element(user);
    if (e.code == 0)
        e.code = nb_json_string(e.out, word);
    return settle(user, &e);
}

/* Begins a member of `values`; the first one opens the object. */
static struct nb_emitter begin_value(struct reply *r, struct nb_string field)
{
    struct nb_emitter e = emitter_of(r);
    if (r->fields++ == 0)
        nb_emit_raw(&e, "],\"values\":{");
    else
        nb_emit_raw(&e, r->in_values ? "]," : ",");
    if (e.code == 0)
        e.code = nb_json_string(e.out, field);
    nb_emit_raw(&e, ":");
    r->in_values = false;
    r->close = "}}";
    return e;
}

static int write_number(void *user, struct nb_string field, double number)
{
    struct nb_emitter e = begin_value(user, field);
    nb_emit_short_double(&e, number);
    return settle(user, &e);
}

static int write_string(void *user, struct nb_string field, struct nb_string value)
{
    struct nb_emitter e = begin_value(user, field);
    if (e.code == 0)
        e.code = nb_json_string(e.out, value);
    return settle(user, &e);
}

static int write_set(void *user, struct nb_string field)
{
    struct reply *r = user;
    struct nb_emitter e = begin_value(r, field);
    nb_emit_raw(&e, "[");
    r->in_values = true;
    r->close = "]}}";
    r->written = 0;
    return settle(r, &e);
}

int nb_route_sample(struct nb_request *request, struct nb_error *error)
{
    struct reply r;
    struct nb_sampling sampling;
    struct nb_error engines = {0};
    const struct nb_values_sink values = {write_number, write_string, write_set, write_word, &r};
    struct nb_engine *engine = request->server->engine;
    int rc = begin(&r, request, error);
    if (rc == 0)
        rc = read_sampling(request, &sampling, error);
    if (rc != 0)
        return rc;
    sampling.label = r.label;
    nb_reply_spool(request);
    rc = write_sample_head(&r, &sampling);
    if (rc == 0)
        rc = nb_generate_sample(engine, request->model, &sampling, write_word, &r, &engines);
    if (rc == 0)
        rc = nb_generate_values(engine, request->model, &sampling, &values, &engines);
    return end(&r, rc, &engines, error);
}

/* ---- the distribution ------------------------------------------------------------------------ */

/* Writes the member `probability` and, if there is an interval, `interval`. */
static void emit_posterior(struct nb_emitter *e, const struct nb_posterior *posterior,
                           bool has_interval)
{
    nb_emit_member_short_double(e, "probability", posterior->probability);
    if (!has_interval)
        return;
    nb_emit_member_open(e, "interval", '[');
    nb_emit_short_double(e, posterior->interval.low);
    nb_emit_short_double(e, posterior->interval.high);
    nb_emit_close(e, ']');
}

static int write_label(void *user, const struct nb_label_posterior *label)
{
    struct reply *r = user;
    struct nb_emitter e = emitter_of(r);
    open_head(r, &e);
    nb_emit_member_short_double(&e, "interval", r->mass);
    nb_emit_member_open(&e, "prior", '{');
    nb_emit_member_u64(&e, "documents", label->documents);
    nb_emit_member_u64(&e, "of", label->documents_all);
    emit_posterior(&e, &label->prior, label->is_prior_estimated);
    nb_emit_close(&e, '}');
    nb_emit_member_u64(&e, "occurrences", label->words);
    nb_emit_member_u64(&e, "vocabulary", label->vocabulary);
    nb_emit_member_short_double(&e, "dirichlet", label->dirichlet);
    if (label->has_unseen) {
        nb_emit_member_open(&e, "unseen", '{');
        emit_posterior(&e, &label->unseen, true);
        nb_emit_close(&e, '}');
    }
    nb_emit_key(&e, "tokens");
    nb_emit_raw(&e, "[");
    return settle(r, &e);
}

static int write_word_posterior(void *user, const struct nb_word_posterior *word)
{
    struct nb_emitter e = next_element(user);
    nb_emit_raw(&e, "{");
    nb_emit_member_string(&e, "token", word->word);
    nb_emit_member_u64(&e, "count", word->count);
    emit_posterior(&e, &word->posterior, true);
    nb_emit_close(&e, '}');
    return settle(user, &e);
}

/* Begins the list of fields, or ends the field before this one. */
static void begin_field(struct reply *r, struct nb_emitter *e, bool has_list)
{
    if (r->fields++ == 0)
        nb_emit_raw(e, "],\"fields\":[");
    else
        nb_emit_raw(e, r->in_values ? "]}," : "},");
    r->in_values = has_list;
    r->close = has_list ? "]}]}" : "}]}";
    r->written = 0;
}

static int write_field(void *user, const struct nb_field_posterior *field)
{
    struct reply *r = user;
    struct nb_emitter e = emitter_of(r);
    bool has_list = field->kind == NB_FIELD_KIND_CATEGORY || field->kind == NB_FIELD_KIND_SET;
    begin_field(r, &e, has_list);
    nb_emit_raw(&e, "{");
    nb_emit_member_string(&e, "field", field->name);
    nb_emit_member_text(&e, "kind", nb_field_kind_names[field->kind]);
    nb_emit_member_u64(&e, "documents", field->documents);
    nb_emit_member_u64(&e, "missing", field->missing);
    if (field->has_number) {
        nb_emit_member_short_double(&e, "mean", field->mean);
        nb_emit_member_short_double(&e, "deviation", field->deviation);
    }
    if (has_list) {
        nb_emit_member_u64(&e, "vocabulary", field->values);
        nb_emit_key(&e, "values");
        nb_emit_raw(&e, "[");
    }
    return settle(r, &e);
}

static int write_value(void *user, const struct nb_value_posterior *value)
{
    assert(((const struct reply *)user)->in_values); /* write_field has opened the list */
    struct nb_emitter e = next_element(user);
    nb_emit_raw(&e, "{");
    nb_emit_member_string(&e, "value", value->value);
    nb_emit_member_u64(&e, "count", value->count);
    emit_posterior(&e, &value->posterior, true);
    nb_emit_close(&e, '}');
    return settle(user, &e);
}

static int read_distribution(const struct nb_request *request, uint64_t *limit, double *mass,
                             struct nb_error *error)
{
    *mass = INTERVAL_DEFAULT;
    int rc = nb_request_query_count(request, "limit", LIMIT_DEFAULT, request->config->listing_rows,
                                    limit, error);
    if (rc == 0)
        rc = nb_request_query_number(request, "interval", INTERVAL_MOST, mass, error);
    if (rc == 0 && !(*mass > 0))
        rc = nb_error_set(error, NB_INVALID, "query parameter 'interval' must be above 0");
    return rc;
}

int nb_route_distribution(struct nb_request *request, struct nb_error *error)
{
    struct reply r;
    struct nb_error engines = {0};
    struct nb_distribution_sink sink = {.header = write_label,
                                        .word = write_word_posterior,
                                        .field = write_field,
                                        .value = write_value,
                                        .user = &r};
    uint64_t limit = 0;
    int rc = begin(&r, request, error);
    if (rc == 0)
        rc = read_distribution(request, &limit, &r.mass, error);
    if (rc != 0)
        return rc;
    nb_reply_spool(request);
    rc = nb_generate_distribution(request->server->engine, request->model, r.label, (size_t)limit,
                                  r.mass, &sink, &engines);
    return end(&r, rc, &engines, error);
}
