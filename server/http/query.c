/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/query.h"

#include <assert.h>
#include <string.h>

#include "config/config.h"
#include "core/base/number.h"
#include "core/engine/engine.h"
#include "server/http/request.h"
#include "server/http/wait.h"

/* Returns the name of the token in the request, else the protocol. */
static struct nb_string origin_of(const struct nb_request *request)
{
    const char *name = request->grant.name;
    return nb_string_of(name[0] != '\0' ? name : request->route->protocol->door);
}

int nb_request_source(const struct nb_request *request, struct nb_string *source,
                      struct nb_error *error)
{
    struct nb_string given = {NULL, 0};
    if (request->query_count > 0 && !request->route->protocol->is_for_mail)
        given = nb_request_query(request, "source");
    if (given.length > 0) {
        *source = given;
        return nb_check_source(given, error);
    }
    *source = origin_of(request);
    return 0;
}

/* Whether a list separated by commas has the name. */
static bool has_name(const char *list, struct nb_string name)
{
    while (*list != '\0') {
        struct nb_string item = {list, strcspn(list, ",")};
        list += item.length + (list[item.length] == ',');
        item = nb_string_trim(item);
        if (item.length > 0 && nb_string_same(item, name))
            return true;
    }
    return false;
}

bool nb_request_is_quarantined(const struct nb_request *request, struct nb_string *source)
{
    const char *list = request->config->quarantine;
    struct nb_string origin = origin_of(request);
    if (list[0] == '\0')
        return false;
    if (has_name(list, origin)) {
        *source = origin;
        return true;
    }
    return has_name(list, *source);
}

size_t nb_percent_decode(char *text, size_t length)
{
    size_t to = 0;
    for (size_t from = 0; from < length; from++, to++) {
        text[to] = text[from];
        if (text[from] != '%')
            continue;
        int high = length - from > 2 ? nb_hex_digit(text[from + 1]) : -1;
        int low = length - from > 2 ? nb_hex_digit(text[from + 2]) : -1;
        if (high < 0 || low < 0 || high + low == 0)
            return SIZE_MAX;
        text[to] = (char)(high * 16 + low);
        from += 2;
    }
    return to;
}

struct nb_string nb_request_query(const struct nb_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++) {
        if (nb_string_equals(request->query[i].name, name))
            return request->query[i].value;
    }
    return (struct nb_string){NULL, 0};
}

int nb_request_query_count(const struct nb_request *request, const char *name, uint64_t otherwise,
                           uint64_t most, uint64_t *value, struct nb_error *error)
{
    struct nb_string text = nb_request_query(request, name);
    if (text.bytes == NULL) {
        *value = otherwise;
        return 0;
    }
    uint64_t number;
    if (!nb_number_read_whole(text, &number) || number > most)
        return nb_error_about(
            error,
            nb_error_set(error, NB_INVALID,
                         "query parameter '%s' must be a whole number from 0 to %llu", name,
                         (unsigned long long)most),
            NULL, name);
    *value = number;
    return 0;
}

int nb_request_query_rows(const struct nb_request *request, uint64_t usual, size_t *rows,
                          struct nb_error *error)
{
    uint64_t limit, most = request->config->listing_rows;
    int rc =
        nb_request_query_count(request, "limit", most < usual ? most : usual, most, &limit, error);
    if (rc == 0 && limit == 0)
        rc = nb_error_about(
            error, nb_error_set(error, NB_INVALID, "query parameter 'limit' must be at least 1"),
            NULL, "limit");
    *rows = rc == 0 ? (size_t)limit : 0;
    return rc;
}

int nb_request_query_number(const struct nb_request *request, const char *name, double most,
                            double *value, struct nb_error *error)
{
    struct nb_string text = nb_request_query(request, name);
    if (text.bytes == NULL)
        return 0;
    double number;
    if (!nb_number_read(text, &number) || !(number <= most))
        return nb_error_about(error,
                              nb_error_set(error, NB_INVALID,
                                           "query parameter '%s' must be a number from 0 to %g",
                                           name, most),
                              NULL, name);
    *value = number;
    return 0;
}

static int unknown_parameter(const struct nb_request *request, struct nb_string name,
                             struct nb_error *error)
{
    char known[128] = "";
    size_t length = 0;
    for (const char *const *q = request->route->query; *q != NULL; q++) {
        size_t more = strlen(*q);
        if (length + more + 3 > sizeof known)
            break;
        if (length > 0) {
            memcpy(known + length, ", ", 2);
            length += 2;
        }
        memcpy(known + length, *q, more + 1);
        length += more;
    }
    int shown = name.length < 64 ? (int)name.length : 64;
    if (length == 0)
        (void)snprintf(known, sizeof known, "none");
    char param[65];
    (void)snprintf(param, sizeof param, "%.*s", shown, name.bytes);
    return nb_error_about(error,
                          nb_error_set(error, NB_INVALID,
                                       "unknown query parameter '%s'; this path takes %s", param,
                                       known),
                          NULL, param);
}

static int given_twice(const char *name, struct nb_error *error)
{
    return nb_error_about(
        error, nb_error_set(error, NB_INVALID, "query parameter '%s' is given twice", name), NULL,
        name);
}

int nb_request_add_query(struct nb_request *request, char *name, size_t name_length, char *value,
                         size_t value_length, struct nb_error *error)
{
    size_t decoded_name = nb_percent_decode(name, name_length);
    size_t decoded_value = nb_percent_decode(value, value_length);
    if (decoded_name == SIZE_MAX || decoded_value == SIZE_MAX)
        return nb_error_set(error, NB_INVALID, "the query holds a broken percent-escape or a NUL");
    struct nb_string its_name = {name, decoded_name};
    bool is_for_mail = request->route->protocol->is_for_mail;
    const char *const *known = request->route->query;
    while (*known != NULL && !(is_for_mail ? nb_string_equals_nocase(its_name, *known)
                                           : nb_string_equals(its_name, *known)))
        known++;
    if (*known == NULL && nb_takes_after(request->route) &&
        nb_string_equals(its_name, NB_QUERY_AFTER)) {
        if (request->after.bytes != NULL)
            return given_twice(NB_QUERY_AFTER, error);
        request->after = (struct nb_string){value, decoded_value};
        return 0;
    }
    if (*known == NULL) /* rspamd's clients send parameters that have no meaning here */
        return is_for_mail ? 0 : unknown_parameter(request, its_name, error);
    if (nb_request_query(request, *known).bytes != NULL || request->query_count == NB_QUERY_MOST)
        return is_for_mail ? 0 /* for mail software the first one counts, as with header fields */
                           : given_twice(*known, error);
    assert(request->query_count < NB_QUERY_MOST);
    request->query[request->query_count++] =
        (struct nb_parameter){{*known, strlen(*known)}, {value, decoded_value}};
    return 0;
}

struct nb_string nb_request_field(const struct nb_request *request, const char *name)
{
    struct nb_string value = request->carrier->field(request, name);
    if (value.bytes != NULL || request->route == NULL || !request->route->protocol->is_for_mail)
        return value;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct nb_parameter *parameter = &request->query[i];
        if (nb_string_equals_nocase(parameter->name, name))
            return parameter->value;
    }
    return value;
}
