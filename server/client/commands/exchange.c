/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/commands/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/label.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/http/call/path.h"

enum { NUMBER_ROOM = 32 /* bytes of a number as text */ };

/* ---- placeholders in braces ------------------------------------------------------------------ */

/* Returns the text of "{model}" or of an argument; NULL: `name` is neither. */
static const char *known_text(const struct nb_exchange_input *asked, struct nb_string name)
{
    if (nb_string_equals(name, "model"))
        return asked->client->model;
    if (name.length != 1 || name.bytes[0] < '0' || name.bytes[0] > '9')
        return NULL;
    assert((size_t)(name.bytes[0] - '0') < asked->count);
    return asked->arguments[name.bytes[0] - '0'];
}

/* ---- the request ----------------------------------------------------------------------------- */

/* Appends a NUL that the length does not count. */
static int end_text(struct nb_buffer *text)
{
    int rc = nb_buffer_append(text, "", 1);
    text->length -= rc == 0;
    return rc;
}

static int put_path(const char *pattern, const struct nb_exchange_input *asked,
                    struct nb_buffer *path)
{
    int rc = 0;
    while (rc == 0 && *pattern != '\0') {
        size_t length = strcspn(pattern, "{");
        rc = nb_buffer_append(path, pattern, length);
        pattern += length;
        if (rc != 0 || *pattern == '\0')
            continue;
        struct nb_string name = {pattern + 1, strcspn(pattern + 1, "}")};
        rc = nb_path_segment(path, known_text(asked, name));
        pattern = name.bytes + name.length + 1;
    }
    return rc == 0 ? end_text(path) : rc;
}

static const void *option_of(const struct nb_exchange_field *field,
                             const struct nb_exchange_input *asked)
{
    return (const char *)asked->options + field->offset;
}

static int put_parameter(const struct nb_exchange_field *field,
                         const struct nb_exchange_input *asked, struct nb_buffer *path)
{
    const void *at = option_of(field, asked);
    char number[NUMBER_ROOM] = "";
    assert(field->type != NB_FLAG_SWITCH && field->type != NB_FLAG_LIST); /* only in bodies */
    switch (field->type) {
    case NB_FLAG_TEXT:
        return nb_path_query(path, field->name, *(const char *const *)at);
    case NB_FLAG_COUNT:
        if (*(const uint64_t *)at == 0 && field->is_optional)
            return 0;
        (void)snprintf(number, sizeof number, "%" PRIu64, *(const uint64_t *)at);
        return nb_path_query(path, field->name, number);
    case NB_FLAG_NUMBER:
        (void)snprintf(number, sizeof number, "%.17g", *(const double *)at);
        return nb_path_query(path, field->name, number);
    case NB_FLAG_SWITCH:
    case NB_FLAG_LIST:
    default:
        return 0;
    }
}

static json_t *list_of(const struct nb_flag_list *list)
{
    json_t *array = json_array();
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < list->count; i++)
        rc = json_array_append_new(array, json_string(list->items[i]));
    if (rc == 0)
        return array;
    json_decref(array);
    return NULL;
}

static int put_member(const struct nb_exchange_field *field, const struct nb_exchange_input *asked,
                      json_t *body)
{
    const void *at = option_of(field, asked);
    json_t *value = NULL;
    switch (field->type) {
    case NB_FLAG_TEXT:
        if (*(const char *const *)at == NULL)
            return 0;
        value = json_string(*(const char *const *)at);
        break;
    case NB_FLAG_COUNT:
        if (*(const uint64_t *)at == 0 && field->is_optional)
            return 0;
        value = json_integer((json_int_t) * (const uint64_t *)at);
        break;
    case NB_FLAG_NUMBER:
        value = json_real(*(const double *)at);
        break;
    case NB_FLAG_SWITCH:
        if (!*(const bool *)at)
            return 0;
        value = json_true();
        break;
    case NB_FLAG_LIST:
    default:
        if (((const struct nb_flag_list *)at)->count == 0)
            return 0;
        value = list_of(at);
        break;
    }
    return json_object_set_new(body, field->name, value); /* fails if `value` is NULL */
}

/* Makes the body. *text is owned by the caller; NULL: the request has no body. */
static int put_body(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    char **text, struct nb_error *error)
{
    *text = NULL;
    if (asked->body == NULL && exchange->body[0].name == NULL && exchange->fill == NULL)
        return 0;
    json_t *body = asked->body != NULL ? json_incref(asked->body) : json_object();
    int rc = exchange->fill != NULL ? exchange->fill(asked, body, error) : 0;
    int put = 0;
    for (size_t i = 0; put == 0 && i < NB_EXCHANGE_FIELDS && exchange->body[i].name != NULL; i++)
        put = put_member(&exchange->body[i], asked, body);
    if (rc == 0 && put == 0)
        *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return rc != 0 || *text != NULL
               ? rc
               : nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
}

