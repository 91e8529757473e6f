/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/exchange.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/names.h"
#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/http/call/path.h"

enum { NUMBER_ROOM = 32 /* bytes of a number as text */ };

/* ---- placeholders in braces ------------------------------------------------------------------ */

/* Returns the text of "{model}" or of an argument; NULL: `name` is neither. */
static const char *known_text(const struct nb_asked *asked, struct nb_string name)
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

static int put_path(const char *pattern, const struct nb_asked *asked, struct nb_buffer *path)
{
    int rc = 0;
    while (rc == 0 && *pattern != '\0') {
        size_t length = strcspn(pattern, "{");
        rc = nb_buffer_append(path, pattern, length);
        pattern += length;
        if (rc != 0 || *pattern == '\0')
            continue;
        struct nb_string name = {pattern + 1, strcspn(pattern + 1, "}")};
        assert(name.bytes[name.length] == '}' && known_text(asked, name) != NULL); /* of a table */
        rc = nb_path_segment(path, known_text(asked, name));
        pattern = name.bytes + name.length + 1;
    }
    return rc == 0 ? end_text(path) : rc;
}

/* Finds the flag of a field, "NAME" or "NAME=FLAG", and its option; sets *name to the name under
 * which the value is sent. Returns NULL when the option has no value. */
static const void *option_of(const char *field, const struct nb_asked *asked,
                             const struct nb_flag **flag, struct nb_string *name)
{
    const char *equals = strchr(field, '=');
    *name = (struct nb_string){field, equals != NULL ? (size_t)(equals - field) : strlen(field)};
    size_t i = 0;
    while (i < asked->command->flag_count &&
           strcmp(asked->command->flags[i].name, equals != NULL ? equals + 1 : field) != 0)
        i++;
    assert(i < asked->command->flag_count);
    *flag = &asked->command->flags[i];
    const void *at = (const char *)asked->options + (*flag)->offset;
    bool has = true;
    switch ((*flag)->type) {
    case NB_FLAG_SWITCH:
        has = *(const bool *)at;
        break;
    case NB_FLAG_TEXT:
        has = *(const char *const *)at != NULL;
        break;
    case NB_FLAG_COUNT:
        has = (double)*(const uint64_t *)at >= (*flag)->least;
        break;
    case NB_FLAG_NUMBER:
        has = *(const double *)at >= (*flag)->least;
        break;
    case NB_FLAG_LIST:
    default:
        has = ((const struct nb_flag_list *)at)->count > 0;
        break;
    }
    return has ? at : NULL;
}

static int put_parameter(const char *field, const struct nb_asked *asked, struct nb_buffer *path,
                         struct nb_error *error)
{
    const struct nb_flag *flag;
    struct nb_string name;
    const void *at = option_of(field, asked, &flag, &name);
    char key[NUMBER_ROOM], number[NUMBER_ROOM] = "1"; /* of a switch */
    if (at == NULL)
        return 0;
    bool is_text = flag->type == NB_FLAG_TEXT;
    const char *text = is_text ? *(const char *const *)at : number;
    assert(name.length < sizeof key);
    (void)snprintf(key, sizeof key, "%.*s", (int)name.length, name.bytes);
    assert(flag->type != NB_FLAG_LIST); /* only in bodies */
    if (flag->type == NB_FLAG_COUNT)
        (void)snprintf(number, sizeof number, "%" PRIu64, *(const uint64_t *)at);
    else if (flag->type == NB_FLAG_NUMBER)
        (void)snprintf(number, sizeof number, "%.17g", *(const double *)at);
    int rc = strcmp(key, "source") == 0 ? nb_source_check(text, error) : 0;
    if (rc == 0 && nb_path_query(path, key, text) != 0)
        rc = nb_error_no_memory(error);
    return rc;
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

static int put_member(const char *field, const struct nb_asked *asked, json_t *body)
{
    const struct nb_flag *flag;
    struct nb_string name;
    const void *at = option_of(field, asked, &flag, &name);
    json_t *value = NULL;
    if (at == NULL)
        return 0;
    if (flag->type == NB_FLAG_TEXT)
        value = json_string(*(const char *const *)at);
    else if (flag->type == NB_FLAG_COUNT)
        value = json_integer((json_int_t) * (const uint64_t *)at);
    else if (flag->type == NB_FLAG_NUMBER)
        value = json_real(*(const double *)at);
    else
        value = flag->type == NB_FLAG_SWITCH ? json_true() : list_of(at);
    return json_object_setn_new(body, name.bytes, name.length, value); /* fails without `value` */
}

/* Makes the body. *text is owned by the caller; NULL: the request has no body. */
static int put_body(const struct nb_exchange *exchange, const struct nb_asked *asked, char **text,
                    struct nb_error *error)
{
    *text = NULL;
    if (asked->body == NULL && exchange->body[0] == NULL && exchange->fill == NULL)
        return 0;
    json_t *body = asked->body != NULL ? json_incref(asked->body) : json_object();
    int rc = exchange->fill != NULL ? exchange->fill(asked, body, error) : 0;
    int put = 0;
    for (size_t i = 0; put == 0 && i < NB_EXCHANGE_FIELDS && exchange->body[i] != NULL; i++)
        put = put_member(exchange->body[i], asked, body);
    if (rc == 0 && put == 0)
        *text = json_dumps(body, JSON_COMPACT);
    json_decref(body);
    return rc != 0 || *text != NULL
               ? rc
               : nb_error_set(error, NB_CLIENT_USAGE, "names, times and ids are UTF-8");
}

int nb_exchange_path(const struct nb_exchange *exchange, const struct nb_asked *asked,
                     struct nb_buffer *path, struct nb_error *error)
{
    int rc = put_path(exchange->path, asked, path) == 0 ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; rc == 0 && i < NB_EXCHANGE_FIELDS && exchange->query[i] != NULL; i++)
        rc = put_parameter(exchange->query[i], asked, path, error);
    for (size_t i = 0; rc == 0 && i < NB_ASKED_MORE; i++)
        if (nb_path_query(path, asked->more[i].name, asked->more[i].value) != 0)
            rc = nb_error_no_memory(error);
    return rc;
}

