/* SPDX-License-Identifier: Apache-2.0
 *
 * The description of the API matches the daemon: it is compared with the router's table, the table
 * of settings and the replies that the codec writes.
 */
#include <check.h>
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/api/handlers.h"
#include "server/api/results.h"
#include "server/base/document_json.h"
#include "server/base/dump_json.h"
#include "server/base/evaluation_json.h"
#include "server/base/model_json.h"
#include "server/base/problem.h"
#include "server/base/settings_json.h"
#include "server/http/request.h"
#include "server/http/server.h"
#include "server/mail/filter.h"
#include "server/mail/rspamd.h"
#include "server/routes.h"
#include "tests/unit/run.h"

static json_t *api;

static void load(void)
{
    json_error_t fault;
    struct nb_string text = nb_openapi();
    api = json_loadb(text.bytes, text.length, JSON_REJECT_DUPLICATES, &fault);
    ck_assert_msg(api != NULL, "line %d: %s", fault.line, fault.text);
}

static void unload(void)
{
    json_decref(api);
}

/* Returns the value at the path of a JSON pointer ("components/schemas/Problem"), or NULL. */
static json_t *find(json_t *from, const char *path)
{
    char name[256];
    while (from != NULL && *path != '\0') {
        size_t length = strcspn(path, "/");
        ck_assert_uint_lt(length, sizeof name);
        memcpy(name, path, length);
        name[length] = '\0';
        from = json_object_get(from, name);
        path += length + (path[length] == '/');
    }
    return from;
}

static json_t *resolve(json_t *value)
{
    const char *reference = json_string_value(json_object_get(value, "$ref"));
    if (reference == NULL)
        return value;
    ck_assert_msg(strncmp(reference, "#/", 2) == 0, "%s", reference);
    json_t *target = find(api, reference + 2);
    ck_assert_msg(target != NULL, "%s leads nowhere", reference);
    return target;
}

static void check_references(json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;
    resolve(value);
    json_object_foreach(value, key, member) check_references(member);
    json_array_foreach(value, i, member) check_references(member);
}

START_TEST(it_is_openapi_3_1_and_every_reference_leads_somewhere)
{
    ck_assert_int_eq(strncmp(json_string_value(json_object_get(api, "openapi")), "3.1.", 4), 0);
    ck_assert_str_eq(json_string_value(find(api, "info/license/identifier")), "Apache-2.0");
    check_references(api);
}
END_TEST

/* ---- against the router ---------------------------------------------------------------------- */