/* Appends the parameters to the path and checks a source. */
static int put_query(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                     struct nb_buffer *path)
{
    int rc = put_path(exchange->path, asked, path);
    for (size_t i = 0; rc == 0 && i < NB_EXCHANGE_FIELDS && exchange->query[i].name != NULL; i++)
        rc = put_parameter(&exchange->query[i], asked, path);
    return rc == 0 ? nb_path_query(path, "after", asked->after) : rc;
}

static int check_source(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                        struct nb_error *error)
{
    for (size_t i = 0; i < NB_EXCHANGE_FIELDS && exchange->query[i].name != NULL; i++)
        if (strcmp(exchange->query[i].name, "source") == 0)
            return nb_source_check(*(const char *const *)option_of(&exchange->query[i], asked),
                                   error);
    return 0;
}

int nb_exchange_ask(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    char *body = NULL;
    int rc = check_source(exchange, asked, error);
    if (rc == 0 && exchange->before != NULL)
        rc = exchange->before(asked, error);
    if (rc == 0 && put_query(exchange, asked, &path) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = put_body(exchange, asked, &body, error);
    const struct nb_call_request request = {.method = exchange->method,
                                            .path = path.bytes,
                                            .type = body != NULL ? "application/json" : asked->type,
                                            .give = asked->give,
                                            .user = asked->user,
                                            .body = nb_string_of(body != NULL ? body : ""),
                                            .headers = {asked->headers, asked->headers_size}};
    if (rc == 0)
        rc = asked->call != NULL ? nb_call_json(asked->call, &request, reply, error)
                                 : nb_call_once(&asked->client->daemon, &request, reply, error);
    free(body);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_exchange_run(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = nb_exchange_ask(exchange, asked, &reply, error);
    if (rc == 0)
        rc = nb_exchange_show(exchange, asked, reply, error);
    json_decref(reply);
    return rc;
}

int nb_exchange_pages(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                      int (*take)(void *user, json_t *page, struct nb_error *error), void *user,
                      struct nb_error *error)
{
    struct nb_exchange_input page_asked = *asked;
    struct nb_buffer after = {0};
    struct nb_call *call = NULL;
    int rc = asked->call == NULL ? nb_call_open(&asked->client->daemon, &call, error) : 0;
    bool has_more = true;
    if (asked->call == NULL)
        page_asked.call = call;
    while (rc == 0 && has_more) {
        json_t *page = NULL;
        rc = nb_exchange_ask(exchange, &page_asked, &page, error);
        const char *next = nb_answer_text(page, "next");
        has_more = *next != '\0';
        if (rc == 0 && has_more && after.length > 0 && strcmp(next, after.bytes) == 0)
            rc = nb_error_set(error, NB_CALL_PROTOCOL, "the pages of the listing do not advance");
        if (rc == 0)
            rc = take(user, page, error);
        after.length = 0;
        if (rc == 0 && (nb_buffer_puts(&after, next) != 0 || end_text(&after) != 0))
            rc = nb_error_no_memory(error);
        page_asked.after = after.bytes;
        json_decref(page);
    }
    nb_call_close(&call);
    nb_buffer_deinit(&after);
    return rc;
}

struct gathering {
    const char *name;
    json_t *all;
};

static int gather(void *user, json_t *page, struct nb_error *error)
{
    const struct gathering *g = user;
    return json_array_extend(g->all, json_object_get(page, g->name)) == 0
               ? 0
               : nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no %s", g->name);
}

int nb_exchange_all(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                    const char *name, json_t *all, struct nb_error *error)
{
    struct gathering g = {name, all};
    return all != NULL ? nb_exchange_pages(exchange, asked, gather, &g, error)
                       : nb_error_no_memory(error);
}

int nb_exchange_confirm(bool is_sure, const char *what, const char *done, struct nb_error *error,
                        const char *format, ...)
{
    char question[1024];
    va_list arguments;
    if (is_sure)
        return 0;
    if (!nb_ask_is_possible())
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "%s: say so with --yes, or call this on a terminal", what);
    va_start(arguments, format);
    (void)vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    return nb_ask("%s", question) ? 0 : nb_error_set(error, NB_INVALID, "nothing was %s", done);
}

int nb_exchange_check_model(const struct nb_client *client, struct nb_error *error)
{
    static const struct nb_exchange MODELS = {.method = "GET", .path = "/v1/models"};
    const struct nb_exchange_input asked = {.client = client};
    json_t *models = json_array(), *row = NULL;
    const json_t *model, *near = NULL;
    size_t i;
    int rc = nb_ask_is_possible() ? nb_answer_get(client, "", &row, error) : 0;
    if (rc == NB_NOT_FOUND)
        rc = nb_exchange_all(&MODELS, &asked, "models", models, error);
    json_array_foreach(models, i, model)
    {
        if (nb_label_difference_of(nb_string_of(client->model),
                                   nb_string_of(nb_answer_text(model, "name"))) != NB_LABEL_OTHER)
            near = model;
    }
    if (rc == 0 && near != NULL &&
        !nb_ask("The model '%s' is new, and there is '%s' with %s. Is it meant?", client->model,
                nb_answer_text(near, "name"),
                nb_counted(nb_answer_number(near, "documents"), "document").text))
        rc = nb_error_set(error, NB_INVALID, "the model '%s' was not made", client->model);
    json_decref(models);
    json_decref(row);
    return rc;
}

/* ---- the reply ------------------------------------------------------------------------------- */

/* Returns the member of the reply that "a.b" names; NULL: there is none. */
static const json_t *member_of(const json_t *reply, struct nb_string name)
{
    while (name.length > 0) {
        const char *dot = memchr(name.bytes, '.', name.length);
        size_t length = dot != NULL ? (size_t)(dot - name.bytes) : name.length;
        size_t taken = length + (dot != NULL);
        reply = json_object_getn(reply, name.bytes, length);
        name = (struct nb_string){name.bytes + taken, name.length - taken};
    }
    return reply;
}

static bool is_something(const json_t *value)
{
    const char *text = json_string_value(value);
    return value != NULL && !(json_is_integer(value) && json_integer_value(value) == 0) &&
           !(text != NULL && *text == '\0');
}

/* Prints "{member noun}". */
static void print_counted(struct nb_string name, const json_t *reply)
{
    char noun[32];
    size_t length = (size_t)((const char *)memchr(name.bytes, ' ', name.length) - name.bytes);
    json_int_t count = json_integer_value(member_of(reply, (struct nb_string){name.bytes, length}));
    (void)snprintf(noun, sizeof noun, "%.*s", (int)(name.length - length - 1),
                   name.bytes + length + 1);
    (void)fputs(nb_counted((uint64_t)count, noun).text, stdout);
}

static void print_name(struct nb_string name, const struct nb_exchange_input *asked,
                       const json_t *reply)
{
    const char *known = known_text(asked, name);
    struct nb_string rest = {name.bytes + 1, name.length - 1};
    assert(name.length > 0);
    if (known != NULL)
        (void)fputs(nb_shown(known).text, stdout);
    else if (name.bytes[0] == '#')
        (void)fputs(nb_figure_of((uint64_t)json_integer_value(member_of(reply, rest))).text,
                    stdout);
    else if (memchr(name.bytes, ' ', name.length) != NULL)
        print_counted(name, reply);
    else if (name.bytes[0] != '?')
        (void)fputs(nb_shown(json_string_value(member_of(reply, name))).text, stdout);
}

/* Prints a line and its line end. */
static void print_line(struct nb_string line, const struct nb_exchange_input *asked,
                       const json_t *reply)
{
    const char *at = line.bytes, *end = line.bytes + line.length;
    while (at < end) {
        const char *brace = memchr(at, '{', (size_t)(end - at));
        (void)fwrite(at, 1, (size_t)((brace != NULL ? brace : end) - at), stdout);
        if (brace == NULL)
            break;
        struct nb_string name = {brace + 1, strcspn(brace + 1, "}")};
        print_name(name, asked, reply);
        at = name.bytes + name.length + 1;
    }
}

void nb_exchange_text(const char *text, const struct nb_exchange_input *asked, const json_t *reply)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        struct nb_string line = {text, length + (text[length] == '\n')};
        struct nb_string needed = {text + 2, strcspn(text, "}") - 2};
        if (strncmp(text, "{?", 2) != 0 || is_something(member_of(reply, needed)))
            print_line(line, asked, reply);
        text += line.length;
    }
}

int nb_exchange_show(const struct nb_exchange *exchange, const struct nb_exchange_input *asked,
                     json_t *reply, struct nb_error *error)
{
    if (asked->client->json || (exchange->print == NULL && exchange->text == NULL))
        return reply != NULL ? nb_answer_print(reply, error) : 0;
    if (exchange->print != NULL)
        exchange->print(asked, reply);
    else
        nb_exchange_text(exchange->text, asked, reply);
    return 0;
}
