/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "core/base/string.h"
#include "server/http/address.h"
#include "server/http/admission.h"
#include "server/http/body_transfer.h"
#include "server/http/decoder.h"
#include "server/http/http.h"
#include "server/http/http_answer.h"
#include "server/http/http_call.h"
#include "server/http/http_tls.h"
#include "server/http/router.h"
#include "server/http/server.h"
#include "server/http/wait.h"

struct nb_connection *nb_http_connection(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    assert(info != NULL && info->client_addr != NULL);
    const struct nb_connection_name *name = (const void *)info->client_addr;
    return name->held;
}

size_t nb_http_leave_escaped(void *user, struct MHD_Connection *connection, char *text)
{
    (void)user, (void)connection;
    return strlen(text);
}

/* ---- the header fields ----------------------------------------------------------------------- */

/* The fields that are read for every request, in one pass. */
enum field {
    AFTER,
    AUTHORIZATION,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    CONTENT_TYPE,
    EXPECT,
    FORWARDED,
    FORWARDED_FOR,
    HOST,
    IF_MATCH,
    IF_NONE_MATCH,
    ORIGIN,
    SEC_FETCH_SITE,
    TRANSFER_ENCODING,
    VIA,
    FIELDS
};

static const struct nb_string NAMES[FIELDS] = {
#define NAME(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    [AFTER] = NAME(NB_FIELD_AFTER),
    [AUTHORIZATION] = NAME("Authorization"),
    [CONNECTION] = NAME("Connection"),
    [CONTENT_ENCODING] = NAME("Content-Encoding"),
    [CONTENT_LENGTH] = NAME("Content-Length"),
    [CONTENT_TYPE] = NAME("Content-Type"),
    [EXPECT] = NAME("Expect"),
    [FORWARDED] = NAME("Forwarded"),
    [FORWARDED_FOR] = NAME("X-Forwarded-For"),
    [HOST] = NAME("Host"),
    [IF_MATCH] = NAME("If-Match"),
    [IF_NONE_MATCH] = NAME("If-None-Match"),
    [ORIGIN] = NAME("Origin"),
    [SEC_FETCH_SITE] = NAME("Sec-Fetch-Site"),
    [TRANSFER_ENCODING] = NAME("Transfer-Encoding"),
    [VIA] = NAME("Via"),
#undef NAME
};

struct head {
    const char *value[FIELDS];       /* of the first field of the name; NULL: there is none */
    unsigned lengths;                /* number of fields that define where the body ends */
    unsigned hosts, origins;         /* number of fields of these names */
    struct nb_forwarding forwarding; /* of all fields X-Forwarded-For */
};

static enum MHD_Result take_field(void *user, enum MHD_ValueKind kind, const char *name,
                                  size_t length, const char *value, size_t value_length)
{
    (void)kind;
    struct head *head = user;
    size_t i = 0;
    while (i < FIELDS &&
           (NAMES[i].length != length || strncasecmp(NAMES[i].bytes, name, length) != 0))
        i++;
    if (i == FIELDS)
        return MHD_YES;
    bool is_worse = i == SEC_FETCH_SITE && nb_site_is_foreign(value); /* prefer a foreign one */
    if (head->value[i] == NULL || is_worse)
        head->value[i] = value;
    head->lengths += i == CONTENT_LENGTH || i == TRANSFER_ENCODING;
    head->hosts += i == HOST;
    head->origins += i == ORIGIN;
    if (i == FORWARDED_FOR)
        nb_forwarding_add(&head->forwarding, (struct nb_string){value, value_length});
    return MHD_YES;
}

static void measure_body(struct nb_http_call *call, const struct head *head)
{
    const char *length = head->value[CONTENT_LENGTH], *expect = head->value[EXPECT];
    if (head->value[TRANSFER_ENCODING] != NULL)
        call->length = UINT64_MAX;
    else if (length != NULL)
        call->length = strtoull(length, NULL, 10); /* the library has refused anything else */
    call->has_body = call->length > 0;
    call->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
}

/* Returns the fault of a head after which the connection ends, because it is not certain where the
 * body ends or for which host it is, and sets *status; NULL: there is none. */
