/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/model.h"

#include <inttypes.h>

#include "core/engine/engine.h"
#include "core/generate/generate.h"
#include "server/console/html.h"
#include "server/request/answer.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"

enum { LENGTH_DEFAULT = 50, LENGTH_MOST = 1000, WORDS = 30 };
#define INTERVAL 0.95

static const char HEAD[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"
    "<style>:root{color-scheme:light dark}body{font:1rem/1.5 sans-serif;max-width:50em;margin:3em "
    "auto;padding:0 1em}td,th{padding:0 .8em;text-align:right}td:first-child,th:first-child{"
    "text-align:left;overflow-wrap:anywhere}input{width:6em}blockquote{overflow-wrap:anywhere}"
    "</style>\n";

static const char POLICY[] = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
                             "base-uri 'none'; frame-ancestors 'none'";

/* What the writing of the page needs; the first failure ends it. */
struct page {
    struct nb_request *request;
    struct nb_buffer *out;
    struct nb_string label; /* bytes NULL: none is chosen */
    struct nb_sampling sampling;
    bool has_words;  /* of the sample */
    bool has_fields; /* of the estimates */
    int code;
};

static void put(struct page *p, const char *markup)
{
    if (p->code == 0)
        p->code = nb_buffer_puts(p->out, markup);
}

static void put_text(struct page *p, struct nb_string text)
{
    if (p->code == 0)
        p->code = nb_html_text(p->out, text);
}

static void put_url(struct page *p, struct nb_string text)
{
    if (p->code == 0)
        p->code = nb_html_url(p->out, text);
}

static void put_count(struct page *p, const char *before, uint64_t count)
{
    put(p, before);
    if (p->code == 0)
        p->code = nb_buffer_printf(p->out, "%" PRIu64, count);
}

static void put_number(struct page *p, const char *before, double number)
{
    put(p, before);
    if (p->code == 0)
        p->code = nb_buffer_printf(p->out, "%.4g", number);
}

/* ---- the model ------------------------------------------------------------------------------- */

static void put_labels(struct page *p, const struct nb_model_info *info)
{
    put(p, "<table><caption>Labels</caption>\n<tr><th scope=\"col\">label</th>"
           "<th scope=\"col\">documents</th><th scope=\"col\">words</th></tr>\n");
    for (size_t i = 0; i < info->label_count; i++) {
        const struct nb_label_info *label = &info->labels[i];
        put(p, "<tr><td><a href=\"?label=");
        put_url(p, nb_string_of(label->label));
        put(p, "\">");
        put_text(p, nb_string_of(label->label));
        put_count(p, "</a></td><td>", label->documents);
        put_count(p, "</td><td>", label->tokens);
        put(p, "</td></tr>\n");
    }
    put(p, "</table>\n");
}

static void put_model(struct page *p, const struct nb_model_info *info)
{
    put(p, HEAD);
    put(p, "<title>");
    put_text(p, p->request->model);
    put(p, " - bayesd</title></head>\n<body>\n<p><a href=\"/\">bayesd</a></p>\n<h1>");
    put_text(p, p->request->model);
    put(p, "</h1>\n");
    if (info->is_damaged) {
        put(p, "<p>This model is damaged: ");
        put_text(p, nb_string_of(info->damage));
        put(p, "</p>\n");
        return;
    }
    put_count(p, "<p>", info->documents);
    put_count(p, " documents, ", info->vocabulary);
    put(p, " different words</p>\n");
    put_labels(p, info);
}

/* ---- the estimates --------------------------------------------------------------------------- */

static void put_posterior(struct page *p, const struct nb_posterior *posterior)
{
    put_number(p, "</td><td>", posterior->probability);
    put_number(p, "</td><td>", posterior->interval.low);
    put_number(p, "</td><td>", posterior->interval.high);
    put(p, "</td></tr>\n");
}

static int write_label(void *user, const struct nb_label_posterior *label)
{
    struct page *p = user;
    put_number(p, "<p>P(label) = ", label->prior.probability);
    if (label->is_prior_estimated) {
        put_number(p, ", with 95 % from ", label->prior.interval.low);
        put_number(p, " to ", label->prior.interval.high);
    }
    put(p, "</p>\n<table><caption>Most probable words, with 95 % intervals</caption>\n"
           "<tr><th scope=\"col\">word</th><th scope=\"col\">count</th>"
           "<th scope=\"col\">P(word | label)</th><th scope=\"col\">from</th>"
           "<th scope=\"col\">to</th></tr>\n");
    return p->code;
}

static int write_word(void *user, const struct nb_word_posterior *word)
{
    struct page *p = user;
    put(p, "<tr><td>");
    put_text(p, word->word);
    put_count(p, "</td><td>", word->count);
    put_posterior(p, &word->posterior);
    return p->code;
}

static int write_field(void *user, const struct nb_field_posterior *field)
{
    struct page *p = user;
    if (!p->has_fields)
        put(p, "</table>\n<table><caption>Fields and their most probable values</caption>\n"
               "<tr><th scope=\"col\">field or value</th><th scope=\"col\">documents</th>"
               "<th scope=\"col\">P(value | label)</th><th scope=\"col\">from</th>"
               "<th scope=\"col\">to</th></tr>\n");
    p->has_fields = true;
    put(p, "<tr><th scope=\"row\">");
    put_text(p, field->name);
    put_count(p, "</th><td>", field->documents);
    put_count(p, "</td><td colspan=\"3\">", field->missing);
    put(p, " missing");
    if (field->has_number) {
        put_number(p, "; mean ", field->mean);
        put_number(p, ", standard deviation ", field->deviation);
    }
    put(p, "</td></tr>\n");
    return p->code;
}

static int write_value(void *user, const struct nb_value_posterior *value)
{
    struct page *p = user;
    put(p, "<tr><td>");
    put_text(p, value->value);
    put_count(p, "</td><td>", value->count);
    put_posterior(p, &value->posterior);
    return p->code;
}

/* ---- the sample ------------------------------------------------------------------------------ */

static void put_form(struct page *p)
{
    put(p, "<h2>A document of ");
    put_text(p, p->label);
    put(p, "</h2>\n<form method=\"get\"><input type=\"hidden\" name=\"label\" value=\"");
    put_text(p, p->label);
    put_count(p, "\">\n<label>seed <input type=\"number\" name=\"seed\" min=\"0\" value=\"",
              p->sampling.seed);
    put_count(p,
              "\"></label>\n<label>words <input type=\"number\" name=\"length\" min=\"0\" "
              "value=\"",
              p->sampling.length);
    put_number(p,
               "\"></label>\n<label>temperature <input type=\"number\" name=\"temperature\" "
               "min=\"0.05\" max=\"100\" step=\"any\" value=\"",
               p->sampling.temperature);
    put(p, "\"></label>\n<button>Draw</button></form>\n<blockquote>");
}

static int write_drawn(void *user, struct nb_string word)
{
    struct page *p = user;
    if (p->has_words)
        put(p, " ");
    p->has_words = true;
    put_text(p, word);
    return p->code;
}

/* The values of a sample, a line for each. */
static void put_field(struct page *p, struct nb_string field)
{
    put(p, "<br>");
    put_text(p, field);
    put(p, " = ");
    p->has_words = false;
}

static int write_number(void *user, struct nb_string field, double number)
{
    put_field(user, field);
    put_number(user, "", number);
    return ((struct page *)user)->code;
}

static int write_category(void *user, struct nb_string field, struct nb_string value)
{
    put_field(user, field);
    put_text(user, value);
    return ((struct page *)user)->code;
}

static int write_set(void *user, struct nb_string field)
{
    put_field(user, field);
    return ((struct page *)user)->code;
}

static int write_member(void *user, struct nb_string value)
{
    struct page *p = user;
    if (p->has_words)
        put(p, ",");
    return write_drawn(p, value);
}

static int read_sampling(struct page *p, struct nb_error *error)
{
    uint64_t length;
    p->sampling.temperature = 1;
    int rc =
        nb_request_query_count(p->request, "length", LENGTH_DEFAULT, LENGTH_MOST, &length, error);
    if (rc == 0)
        rc = nb_request_query_count(p->request, "seed", 0, INT64_MAX, &p->sampling.seed, error);
    if (rc == 0)
        rc = nb_request_query_number(p->request, "temperature", NB_TEMPERATURE_MOST,
                                     &p->sampling.temperature, error);
    if (rc == 0 && p->sampling.temperature < NB_TEMPERATURE_LEAST)
        rc = nb_error_set(error, NB_INVALID, "query parameter 'temperature' must be at least %g",
                          NB_TEMPERATURE_LEAST);
    p->sampling.length = (size_t)length;
    p->sampling.label = p->label = nb_request_query(p->request, "label");
    return rc;
}

/* ---- the page -------------------------------------------------------------------------------- */

/* What cannot be drawn or listed is told on the page. */
static int put_reason(struct page *p, int rc, struct nb_error *error)
{
    if (rc != NB_CONFLICT)
        return rc;
    put(p, "<em>");
    put_text(p, nb_string_of(error->text));
    put(p, "</em>");
    return 0;
}

static int put_label(struct page *p, struct nb_error *error)
{
    struct nb_engine *engine = p->request->server->engine;
    struct nb_distribution_sink sink = {write_label, write_word, write_field, write_value, p};
    const struct nb_values_sink values = {write_number, write_category, write_set, write_member, p};
    put_form(p);
    int rc = nb_generate_sample(engine, p->request->model, &p->sampling, write_drawn, p, error);
    if (rc == 0)
        rc = nb_generate_values(engine, p->request->model, &p->sampling, &values, error);
    rc = put_reason(p, rc, error);
    put(p, "</blockquote>\n");
    if (rc != 0)
        return rc;
    rc = nb_generate_distribution(engine, p->request->model, p->label, WORDS, INTERVAL, &sink,
                                  error);
    if (rc == 0)
        put(p, "</table>\n");
    return put_reason(p, rc, error);
}

int nb_route_model_page(struct nb_request *request, struct nb_error *error)
{
    struct page p = {.request = request, .out = &request->reply.body};
    struct nb_model_info info;
    int rc = read_sampling(&p, error);
    if (rc == 0)
        rc = nb_engine_model(request->server->engine, request->model, &info, error);
    if (rc != 0)
        return rc;
    put_model(&p, &info);
    if (p.label.bytes != NULL && !info.is_damaged)
        rc = put_label(&p, error);
    nb_model_info_deinit(&info);
    put(&p, "</body>\n</html>\n");
    if (p.code != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        request->reply.policy = POLICY;
    return rc != 0 ? rc : nb_reply_with(request, 200, "text/html; charset=utf-8");
}