static json_t *operation_of(const struct nb_route *route)
{
    char method[16];
    size_t i = 0;
    for (; route->method[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)tolower((unsigned char)route->method[i]);
    method[i] = '\0';
    json_t *path = json_object_get(json_object_get(api, "paths"), route->pattern);
    json_t *operation = json_object_get(path, method);
    ck_assert_msg(operation != NULL, "%s %s is not described", route->method, route->pattern);
    return operation;
}

START_TEST(every_route_is_described_and_nothing_else)
{
    static const char *const others[] = {"parameters", "summary", "description"};
    size_t count, described = 0;
    const struct nb_route *routes = nb_route_table(&count);
    ck_assert_uint_gt(count, 10);
    for (size_t i = 0; i < count; i++)
        operation_of(&routes[i]);
    const char *path;
    json_t *item;
    json_object_foreach(json_object_get(api, "paths"), path, item)
    {
        described += json_object_size(item);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            described -= json_object_get(item, others[i]) != NULL;
    }
    ck_assert_uint_eq(described, count);
}
END_TEST

/* Returns whether a list of parameters has one with this name and place. */
static bool has_parameter(json_t *list, const char *name, size_t length, const char *in)
{
    size_t i;
    json_t *entry;
    json_array_foreach(list, i, entry)
    {
        json_t *parameter = resolve(entry);
        const char *its = json_string_value(json_object_get(parameter, "name"));
        if (strcmp(json_string_value(json_object_get(parameter, "in")), in) == 0 &&
            strlen(its) == length && memcmp(its, name, length) == 0)
            return true;
    }
    return false;
}

static size_t count_parameters(json_t *list, const char *in)
{
    size_t i, count = 0;
    json_t *entry;
    json_array_foreach(list, i, entry) count +=
        strcmp(json_string_value(json_object_get(resolve(entry), "in")), in) == 0;
    return count;
}

START_TEST(parameters_are_those_of_the_routes)
{
    size_t count;
    const struct nb_route *routes = nb_route_table(&count);
    for (size_t i = 0; i < count; i++) {
        const struct nb_route *r = &routes[i];
        json_t *own = json_object_get(operation_of(r), "parameters");
        json_t *shared = json_object_get(json_object_get(json_object_get(api, "paths"), r->pattern),
                                         "parameters");
        size_t query = 0, path = 0;
        for (; r->query != NULL && r->query[query] != NULL; query++)
            ck_assert_msg(has_parameter(own, r->query[query], strlen(r->query[query]), "query"),
                          "%s %s?%s", r->method, r->pattern, r->query[query]);
        ck_assert_msg(count_parameters(own, "query") == query, "%s %s", r->method, r->pattern);
        for (const char *p = strchr(r->pattern, '{'); p != NULL; p = strchr(p + 1, '{'), path++)
            ck_assert_msg(has_parameter(shared, p + 1, strcspn(p + 1, "}"), "path"), "%s %s",
                          r->method, r->pattern);
        ck_assert_msg(count_parameters(shared, "path") == path, "%s %s", r->method, r->pattern);
    }
}
END_TEST

START_TEST(bodies_are_those_of_the_routes)
{
    static const char *const documents[] = {
        "application/json", "application/x-ndjson", "text/plain", "text/html",
        "message/rfc822",   "application/mbox",     "text/csv"};
    static const char *const rows[] = {"application/json", "application/x-ndjson", "text/csv"};
    size_t count;
    const struct nb_route *routes = nb_route_table(&count);
    for (size_t i = 0; i < count; i++) {
        const struct nb_route *r = &routes[i];
        json_t *body = resolve(json_object_get(operation_of(r), "requestBody"));
        json_t *content = json_object_get(body, "content");
        bool is_form = r->handler == nb_route_rspamd_check_form;
        bool any = r->protocol->is_for_mail && r->body != NB_BODY_NONE && !is_form;
        size_t types = r->body == NB_BODY_NONE                ? 0
                       : is_form                              ? 1
                       : r->body == NB_BODY_DOCUMENTS && !any ? sizeof documents / sizeof *documents
                       : r->body == NB_BODY_ROWS              ? sizeof rows / sizeof *rows
                                                              : 1;
        ck_assert_msg(json_object_size(content) == types, "%s %s", r->method, r->pattern);
        ck_assert_msg((json_object_get(content, "*/*") != NULL) == any, "%s", r->pattern);
        ck_assert_msg((json_object_get(content, "multipart/form-data") != NULL) == is_form, "%s",
                      r->pattern);
        for (size_t t = 0; types > 1 && t < types; t++)
            ck_assert_ptr_nonnull(
                json_object_get(content, r->body == NB_BODY_ROWS ? rows[t] : documents[t]));
        if (r->body == NB_BODY_SETTINGS)
            ck_assert_ptr_nonnull(json_object_get(content, "application/json"));
        if (r->body == NB_BODY_DUMP)
            ck_assert_ptr_nonnull(json_object_get(content, "application/x-ndjson"));
    }
}
END_TEST

/* Checks the media type of a response. After a wrong method (405) no route is known, so the error
 * never has rspamd's form. */
static void check_response(const struct nb_route *route, const char *status, json_t *response)
{
    json_t *content = json_object_get(response, "content");
    bool is_rspamd = route->protocol->is_for_mail && strcmp(status, "405") != 0;
    bool is_error = status[0] >= '4', is_described = is_error;
    if (is_error)
        is_described = is_rspamd ? json_object_get(content, "application/json") != NULL
                                 : json_object_get(content, "application/problem+json") != NULL;
    ck_assert_ptr_nonnull(json_object_get(response, "description"));
    ck_assert_msg(is_described == is_error, "%s %s", route->pattern, status);
    ck_assert_msg(is_error || json_object_get(content, "application/problem+json") == NULL, "%s %s",
                  route->pattern, status);
}

/* Every operation has 400 for an unknown query parameter, and 405; one with a body has further
 * errors. rspamd's clients may send no body, a body of any type, and any user. */
START_TEST(every_operation_says_how_it_fails)
{
    static const struct {
        const char *status;
        bool with_body, of_rspamd;
    } table[] = {{"400", false, true}, {"403", false, true}, {"405", false, true},
                 {"411", true, false}, {"413", true, true},  {"415", true, false},
                 {"422", true, false}, {"503", true, true}};
    size_t count;
    const struct nb_route *routes = nb_route_table(&count);
    for (size_t i = 0; i < count; i++) {
        json_t *responses = json_object_get(operation_of(&routes[i]), "responses");
        for (size_t s = 0; s < sizeof table / sizeof *table; s++)
            if ((!table[s].with_body || routes[i].body != NB_BODY_NONE) &&
                (!routes[i].protocol->is_for_mail || table[s].of_rspamd))
                ck_assert_msg(json_object_get(responses, table[s].status) != NULL, "%s: no %s",
                              routes[i].pattern, table[s].status);
        const char *status;
        json_t *response;
        size_t successes = 0;
        json_object_foreach(responses, status, response)
        {
            successes += status[0] == '2';
            check_response(&routes[i], status, resolve(response));
        }
        ck_assert_uint_ge(successes, 1);
    }
}
END_TEST

/* ---- against the table of settings ----------------------------------------------------------- */

static void check_names(json_t *list, const char *const *names, size_t count)
{
    ck_assert_uint_eq(json_array_size(list), count);
    for (size_t i = 0; i < count; i++)
        ck_assert_str_eq(json_string_value(json_array_get(list, i)), names[i]);
}

static size_t name_count(const char *const *names)
{
    size_t count = 0;
    while (names[count] != NULL)
        count++;
    return count;
}

static void check_range(const struct nb_setting *setting, json_t *schema)
{
    const char *minimum = setting->exclusive_minimum ? "exclusiveMinimum" : "minimum";
    ck_assert(json_number_value(json_object_get(schema, minimum)) == setting->minimum);
    ck_assert(json_number_value(json_object_get(schema, "maximum")) == setting->maximum);
}

START_TEST(settings_are_those_of_the_table)
{
    size_t count;
    const struct nb_setting *table = nb_settings_table(&count);
    struct nb_settings defaults;
    struct nb_buffer out = {0};
    nb_settings_init(&defaults, NB_PRESET_TEXT);
    ck_assert_int_eq(nb_json_settings(&out, &defaults), 0);
    json_t *values = json_loadb(out.bytes, out.length, 0, NULL);
    json_t *properties = find(api, "components/schemas/Settings/properties");
    json_t *required = find(api, "components/schemas/ModelSettings/required");
    ck_assert_uint_eq(json_object_size(properties), count);
    ck_assert_uint_eq(json_array_size(required), count);
    ck_assert_ptr_null(json_object_get(find(api, "components/schemas/Settings"), "required"));
    for (size_t i = 0; i < count; i++) {
        json_t *schema = json_object_get(properties, table[i].name);
        ck_assert_msg(schema != NULL, "%s", table[i].name);
        ck_assert_ptr_null(json_object_get(schema, "default"));
        json_t *said = json_object_get(schema, "x-default");
        json_t *is = json_object_get(values, table[i].name);
        switch (table[i].type) {
        case NB_SETTING_ENUM:
            check_names(json_object_get(schema, "enum"), table[i].names,
                        name_count(table[i].names));
            break;
        case NB_SETTING_DOUBLE:
        case NB_SETTING_COUNT:
            check_range(&table[i], schema);
            break;
        case NB_SETTING_WEIGHT:
            check_range(&table[i], json_array_get(json_object_get(schema, "oneOf"), 1));
            break;
        case NB_SETTING_BOOL:
            ck_assert_str_eq(json_string_value(json_object_get(schema, "type")), "boolean");
            break;
        case NB_SETTING_MODEL:
        case NB_SETTING_HOST:
            ck_assert_str_eq(json_string_value(json_array_get(json_object_get(schema, "type"), 0)),
                             "string");
            break;
        case NB_SETTING_PRIOR:
            check_names(
                json_object_get(json_array_get(json_object_get(schema, "oneOf"), 0), "enum"),
                table[i].names, NB_PRIOR_GIVEN);
            check_range(&table[i],
                        json_object_get(json_array_get(json_object_get(schema, "oneOf"), 1),
                                        "additionalProperties"));
            break;
        case NB_SETTING_THRESHOLDS:
            check_range(&table[i], json_array_get(find(schema, "additionalProperties/oneOf"), 0));
            break;
        case NB_SETTING_SMOOTHING:
            check_range(&table[i], json_array_get(json_object_get(schema, "oneOf"), 0));
            check_names(
                find(json_array_get(json_object_get(schema, "oneOf"), 3), "properties/p/enum"),
                nb_smoothing_p_names, name_count(nb_smoothing_p_names));
            break;
        case NB_SETTING_ATTRIBUTES:
            check_names(find(schema, "additionalProperties/enum"), table[i].names,
                        name_count(table[i].names));
            break;
        case NB_SETTING_FIELDS:
            check_names(find(schema, "properties/fields/items/enum"), table[i].names,
                        name_count(table[i].names));
            said = find(schema, "properties/fields/x-default");
            is = json_object_get(is, "fields");
            break;
        }
        ck_assert_msg(json_equal(said, is), "default of %s", table[i].name);
    }
    json_decref(values);
    nb_buffer_deinit(&out);
}
END_TEST

/* ---- against the replies --------------------------------------------------------------------- */

static bool conforms(json_t *schema, json_t *value);

static bool has_type(const char *type, const json_t *value)
{
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    return strcmp(type, "number") == 0 ? json_is_number(value) : json_is_null(value);
}

static bool type_fits(json_t *types, const json_t *value)
{
    size_t i;
    json_t *type;
    if (types == NULL || json_is_string(types))
        return types == NULL || has_type(json_string_value(types), value);
    json_array_foreach(types, i, type) if (has_type(json_string_value(type), value)) return true;
    return false;
}

static bool has_required(json_t *schema, json_t *value)
{
    json_t *member;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i,
                       member) if (json_object_get(value, json_string_value(member)) ==
                                   NULL) return false;
    return true;
}