static const char *fault_of(const struct nb_http_call *call, const struct head *head,
                            unsigned *status)
{
    const char *coding = head->value[TRANSFER_ENCODING];
    *status = MHD_HTTP_BAD_REQUEST;
    /* A proxy in front may have used the other one of two such fields. Then a request that it
     * forwards as one would be two requests here (RFC 9112, section 6.3). */
    if (head->lengths > 1)
        return "one Content-Length or Transfer-Encoding is allowed, there are several";
    /* Versions of the library mark an unknown length by this number, and would wait for the end of
     * the connection. They refuse larger numbers. */
    if (head->value[CONTENT_LENGTH] != NULL && call->length == UINT64_MAX) {
        *status = MHD_HTTP_CONTENT_TOO_LARGE;
        return "the Content-Length is no length that a body can have: the largest is "
               "18446744073709551614";
    }
    if (head->hosts > 1) /* RFC 9112, 3.2 */
        return "one Host is allowed, there are several";
    /* Versions of the library that do not know the coding take everything up to the end of the
     * connection as the body, and pass it on undecoded. */
    if (coding != NULL && strcasecmp(coding, "chunked") != 0)
        return "the only Transfer-Encoding that is taken is chunked";
    return NULL;
}

/* ---- the query ------------------------------------------------------------------------------- */

struct query_reading {
    struct nb_http_call *call;
    size_t used; /* bytes of query_text */
    int rc;
    struct nb_error error;
};

static enum MHD_Result measure_parameter(void *user, enum MHD_ValueKind kind, const char *key,
                                         size_t key_length, const char *value, size_t value_length)
{
    (void)kind, (void)key, (void)value;
    *(size_t *)user += key_length + value_length;
    return MHD_YES;
}

static enum MHD_Result read_parameter(void *user, enum MHD_ValueKind kind, const char *key,
                                      size_t key_length, const char *value, size_t value_length)
{
    (void)kind;
    struct query_reading *reading = user;
    struct nb_request *request = &reading->call->request;
    char *name = request->query_text + reading->used;
    memcpy(name, key, key_length);
    if (value_length > 0)
        memcpy(name + key_length, value, value_length);
    reading->used += key_length + value_length;
    reading->rc = nb_request_add_query(request, name, key_length, name + key_length, value_length,
                                       &reading->error);
    return reading->rc == 0 ? MHD_YES : MHD_NO;
}

static int read_query(struct nb_http_call *call, struct nb_error *error)
{
    struct nb_request *request = &call->request;
    struct query_reading reading = {.call = call};
    size_t bytes = 0;
    if (MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, measure_parameter,
                                    &bytes) == 0)
        return 0;
    request->query_text = malloc(bytes + 1); /* bounded by the library's memory per connection */
    if (request->query_text == NULL)
        return nb_error_no_memory(error);
    (void)MHD_get_connection_values_n(request->connection, MHD_GET_ARGUMENT_KIND, read_parameter,
                                      &reading); /* the count is not needed */
    if (reading.rc != 0)
        *error = reading.error;
    return reading.rc;
}

/* ---- the route ------------------------------------------------------------------------------- */

/* Finds the route of the method and the path. Returns whether there is one; otherwise the reply is
 * made. */
static bool find_route(struct nb_http_call *call, const char *url, const char *method)
{
    struct nb_request *request = &call->request;
    struct nb_match match;
    char detail[128];
    static_assert(sizeof request->reply.allow == sizeof match.allow, "copied as a whole");
    request->target = url;
    request->path = strdup(url);
    if (request->path == NULL) {
        nb_reply_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
        return false;
    }
    enum nb_route_result result = nb_route_find(
        request->server->routes, request->server->route_count, method, request->path, &match);
    request->route = match.route;
    request->route_index = match.index;
    request->model = match.parameters[0];
    request->id = match.parameters[1];
    switch (result) {
    case NB_ROUTE_FOUND:
        assert(match.route != NULL && match.index < request->server->route_count);
        return true;
    case NB_ROUTE_BAD_PATH:
        nb_reply_problem(request, MHD_HTTP_BAD_REQUEST,
                         "the path holds a broken percent-escape or a NUL");
        break;
    case NB_ROUTE_NO_METHOD:
        (void)snprintf(detail, sizeof detail, "this path takes %s (see Allow), not %s", match.allow,
                       call->method); /* fits, or is cut */
        nb_reply_problem(request, MHD_HTTP_METHOD_NOT_ALLOWED, detail);
        memcpy(request->reply.allow, match.allow, sizeof match.allow);
        break;
    case NB_ROUTE_NO_PATH:
    default:
        nb_reply_problem(request, MHD_HTTP_NOT_FOUND,
                         "there is nothing at this path; GET /openapi.json lists what there is");
        break;
    }
    return false;
}