/* Makes one request. */
static int ask_once(const struct nb_exchange *exchange, const struct nb_asked *asked,
                    json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    char *body = NULL;
    int rc = nb_exchange_path(exchange, asked, &path, error);
    if (rc == 0)
        rc = put_body(exchange, asked, &body, error);
    const struct nb_call_request request = {
        .method = exchange->method,
        .path = path.bytes,
        .type = body != NULL ? "application/json" : asked->type,
        .encoding = asked->encoding,
        .give = asked->give,
        .user = asked->user,
        .body = body != NULL ? nb_string_of(body) : asked->content,
        .headers = {asked->header, asked->header != NULL ? strlen(asked->header) + 1 : 0}};
    if (rc == 0)
        rc = asked->call != NULL ? nb_call_json(asked->call, &request, reply, error)
                                 : nb_call_once(&asked->client->daemon, &request, reply, error);
    free(body);
    nb_buffer_deinit(&path);
    return rc;
}

/* Adds the rows of a page to those of `all`, which may be the same page. Removes the name of the
 * next page from `all`. */
static int add_page(const char *rows, json_t *all, json_t *page, struct nb_error *error)
{
    json_t *own = json_object_get(all, rows), *more = json_object_get(page, rows);
    (void)json_object_del(all, "next");
    return json_is_array(more) && (all == page || json_array_extend(own, more) == 0)
               ? 0
               : nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no %s", rows);
}

/* Asks for all pages, on one connection. */
static int ask_all(const struct nb_exchange *exchange, const struct nb_asked *asked, json_t **reply,
                   struct nb_error *error)
{
    struct nb_asked page_asked = *asked;
    struct nb_call *call = NULL;
    json_t *next = NULL;
    size_t after = 0;
    while (after + 1 < NB_ASKED_MORE && asked->more[after].value != NULL)
        after++;
    page_asked.more[after].name = "after";
    int rc = asked->call == NULL ? nb_call_open(&asked->client->daemon, &call, error) : 0;
    page_asked.call = asked->call != NULL ? asked->call : call;
    do {
        json_t *page = NULL;
        if (rc == 0)
            rc = ask_once(exchange, &page_asked, &page, error);
        json_t *before = next;
        next = json_incref(json_object_get(page, "next"));
        page_asked.more[after].value =
            json_string_length(next) > 0 ? json_string_value(next) : NULL;
        if (rc == 0 && before != NULL && json_equal(before, next))
            rc = nb_error_set(error, NB_CALL_PROTOCOL, "the pages of the listing do not advance");
        *reply = *reply != NULL ? *reply : json_incref(page);
        if (rc == 0)
            rc = add_page(exchange->rows, *reply, page, error);
        json_decref(before);
        json_decref(page);
    } while (rc == 0 && page_asked.more[after].value != NULL);
    json_decref(next);
    nb_call_close(&call);
    return rc;
}

int nb_exchange_ask(const struct nb_exchange *exchange, const struct nb_asked *asked,
                    json_t **reply, struct nb_error *error)
{
    *reply = NULL;
    int rc = exchange->before != NULL ? exchange->before(asked, error) : 0;
    if (rc == 0)
        rc = (exchange->is_listing ? ask_all : ask_once)(exchange, asked, reply, error);
    return rc;
}