/* Checks the members of an object. An undescribed member is an error here, though clients ignore
 * it. */
static bool members_fit(json_t *schema, json_t *value)
{
    const char *key;
    json_t *member;
    if (!has_required(schema, value))
        return false;
    json_object_foreach(value, key, member)
    {
        json_t *its = json_object_get(json_object_get(schema, "properties"), key);
        if (its == NULL)
            its = json_object_get(schema, "additionalProperties");
        if (its == NULL || !json_is_object(its) || !conforms(its, member))
            return false;
    }
    return true;
}

/* Implements as much of JSON Schema as the description's replies use. */
static bool conforms(json_t *schema, json_t *value)
{
    size_t i;
    json_t *entry;
    schema = resolve(schema);
    json_t *constant = json_object_get(schema, "const");
    if (constant != NULL && !json_equal(constant, value))
        return false;
    if (!type_fits(json_object_get(schema, "type"), value))
        return false;
    json_t *list = json_object_get(schema, "enum");
    bool found = list == NULL;
    json_array_foreach(list, i, entry) found = found || json_equal(entry, value);
    json_t *choices = json_object_get(schema, "oneOf");
    size_t fitting = choices == NULL;
    json_array_foreach(choices, i, entry) fitting += conforms(entry, value);
    if (!found || fitting != 1)
        return false;
    json_t *all = json_object_get(schema, "allOf");
    json_array_foreach(all, i, entry) if (!conforms(entry, value)) return false;
    if (all != NULL)
        return has_required(schema, value);
    json_array_foreach(value, i,
                       entry) if (!conforms(json_object_get(schema, "items"), entry)) return false;
    return !json_is_object(value) || choices != NULL || members_fit(schema, value);
}