/* ---- the body -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum nb_media media;
} MEDIA[] = {
    {"application/json", NB_MEDIA_JSON}, {"application/x-ndjson", NB_MEDIA_NDJSON},
    {"text/plain", NB_MEDIA_TEXT},       {"text/html", NB_MEDIA_HTML},
    {"message/rfc822", NB_MEDIA_MAIL},   {"application/mbox", NB_MEDIA_MBOX},
    {"text/csv", NB_MEDIA_CSV},
};

static const char MEDIA_NAMES[] = "application/json, application/x-ndjson, text/plain, text/html, "
                                  "message/rfc822, application/mbox or text/csv";

/* Copies a parameter's value, in quotes or not; a value that does not fit is not the name of a
 * known charset. */
static bool copy_value(const char *value, char *to, size_t room)
{
    bool is_quoted = *value == '"';
    if (is_quoted)
        value++;
    size_t length = strcspn(value, is_quoted ? "\"" : "; \t");
    if (length == 0 || length >= room)
        return false;
    memcpy(to, value, length);
    to[length] = '\0';
    return true;
}

/* Reads the parameter `charset` (RFC 9110, 8.3.2), if there is one. */
static bool read_charset(const char *parameters, char charset[NB_CHARSET_BYTES])
{
    charset[0] = '\0';
    while ((parameters = strchr(parameters, ';')) != NULL) {
        parameters += 1 + strspn(parameters + 1, " \t");
        if (strncasecmp(parameters, "charset=", 8) == 0)
            return copy_value(parameters + 8, charset, NB_CHARSET_BYTES);
    }
    return true;
}

int nb_media_read(const char *content_type, struct nb_media_type *type, struct nb_error *error)
{
    if (content_type == NULL)
        return nb_error_set(error, NB_UNSUPPORTED, "the body has no Content-Type; it must be %s",
                            MEDIA_NAMES);
    content_type += strspn(content_type, " \t");
    struct nb_string name = {content_type, strcspn(content_type, ";")};
    name = nb_string_trim_end(name, " \t");
    size_t i = 0;
    size_t count = sizeof MEDIA / sizeof MEDIA[0];
    while (i < count && !nb_string_equals_nocase(name, MEDIA[i].name))
        i++;
    if (i == count)
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Type '%.*s' is not known; it must be %s",
                            name.length < 80 ? (int)name.length : 80, content_type, MEDIA_NAMES);
    struct nb_media_type read = {.media = MEDIA[i].media};
    if (!read_charset(content_type + name.length, read.charset))
        return nb_error_set(error, NB_UNSUPPORTED, "the charset in Content-Type cannot be read");
    if (strcasecmp(read.charset, "utf-8") == 0 || strcasecmp(read.charset, "utf8") == 0 ||
        strcasecmp(read.charset, "us-ascii") == 0)
        read.charset[0] = '\0';
    bool is_json = read.media == NB_MEDIA_JSON || read.media == NB_MEDIA_NDJSON;
    if (is_json && read.charset[0] != '\0')
        return nb_error_set(error, NB_UNSUPPORTED, "JSON must be UTF-8, not charset '%s'",
                            read.charset);
    *type = read;
    return 0;
}

int nb_coding_read(const char *content_encoding, enum nb_coding *coding, struct nb_error *error)
{
    *coding = NB_CODING_IDENTITY;
    if (content_encoding == NULL)
        return 0;
    struct nb_string name = nb_string_trim(nb_string_of(content_encoding));
    if (nb_string_equals_nocase(name, "gzip") || nb_string_equals_nocase(name, "x-gzip"))
        *coding = NB_CODING_GZIP;
    else if (nb_string_equals_nocase(name, "zstd"))
        *coding = NB_CODING_ZSTD;
    else if (name.length > 0 && !nb_string_equals_nocase(name, "identity"))
        return nb_error_set(error, NB_UNSUPPORTED,
                            "Content-Encoding '%.*s' is not known; it must be gzip or zstd",
                            name.length < 80 ? (int)name.length : 80, name.bytes);
    return 0;
}

/* Checks the type of a table, which is read as a whole. */
static int check_rows(const struct nb_media_type *type, struct nb_error *error)
{
    enum nb_media media = type->media;
    if (media == NB_MEDIA_CSV && type->charset[0] != '\0')
        return nb_error_set(error, NB_UNSUPPORTED, "rows must be UTF-8, not charset '%s'",
                            type->charset);
    if (media != NB_MEDIA_JSON && media != NB_MEDIA_NDJSON && media != NB_MEDIA_CSV)
        return nb_error_set(error, NB_UNSUPPORTED,
                            "rows must come as application/json, application/x-ndjson or text/csv");
    return 0;
}