int nb_exchange_run(const struct nb_exchange *exchange, const struct nb_asked *asked,
                    struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = nb_exchange_ask(exchange, asked, &reply, error);
    if (rc == 0)
        rc = nb_exchange_show(exchange, asked, reply, error);
    json_decref(reply);
    return rc;
}

struct fetching {
    FILE *out;
    bool is_broken; /* `out` cannot be written */
    int (*check)(void *user, const char *bytes, size_t length);
    void *user;
};

static int take_bytes(void *user, const char *bytes, size_t length)
{
    struct fetching *f = user;
    f->is_broken = fwrite(bytes, 1, length, f->out) != length;
    if (f->is_broken)
        return NB_IO;
    return f->check != NULL ? f->check(f->user, bytes, length) : 0;
}

int nb_exchange_fetch(const struct nb_exchange *exchange, const struct nb_asked *asked, FILE *out,
                      int (*check)(void *user, const char *bytes, size_t length), void *user,
                      struct nb_error *error)
{
    struct fetching f = {.out = out, .check = check, .user = user};
    struct nb_buffer path = {0}, reply = {0};
    struct nb_call *call = NULL;
    int rc = nb_exchange_path(exchange, asked, &path, error);
    const struct nb_call_request request = {
        .method = exchange->method, .path = path.bytes, .take = take_bytes, .user = &f};
    if (rc == 0)
        rc = nb_call_open(&asked->client->daemon, &call, error);
    if (rc == 0)
        rc = nb_call_make(call, &request, &reply, error);
    nb_call_close(&call);
    nb_buffer_deinit(&reply);
    nb_buffer_deinit(&path);
    return f.is_broken ? nb_error_set(error, NB_IO, "the output cannot be written") : rc;
}

/* ---- questions ------------------------------------------------------------------------------- */

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

int nb_exchange_check_model(struct nb_client *client, struct nb_error *error)
{
    static const struct nb_exchange MODELS = {
        .method = "GET", .path = "/v1/models", .rows = "models", .is_listing = true};
    const struct nb_asked asked = {.client = client};
    json_t *models = NULL, *row = NULL;
    const json_t *model, *near = NULL;
    size_t i;
    int rc = nb_ask_is_possible() ? nb_model_get(client, &row, error) : 0;
    if (rc == NB_NOT_FOUND)
        rc = nb_exchange_ask(&MODELS, &asked, &models, error);
    json_array_foreach(json_object_get(models, "models"), i, model)
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
    assert(memchr(name.bytes, ' ', name.length) != NULL);
    size_t length = (size_t)((const char *)memchr(name.bytes, ' ', name.length) - name.bytes);
    json_int_t count =
        json_integer_value(nb_answer_member(reply, (struct nb_string){name.bytes, length}));
    (void)snprintf(noun, sizeof noun, "%.*s", (int)(name.length - length - 1),
                   name.bytes + length + 1);
    (void)fputs(nb_counted((uint64_t)count, noun).text, stdout);
}

static void print_name(struct nb_string name, const struct nb_asked *asked, const json_t *reply)
{
    const char *known = known_text(asked, name);
    struct nb_string rest = {name.bytes + 1, name.length - 1};
    assert(name.length > 0);
    if (known != NULL)
        (void)fputs(nb_shown(known).text, stdout);
    else if (name.bytes[0] == '#')
        (void)fputs(nb_figure_of((uint64_t)json_integer_value(nb_answer_member(reply, rest))).text,
                    stdout);
    else if (memchr(name.bytes, ' ', name.length) != NULL)
        print_counted(name, reply);
    else if (name.bytes[0] != '?')
        (void)fputs(nb_shown(json_string_value(nb_answer_member(reply, name))).text, stdout);
}

/* Prints a line and its line end. */
static void print_line(struct nb_string line, const struct nb_asked *asked, const json_t *reply)
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

void nb_exchange_text(const char *text, const struct nb_asked *asked, const json_t *reply)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        struct nb_string line = {text, length + (text[length] == '\n')};
        struct nb_string needed = {text + 2, strcspn(text, "}") - 2};
        if (strncmp(text, "{?", 2) != 0 || is_something(nb_answer_member(reply, needed)))
            print_line(line, asked, reply);
        text += line.length;
    }
}

int nb_exchange_show(const struct nb_exchange *exchange, const struct nb_asked *asked,
                     json_t *reply, struct nb_error *error)
{
    const char *columns = exchange->columns, *text = exchange->text;
    if (asked->client->json || (exchange->print == NULL && columns == NULL && text == NULL))
        return reply != NULL ? nb_answer_print(reply, error) : 0;
    if (exchange->print != NULL) {
        exchange->print(asked, reply);
        return 0;
    }
    if (columns != NULL)
        nb_table_print_rows(columns, json_object_get(reply, exchange->rows), stdout);
    if (text != NULL)
        nb_exchange_text(text, asked, reply);
    return 0;
}