/* Checks that the reply in `out` conforms to the schema, and frees it. */
static void answers(struct nb_buffer *out, const char *schema)
{
    char path[128];
    snprintf(path, sizeof path, "components/schemas/%s", schema);
    json_t *value = json_loadb(out->bytes, out->length, 0, NULL);
    ck_assert_msg(conforms(find(api, path), value), "not a %s: %.*s", schema, (int)out->length,
                  out->bytes);
    json_object_set_new(value, "undescribed", json_true());
    ck_assert_msg(!conforms(find(api, path), value), "%s takes anything", schema);
    json_decref(value);
    nb_buffer_deinit(out);
}

static const struct nb_string model = {"mail", 4};

/* Makes a reply from the given results, in a batch also from an error, and compares it with the
 * schema. */
static void replies(enum nb_verb verb, enum nb_results_form form, const char *schema,
                    const struct nb_receipt *receipt, const struct nb_verdict *verdict,
                    const struct nb_bag *bag)
{
    static struct nb_config config = {.spool_memory = 1 << 20, .reply_memory = 1 << 30};
    static struct nb_server server;
    nb_budgets_limit(server.budgets, &config);
    struct nb_route route = {.verb = (int)verb};
    struct nb_request request = {
        .server = &server, .config = &config, .route = &route, .model = model};
    struct nb_results results;
    struct nb_error error, bad;
    struct nb_json_decision decision = {"unsure", "why"};
    nb_error_set(&bad, NB_INVALID, "bad");
    nb_results_begin(&results, &request, form, &error);
    if (receipt != NULL)
        nb_results_receipt(&results, receipt, &error);
    if (verdict != NULL)
        nb_results_verdict(&results, verdict, &decision, &error);
    if (bag != NULL)
        nb_results_tokens(&results, bag, &error);
    if (form == NB_RESULTS_BATCH)
        nb_results_error(&results, &bad, &error);
    nb_results_end(&results, &error);
    answers(form == NB_RESULTS_BATCH ? &request.reply.spool.tail : &request.reply.body, schema);
}