static int check_media(struct nb_request *request, const struct head *head, struct nb_error *error)
{
    int rc = nb_media_read(head->value[CONTENT_TYPE], &request->type, error);
    if (rc != 0)
        return rc;
    enum nb_media media = request->type.media;
    if (request->route->body == NB_BODY_SETTINGS && media != NB_MEDIA_JSON)
        return nb_error_set(error, NB_UNSUPPORTED, "settings must come as application/json");
    if (request->route->body == NB_BODY_DOCUMENT && media != NB_MEDIA_JSON)
        return nb_error_set(error, NB_UNSUPPORTED, "the document must come as application/json");
    if (request->route->body == NB_BODY_DUMP && media != NB_MEDIA_NDJSON)
        return nb_error_set(error, NB_UNSUPPORTED, "an import must come as application/x-ndjson");
    if (request->route->body == NB_BODY_ROWS)
        return check_rows(&request->type, error);
    request->is_lines = media == NB_MEDIA_NDJSON;
    return 0;
}

/* Checks everything about the body that is known before it arrives. */
static int prepare_body(struct nb_http_call *call, const struct head *head, struct nb_error *error)
{
    struct nb_request *request = &call->request;
    uint64_t most = request->config->body_bytes;
    enum nb_coding coding = NB_CODING_IDENTITY;
    bool is_for_mail = request->route->protocol->is_for_mail;
    int rc = is_for_mail ? 0 : check_media(request, head, error);
    if (rc == 0)
        rc = nb_coding_read(head->value[CONTENT_ENCODING], &coding, error);
    if (rc == 0 && is_for_mail && coding == NB_CODING_IDENTITY) /* newer clients send both fields */
        rc = nb_coding_read(
            MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, "Compression"),
            &coding, error);
    if (rc != 0)
        return rc;
    if (!request->is_lines && call->length != UINT64_MAX && call->length > most)
        return nb_body_too_large((size_t)most, error);
    call->is_direct =
        coding == NB_CODING_IDENTITY && !request->is_lines && !request->route->is_long;
    return call->is_direct ? 0 : nb_transfer_begin(request, coding, error);
}

/* ---- the whole head -------------------------------------------------------------------------- */

static struct nb_sender sender_of(const struct nb_http_call *call, const struct head *head)
{
    const struct nb_connection *held = call->held;
    const char *token = head->value[AUTHORIZATION];
    struct nb_sender sender = {
        .address = held->from,
        .socket = held->file,
        .certificate =
            held->is_tls ? nb_http_certificate(call->held, call->request.connection) : NULL,
        .forwarding = head->forwarding,
        .authorization = {token, token != NULL ? strlen(token) : 0},
        .origin = head->value[ORIGIN],
        .is_page = call->page != NULL,
        .host = head->value[HOST],
        .fetch_site = head->value[SEC_FETCH_SITE],
        .has_origins = head->origins > 1,
        .is_tls = held->is_tls,
    };
    if (head->value[FORWARDED] != NULL || head->value[VIA] != NULL)
        sender.forwarding.is_there = true;
    return sender;
}

static void check_request(struct nb_http_call *call, struct head *head, const char *url,
                          const char *method)
{
    struct nb_request *request = &call->request;
    const struct nb_sender sender = sender_of(call, head);
    struct nb_error error = {0};
    unsigned status;
    const char *fault = fault_of(call, head, &status);
    request->peer = nb_peer_of(&sender, &request->access->proxies); /* for the log, if no more */
    if (fault != NULL) {
        call->closes = true;
        nb_reply_problem(request, status, fault);
        return;
    }
    if (nb_cors_answer(call, url) || !find_route(call, url, method))
        return;
    if (nb_request_check_access(request, &sender, &error) != 0) {
        nb_reply_error(request, &error);
        return;
    }
    if (atomic_load(&request->server->is_stopping)) {
        nb_reply_problem(request, MHD_HTTP_SERVICE_UNAVAILABLE, "the daemon is stopping");
        return;
    }
    if (head->value[EXPECT] != NULL && !call->expects_continue) {
        nb_reply_problem(request, MHD_HTTP_EXPECTATION_FAILED,
                         "the only expectation that is met is 100-continue");
        return;
    }
    if (head->value[IF_MATCH] != NULL && strcmp(request->route->method, "GET") != 0 &&
        !request->route->protocol->is_for_mail) {
        nb_reply_problem(request, MHD_HTTP_PRECONDITION_FAILED,
                         "nothing here has an entity tag that If-Match could name; "
                         "\"If-None-Match: *\" changes nothing that exists");
        return;
    }
    if (read_query(call, &error) != 0) {
        nb_reply_error(request, &error);
        return;
    }
    if (request->after.bytes == NULL && nb_takes_after(request->route))
        request->after = nb_string_of(head->value[AFTER]);
    const char *if_none_match = head->value[IF_NONE_MATCH];
    request->only_new = if_none_match != NULL && strcmp(if_none_match, "*") == 0;
    if (request->route->body == NB_BODY_NONE) {
        if (call->has_body && call->length > NB_HTTP_DROP_BYTES && call->length != UINT64_MAX)
            nb_reply_problem(request, MHD_HTTP_CONTENT_TOO_LARGE, "this path takes no body");
        return;
    }
    if (head->value[CONTENT_LENGTH] == NULL && !call->has_body &&
        !request->route->protocol->is_for_mail) {
        nb_reply_problem(request, MHD_HTTP_LENGTH_REQUIRED,
                         "a body is needed, with Content-Length or chunked");
        return;
    }
    if (prepare_body(call, head, &error) != 0)
        nb_reply_error(request, &error);
}

void nb_http_read_head(struct nb_http_call *call, const char *url, const char *method,
                       const char *version)
{
    struct head head = {.lengths = 0};
    (void)MHD_get_connection_values_n(call->request.connection, MHD_HEADER_KIND, take_field,
                                      &head); /* returns how many fields there are */
    call->is_kept = strcmp(version, MHD_HTTP_VERSION_1_1) == 0 && head.value[CONNECTION] == NULL;
    measure_body(call, &head);
    nb_cors_begin(call, head.value[ORIGIN]);
    check_request(call, &head, url, method);
}

/* ---- the route, and pages of other sites ----------------------------------------------------- */

enum { SEGMENTS_MOST = 6 };

/* Returns the length of a path or pattern up to the next slash, or to its end. */
static size_t segment_length(const char *at)
{
    return (size_t)(strchrnul(at, '/') - at);
}

/* Splits "/a/b" into decoded "a" and "b"; "/" is one empty segment. Returns how many there are,
 * SEGMENTS_MOST + 1 for more than any route has, and 0 for an invalid path. */
static size_t split_path(char *path, struct nb_string segments[SEGMENTS_MOST], bool *is_bad)
{
    size_t count = 0;
    while (*path == '/') {
        char *start = ++path;
        path += segment_length(path);
        if (count == SEGMENTS_MOST)
            return SEGMENTS_MOST + 1;
        bool is_last = *path == '\0';
        size_t length = (size_t)(path - start);
        if (memchr(start, '%', length) != NULL)
            length = nb_percent_decode(start, length);
        if (length == SIZE_MAX) {
            *is_bad = true;
            return 0;
        }
        segments[count++] = (struct nb_string){start, length};
        if (is_last)
            break;
    }
    return count;
}

static bool matches(const struct nb_route *route, const struct nb_string *segments, size_t count,
                    struct nb_string parameters[NB_PATH_PARAMETERS])
{
    assert(count <= SEGMENTS_MOST);
    const char *pattern = route->pattern;
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (*pattern++ != '/')
            return false;
        size_t length = segment_length(pattern);
        if (*pattern == '{') {
            if (segments[i].length == 0)
                return false;
            assert(taken < NB_PATH_PARAMETERS);
            parameters[taken++] = segments[i];
        } else if (length != segments[i].length ||
                   (route->protocol->is_for_mail
                        ? strncasecmp(segments[i].bytes, pattern, length) != 0
                        : memcmp(segments[i].bytes, pattern, length) != 0)) {
            return false;
        }
        pattern += length;
    }
    return *pattern == '\0';
}

static void add_allowed(struct nb_match *match, const char *method)
{
    /* The longest list, "GET, HEAD, PUT, DELETE", fits with room to spare. */
    size_t length = strlen(match->allow);
    const char *parts[] = {length > 0 ? ", " : "", method,
                           strcmp(method, "GET") == 0 ? ", HEAD" : ""};
    for (size_t i = 0; i < 3; i++) {
        size_t more = strlen(parts[i]);
        if (length + more >= sizeof match->allow)
            return;
        memcpy(match->allow + length, parts[i], more + 1);
        length += more;
    }
}

/* Returns the path of a target. A server must also accept the absolute form "http://host/path" (RFC
 * 9112, 3.2.2). */