START_TEST(receipts_are_as_described)
{
    struct nb_label_documents labels[] = {{"ham", 1}};
    for (enum nb_status status = NB_LEARNED; status <= NB_FORGOTTEN; status++) {
        struct nb_receipt receipt = {.status = status,
                                     .id = {"1", 1},
                                     .label = {"ham", 3},
                                     .previous_label = {"spam", 4},
                                     .truncated = true,
                                     .labels = labels,
                                     .label_count = 1};
        replies(NB_VERB_TRAIN, NB_RESULTS_ONE, "Receipt", &receipt, NULL, NULL);
        replies(status == NB_FORGOTTEN ? NB_VERB_UNTRAIN : NB_VERB_TRAIN, NB_RESULTS_BATCH,
                status == NB_FORGOTTEN ? "UntrainResults" : "TrainResults", &receipt, NULL, NULL);
    }
}
END_TEST

START_TEST(readings_are_as_described)
{
    const char *labels[] = {"ham"};
    uint64_t documents[] = {3};
    double scores[] = {-1.5}, probabilities[] = {1};
    struct nb_explained rows[] = {{.token = {"a", 1}, .count = 1, .evidence = 2},
                                  {.evidence = 0.5}};
    struct nb_verdict verdict = {.size = 1,
                                 .labels = labels,
                                 .documents = documents,
                                 .log_scores = scores,
                                 .probabilities = probabilities,
                                 .stacked = true,
                                 .calibrated = true,
                                 .truncated = true,
                                 .explanation = rows,
                                 .explanation_count = 2};
    struct nb_feature features[] = {{1, 2, 0}};
    struct nb_string texts[] = {{"free", 4}};
    struct nb_bag bag = {.features = features, .texts = texts, .size = 1, .truncated = true};
    struct nb_buffer out = {0};
    replies(NB_VERB_CLASSIFY, NB_RESULTS_ONE, "Verdict", NULL, &verdict, NULL);
    replies(NB_VERB_CLASSIFY, NB_RESULTS_BATCH, "ClassifyResults", NULL, &verdict, NULL);
    replies(NB_VERB_TOKENIZE, NB_RESULTS_ONE, "Tokens", NULL, NULL, &bag);
    replies(NB_VERB_TOKENIZE, NB_RESULTS_BATCH, "TokenizeResults", NULL, NULL, &bag);
    const struct nb_problem problem = {
        .status = 404, .detail = "no such path", .param = "x", .request = 1};
    nb_json_problem(&out, &problem);
    answers(&out, "Problem");
}
END_TEST

START_TEST(mail_filters_are_as_described)
{
    struct nb_config config;
    struct nb_filter_report report = {.action = NB_FILTER_REWRITE_SUBJECT,
                                      .status = "spam",
                                      .note = "",
                                      .log_odds = 3,
                                      .model = "mail",
                                      .message_id = "a@b",
                                      .subject = "spam",
                                      .symbols = {{"BAYES_SPAM", "why", "a, b", 3}},
                                      .symbol_count = 1};
    const uint64_t actions[NB_FILTER_ACTIONS] = {1, 2, 3, 4};
    const struct nb_json_rspamd_stat stat = {.actions = actions, .version = "1"};
    char of_bob[] = "mail-bob\0ham, probability=0.9000, model=mail-bob";
    const struct nb_buffer each = {of_bob, sizeof of_bob, sizeof of_bob};
    struct nb_buffer out = {0};
    ck_assert_int_eq(nb_config_init(&config, NULL), 0);
    for (; report.action < NB_FILTER_ACTIONS; report.action++) {
        nb_json_rspamd_report(&out, &config, &report, &each, NB_JSON_RSPAMD_V2, 0.5);
        answers(&out, "RspamdReport");
        nb_json_rspamd_report(&out, &config, &report, &each, NB_JSON_RSPAMD_OLD, 0.5);
        answers(&out, "RspamdOldReport");
    }
    nb_config_deinit(&config);
    nb_json_rspamd_error(&out, 400, "bad");
    answers(&out, "RspamdError");
    nb_json_rspamd_error(&out, 503, NULL);
    answers(&out, "RspamdFailure");
    nb_json_rspamd_learned(&out);
    answers(&out, "RspamdSuccess");
    nb_json_rspamd_unchanged(&out, "", "ham");
    answers(&out, "RspamdAlreadyLearned");
    nb_json_rspamd_stat(&out, &stat);
    answers(&out, "RspamdStat");
    nb_json_rspamd_auth(&out, "1", 2);
    answers(&out, "RspamdAuth");
}
END_TEST

START_TEST(models_and_listings_are_as_described)
{
    struct nb_label_info label = {(char[]){"ham"}, 1, 2};
    struct nb_model_info info = {.name = (char[]){"a"}, .labels = &label, .label_count = 1};
    static const char *const labels[] = {"ham"};
    uint64_t counts[] = {1};
    struct nb_telling_token token = {{"t", 1}, counts, 1.5};
    struct nb_document_info document = {
        .label = (char[]){"ham"}, .source = (char[]){""}, .tokens = 1};
    struct nb_buffer out = {0};
    struct nb_json_vocabulary vocabulary = {.out = &out};
    nb_settings_init(&info.settings, NB_PRESET_MAIL);
    nb_json_model(&out, &info, true);
    answers(&out, "Model");
    nb_json_models(&out, &info, 1, true);
    answers(&out, "Models");
    struct nb_model_info damaged = {
        .name = (char[]){"b"}, .is_damaged = true, .damage = (char[]){"a checksum"}};
    nb_json_model(&out, &damaged, true);
    answers(&out, "DamagedModel");
    nb_json_models(&out, &damaged, 1, false);
    answers(&out, "Models");
    nb_json_vocabulary_begin(&vocabulary, 1, labels, 1);
    nb_json_vocabulary_token(&vocabulary, &token);
    nb_json_vocabulary_end(&vocabulary);
    answers(&out, "Vocabulary");
    nb_json_document_info(&out, model, &document);
    answers(&out, "DocumentInfo");
}
END_TEST