static char *path_of_target(char *target)
{
    if (strncmp(target, "http://", 7) != 0)
        return target;
    char *path = strchr(target + 7, '/');
    return path != NULL ? path : target;
}

enum nb_route_result nb_route_find(const struct nb_route *routes, size_t count, const char *method,
                                   char *path, struct nb_match *match)
{
    *match = (struct nb_match){.index = count};
    struct nb_string segments[SEGMENTS_MOST];
    bool is_bad = false;
    size_t length = split_path(path_of_target(path), segments, &is_bad);
    if (is_bad)
        return NB_ROUTE_BAD_PATH;
    if (length == 0 || length > SEGMENTS_MOST)
        return NB_ROUTE_NO_PATH;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (size_t i = 0; i < count; i++) {
        struct nb_string parameters[NB_PATH_PARAMETERS] = {{NULL, 0}};
        if (!matches(&routes[i], segments, length, parameters))
            continue;
        if (strcmp(routes[i].method, method) != 0) {
            add_allowed(match, routes[i].method);
            continue;
        }
        match->route = &routes[i];
        match->index = i;
        memcpy(match->parameters, parameters, sizeof parameters);
        return NB_ROUTE_FOUND;
    }
    return match->allow[0] != '\0' ? NB_ROUTE_NO_METHOD : NB_ROUTE_NO_PATH;
}

/* Header fields that a page may send and read in addition to those that are always allowed. */
static const char SENT[] = "Authorization, Content-Type, Content-Encoding, If-None-Match, "
                           "" NB_FIELD_AFTER;
static const char READ[] = "" NB_FIELD_NUMBER ", Allow, ETag, Location, Retry-After, "
                           "WWW-Authenticate";
static const char SECONDS[] = "600"; /* how long a browser may cache the answer to a preflight */

void nb_cors_begin(struct nb_http_call *call, const char *origin)
{
    const char *origins = call->request.config->http_origins;
    call->varies = origins[0] != '\0';
    if (call->varies && origin != NULL && nb_origins_have(origins, origin))
        call->page = origin;
}

static const char *field_of(const struct nb_http_call *call, const char *name)
{
    return MHD_lookup_connection_value(call->request.connection, MHD_HEADER_KIND, name);
}

/* Finds the methods of the path. Returns whether there are any. */
static bool find_methods(struct nb_http_call *call, const char *url)
{
    const struct nb_server *server = call->request.server;
    struct nb_match match;
    static_assert(sizeof call->methods == sizeof match.allow, "copied as a whole");
    char *path = strdup(url);
    if (path == NULL) {
        nb_reply_problem(&call->request, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
        return false;
    }
    bool has = nb_route_find(server->routes, server->route_count, MHD_HTTP_METHOD_OPTIONS, path,
                             &match) == NB_ROUTE_NO_METHOD;
    memcpy(call->methods, match.allow, sizeof call->methods);
    free(path);
    if (!has)
        nb_reply_problem(&call->request, MHD_HTTP_NOT_FOUND,
                         "there is nothing at this path; GET /openapi.json lists what there is");
    return has;
}

bool nb_cors_answer(struct nb_http_call *call, const char *url)
{
    if (!call->varies || strcmp(call->method, MHD_HTTP_METHOD_OPTIONS) != 0 ||
        field_of(call, "Access-Control-Request-Method") == NULL)
        return false;
    if (call->page == NULL) {
        nb_reply_problem(&call->request, MHD_HTTP_FORBIDDEN,
                         "the request is for a page of another site, whose Origin the option "
                         "[http] origins does not name");
        return true;
    }
    if (find_methods(call, url))
        call->request.reply.status = MHD_HTTP_NO_CONTENT;
    return true;
}

size_t nb_cors_fields(const struct nb_http_call *call, struct nb_cors_field fields[NB_CORS_FIELDS])
{
    size_t count = 0;
    if (call->varies)
        fields[count++] = (struct nb_cors_field){MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ORIGIN};
    if (call->page == NULL)
        return count;
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Origin", call->page};
    if (call->methods[0] == '\0') {
        fields[count++] = (struct nb_cors_field){"Access-Control-Expose-Headers", READ};
        return count;
    }
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Methods", call->methods};
    fields[count++] = (struct nb_cors_field){"Access-Control-Allow-Headers", SENT};
    fields[count++] = (struct nb_cors_field){"Access-Control-Max-Age", SECONDS};
    assert(count <= NB_CORS_FIELDS);
    return count;
}