/* Two windows: one with figures, and one in which all figures are undefined. */
START_TEST(evaluations_are_as_described)
{
    static const uint32_t numbers[] = {1, 0};
    char *labels[] = {(char[]){"ham"}, (char[]){"spam"}};
    struct nb_evaluator *evaluator;
    struct nb_evaluation_report report = {.windows = {1000, 0},
                                          .window_count = 2,
                                          .labels = labels,
                                          .label_count = 2,
                                          .positive = 1,
                                          .has_threshold = true,
                                          .target_rate = 0.5};
    struct nb_told_threshold thresholds[] = {
        {.label = labels[0], .threshold = 0.75},
        {.label = labels[1], .threshold = (double)INFINITY, .wished = 0.9}};
    struct nb_buffer out = {0};
    report.thresholds = thresholds;
    report.threshold_count = 2;
    ck_assert_int_eq(nb_evaluator_new(numbers, 2, 1, &evaluator), 0);
    nb_evaluator_finish(evaluator, 0, &report.evaluations[1]);
    for (uint32_t i = 0; i < 4; i++) {
        double p[] = {0.25 * i, 1 - 0.25 * i};
        struct nb_stored_score scored = {i % 2, 2, numbers, p, (double)i};
        ck_assert_int_eq(nb_evaluator_add(evaluator, &scored), 0);
    }
    nb_evaluator_finish(evaluator, 0, &report.evaluations[0]);
    nb_json_evaluation(&out, model, &report);
    answers(&out, "Evaluation");
    for (size_t i = 0; i < 2; i++)
        nb_evaluation_deinit(&report.evaluations[i]);
    nb_evaluator_free(&evaluator);
}
END_TEST

START_TEST(dumps_are_as_described)
{
    const char *labels[] = {"ham"};
    uint64_t ids[] = {1};
    struct nb_string texts[] = {{"a", 1}};
    uint32_t numbers[] = {1};
    struct nb_dump_header header = {.label_count = 1, .labels = labels};
    struct nb_dump_words words = {.count = 1, .ids = ids};
    struct nb_dump_document document = {
        .id = {"1", 1}, .rows = numbers, .counts = numbers, .size = 1};
    struct nb_buffer out = {0};
    nb_settings_init(&header.settings, NB_PRESET_TEXT);
    nb_json_dump_header(&out, &header);
    answers(&out, "DumpHeader");
    nb_json_dump_words(&out, &words);
    answers(&out, "DumpWords");
    words.texts = texts;
    nb_json_dump_words(&out, &words);
    answers(&out, "DumpLine");
    nb_json_dump_document(&out, &document);
    answers(&out, "DumpDocument");
    nb_json_dump_end(&out, &(struct nb_dump_totals){1, 1, 1});
    answers(&out, "DumpEnd");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi");
    TCase *tests = tcase_create("openapi");
    tcase_add_checked_fixture(tests, load, unload);
    tcase_add_test(tests, it_is_openapi_3_1_and_every_reference_leads_somewhere);
    tcase_add_test(tests, every_route_is_described_and_nothing_else);
    tcase_add_test(tests, parameters_are_those_of_the_routes);
    tcase_add_test(tests, bodies_are_those_of_the_routes);
    tcase_add_test(tests, every_operation_says_how_it_fails);
    tcase_add_test(tests, settings_are_those_of_the_table);
    tcase_add_test(tests, receipts_are_as_described);
    tcase_add_test(tests, readings_are_as_described);
    tcase_add_test(tests, mail_filters_are_as_described);
    tcase_add_test(tests, models_and_listings_are_as_described);
    tcase_add_test(tests, evaluations_are_as_described);
    tcase_add_test(tests, dumps_are_as_described);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
