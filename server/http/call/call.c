/* SPDX-License-Identifier: Apache-2.0 */
#include "server/http/call/call.h"

#include <assert.h>
#include <curl/curl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

static int code_of(long status)
{
    switch (status) {
    case 401:
    case 403:
        return NB_CALL_FORBIDDEN;
    case 404:
        return NB_NOT_FOUND;
    case 409:
        return NB_CONFLICT;
    case 413:
        return NB_TOO_LARGE;
    case 415:
        return NB_UNSUPPORTED;
    case 422:
        return NB_UNUSABLE;
    case 429:
    case 503:
        return NB_CALL_BUSY;
    default:
        if (status >= 400 && status < 500)
            return NB_INVALID;
        return NB_CALL_PROTOCOL;
    }
}

/* Returns whether the model is damaged. The status is 503, as for a busy daemon, but asking again
 * does not help. Only the text of the problem tells the two apart: "the model 'NAME' is damaged
 * (...". */
static bool is_damaged(long status, const char *detail)
{
    return status == 503 && detail != NULL && strncmp(detail, "the model '", 11) == 0 &&
           strstr(detail, "' is damaged (") != NULL;
}

int nb_refusal_read(long status, struct nb_string body, const char *url, struct nb_error *error)
{
    json_t *problem = json_loadb(body.bytes != NULL ? body.bytes : "", body.length, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (detail == NULL) /* errors of rspamd's protocol have the member "error" */
        detail = json_string_value(json_object_get(problem, "error"));
    int code = is_damaged(status, detail) ? NB_DAMAGED : code_of(status);
    if (detail != NULL) {
        (void)nb_error_set(error, code, "%s", detail);
    } else {
        /* A server that is not bayesd and does not know the path says nothing about the model. */
        if (code == NB_NOT_FOUND)
            code = NB_CALL_PROTOCOL;
        (void)nb_error_set(error, code, "%.80s answers %ld, and not as bayesd would", url, status);
    }
    json_decref(problem);
    return code;
}

enum { TOKEN_MOST = 4096 };

/* The length of the token at the beginning of a line; 0 when the line is not a token. A line that
 * does not fit is cut by fgets and would be sent as a wrong token. */
static size_t token_length(const char *line)
{
    size_t length = strcspn(line, " \t\r\n");
    if (line[length] == '\0' && length == TOKEN_MOST - 1)
        return 0;
    for (size_t i = 0; i < length; i++)
        if (line[i] < 33 || line[i] > 126)
            return 0;
    return length;
}

int nb_access_token_read(const char *file, struct nb_buffer *token, struct nb_error *error)
{
    char line[TOKEN_MOST];
    if (file == NULL)
        return 0;
    FILE *in = fopen(file, "re");
    if (in == NULL)
        return nb_error_set(error, NB_NOT_FOUND, "the token file %.200s cannot be opened", file);
    bool is_read = fgets(line, sizeof line, in) != NULL;
    (void)fclose(in); /* the file was only read */
    size_t length = is_read ? token_length(line) : 0;
    if (length == 0)
        return nb_error_set(error, NB_INVALID, "the first line of %.200s is not a token", file);
    return nb_buffer_append(token, line, length) == 0 ? 0 : nb_error_no_memory(error);
}

bool nb_breaker_begin(struct nb_breaker *breaker, uint64_t now)
{
    if (!breaker->is_open)
        return true;
    if (now < breaker->until || breaker->is_probed)
        return false;
    breaker->is_probed = true;
    return true;
}

bool nb_breaker_end(struct nb_breaker *breaker, uint64_t start, uint64_t now, bool has_reply)
{
    assert(now >= start);
    bool was_open = breaker->is_open;
    if (has_reply)
        breaker->last_reply = now;
    breaker->is_open = !has_reply && breaker->pause > 0 && now - start >= NB_BREAKER_SLOW &&
                       (breaker->last_reply == 0 || breaker->last_reply < start);
    breaker->is_probed = false;
    if (breaker->is_open)
        breaker->until = now + breaker->pause;
    return breaker->is_open != was_open;
}

enum {
    REPLY_MOST = 1 << 30, /* bytes; no reply of bayesd that is kept in memory is longer */
    CONNECT_SECONDS = 5,
    RETRY_SECONDS = 30, /* the longest pause between two attempts */
    URL_MOST = 2048
};

struct nb_call {
    const struct nb_call_target *target; /* borrowed */
    CURL *curl;
    const struct nb_call_request *request; /* the one that runs; borrowed */
    struct nb_buffer *reply;               /* of that request; borrowed */
    bool is_stopped;                       /* `give` or `take` of the request ended it */
    long status;
    long retry_after;  /* seconds that the reply asks to wait; 0: none */
    size_t url_length; /* length of the part of the URL that all requests share */
    char url[URL_MOST];
    char reason[CURL_ERROR_SIZE]; /* of libcurl's last failure */
};

int nb_call_setup(struct nb_error *error)
{
    json_object_seed(0); /* must not be called in two threads at once */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return nb_error_set(error, NB_IO, "libcurl cannot start");
    return 0;
}

void nb_call_teardown(void)
{
    curl_global_cleanup();
}

/* ---- callbacks of libcurl -------------------------------------------------------------------- */

static size_t reply_most(const struct nb_call_request *request)
{
    return request->reply_most > 0 ? request->reply_most : REPLY_MOST;
}

/* Returning anything but the number of bytes makes libcurl end the request. */
static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct nb_call *call = user;
    const struct nb_call_request *request = call->request;
    assert(call->reply != NULL && request != NULL); /* a request runs */
    size_t length = size * count;
    long status = 0;
    (void)curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    if (request->take != NULL && status >= 200 && status < 300) {
        call->is_stopped = request->take(request->user, bytes, length) != 0;
        return call->is_stopped ? 0 : length;
    }
    if (call->reply->length + length > reply_most(request))
        return 0;
    return nb_buffer_append(call->reply, bytes, length) == 0 ? length : 0;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user)
{
    static const char NAME[] = "Retry-After:";
    struct nb_call *call = user;
    size_t length = size * count;
    char value[32] = "";
    if (length > sizeof NAME - 1 && length < sizeof NAME + sizeof value - 2 &&
        strncasecmp(bytes, NAME, sizeof NAME - 1) == 0) {
        memcpy(value, bytes + sizeof NAME - 1, length - sizeof NAME + 1);
        call->retry_after = strtol(value, NULL, 10);
    }
    return length;
}

static size_t give_body(char *bytes, size_t size, size_t count, void *user)
{
    struct nb_call *call = user;
    ssize_t length = call->request->give(call->request->user, bytes, size * count);
    assert(length <= (ssize_t)(size * count));
    call->is_stopped = length < 0;
    return call->is_stopped ? CURL_READFUNC_ABORT : (size_t)length;
}

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_loopback(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           strncmp(host, "localhost", 9) == 0;
}

static const char UNIX_SCHEME[] = "unix:";

/* Returns the part of the URL that all requests share. Over a Unix socket the host is localhost. */
static const char *base_url(const struct nb_call_target *target)
{
    bool is_unix = strncmp(target->url, UNIX_SCHEME, sizeof UNIX_SCHEME - 1) == 0;
    return is_unix ? "http://localhost" : target->url;
}

static void set_up(struct nb_call *call)
{
    CURL *curl = call->curl;
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->reason);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)call->target->timeout);
    if (call->target->has_deadline)
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)call->target->timeout);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, call);
    /* The environment's http_proxy is for requests to other machines. */
    if (is_loopback(call->url))
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (base_url(call->target) != call->target->url)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH,
                               call->target->url + sizeof UNIX_SCHEME - 1);
    /* TLS; libcurl always checks the daemon's certificate and its name. */
    if (call->target->ca_file != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, call->target->ca_file);
    if (call->target->certificate != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, call->target->certificate);
    if (call->target->key != NULL)
        (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, call->target->key);
}

int nb_call_open(const struct nb_call_target *target, struct nb_call **call, struct nb_error *error)
{
    const char *url = base_url(target);
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    if (length == 0 || length > URL_MOST / 2)
        return nb_error_set(error, NB_CALL_BAD_URL, "'%.80s' is no URL", target->url);
    struct nb_call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    made->target = target;
    memcpy(made->url, url, length);
    made->url_length = length;
    made->curl = curl_easy_init();
    if (made->curl == NULL) {
        nb_call_close(&made);
        return nb_error_no_memory(error);
    }
    set_up(made);
    *call = made;
    return 0;
}

void nb_call_close(struct nb_call **call)
{
    if (*call == NULL)
        return;
    curl_easy_cleanup((*call)->curl);
    free(*call);
    *call = NULL;
}

/* ---- a request ------------------------------------------------------------------------------- */

static int add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer == NULL)
        return NB_NO_MEMORY;
    *list = longer;
    return 0;
}

/* Adds the line "NAME VALUE"; the name ends in a colon. */
static int add_pair(struct curl_slist **list, const char *name, struct nb_string value)
{
    struct nb_buffer line = {0};
    int rc = nb_buffer_printf(&line, "%s %.*s", name, (int)value.length, value.bytes);
    if (rc == 0)
        rc = add_header(list, line.bytes);
    nb_buffer_deinit(&line);
    return rc;
}

static int add_text(struct curl_slist **list, const char *name, const char *value)
{
    return value == NULL ? 0 : add_pair(list, name, (struct nb_string){value, strlen(value)});
}

/* Returns the header lines of a request, which the caller frees with curl_slist_free_all; NULL when
 * there is no memory. */
static struct curl_slist *headers_of(const struct nb_call *call,
                                     const struct nb_call_request *request)
{
    assert(request->headers.length == 0 ||
           request->headers.bytes[request->headers.length - 1] == '\0');
    struct curl_slist *list = NULL;
    char after[48];
    const struct nb_buffer *token = &call->target->token;
    /* Without this libcurl waits for "100 Continue" before it sends a large body. */
    int rc = add_header(&list, "Expect:");
    if (rc == 0)
        rc = add_text(&list, "Content-Type:", request->type);
    if (rc == 0)
        rc = add_text(&list, "Content-Encoding:", request->encoding);
    if (rc == 0 && token->length > 0)
        rc = add_pair(&list, "Authorization: Bearer",
                      (struct nb_string){token->bytes, token->length});
    if (rc == 0 && call->target->after > 0) {
        (void)snprintf(after, sizeof after, "Bayesd-After: %" PRIu64,
                       call->target->after); /* it fits */
        rc = add_header(&list, after);
    }
    for (size_t at = 0; rc == 0 && at < request->headers.length;
         at += strlen(request->headers.bytes + at) + 1)
        rc = add_header(&list, request->headers.bytes + at);
    if (rc == 0)
        return list;
    curl_slist_free_all(list);
    return NULL;
}

/* Sets how the body is sent; CURLOPT_CUSTOMREQUEST always sets the method. */
static void set_body(struct nb_call *call, const struct nb_call_request *request)
{
    CURL *curl = call->curl;
    (void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (request->give != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)-1);
    } else if (request->type != NULL) {
        (void)curl_easy_setopt(curl, CURLOPT_POST, 1L);
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                               request->body.bytes != NULL ? request->body.bytes : "");
        (void)curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.length);
    }
    (void)curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static int unreachable(const struct nb_call *call, CURLcode result, struct nb_error *error)
{
    const char *reason = call->reason[0] != '\0' ? call->reason : curl_easy_strerror(result);
    const char *name = call->target->name;
    if (call->is_stopped)
        return nb_error_set(error, NB_CALL_STOPPED, "the request was stopped");
    if (result == CURLE_OUT_OF_MEMORY)
        return nb_error_no_memory(error);
    if (name == NULL && (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL))
        return nb_error_set(error, NB_CALL_BAD_URL, "'%.80s' is no URL of a daemon",
                            call->target->url);
    if (name != NULL) /* libcurl's words may have the host and the port, but no path */
        return nb_error_set(error, NB_CALL_UNREACHABLE, "%.80s: %s", name, reason);
    if (result == CURLE_COULDNT_CONNECT) /* of a Unix socket libcurl names a port */
        reason = "cannot connect: is bayesd running?";
    return nb_error_set(error, NB_CALL_UNREACHABLE, "%.80s: %s", call->target->url, reason);
}

/* Makes the request once. Returns 0 when there is a reply, whatever its status. */
static int attempt(struct nb_call *call, const struct nb_call_request *request,
                   struct nb_error *error)
{
    assert(call->url_length < URL_MOST && request->method != NULL && request->path != NULL);
    call->status = 0;
    call->retry_after = 0;
    call->reason[0] = '\0';
    call->is_stopped = false;
    call->reply->length = 0;
    if (strlen(request->path) >= URL_MOST - call->url_length)
        return nb_error_set(error, NB_CALL_BAD_URL, "the address of the request is too long");
    memcpy(call->url + call->url_length, request->path, strlen(request->path) + 1);
    (void)curl_easy_setopt(call->curl, CURLOPT_URL, call->url);
    set_body(call, request);
    struct curl_slist *headers = headers_of(call, request);
    if (headers == NULL)
        return nb_error_no_memory(error);
    (void)curl_easy_setopt(call->curl, CURLOPT_HTTPHEADER, headers);
    CURLcode result = curl_easy_perform(call->curl);
    (void)curl_easy_setopt(call->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    if (result != CURLE_OK)
        return unreachable(call, result, error);
    (void)curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &call->status);
    return 0;
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Sleeps before the next attempt. Returns false, without sleeping, when the patience has run out.
 */
static bool wait_again(const struct nb_call *call, uint64_t *waited)
{
    uint64_t seconds = call->retry_after > 0 ? (uint64_t)call->retry_after : 1;
    if (seconds > RETRY_SECONDS)
        seconds = RETRY_SECONDS;
    if (*waited + seconds > call->target->patience)
        return false;
    *waited += seconds;
    struct timespec pause = {.tv_sec = (time_t)seconds};
    while (nanosleep(&pause, &pause) != 0)
        ; /* interrupted by a signal that does not end the program */
    return true;
}

int nb_call_make(struct nb_call *call, const struct nb_call_request *request,
                 struct nb_buffer *reply, struct nb_error *error)
{
    uint64_t waited = 0;
    call->request = request;
    call->reply = reply;
    for (;;) {
        int rc = attempt(call, request, error);
        if (rc != 0)
            return rc;
        if (call->status >= 200 && call->status < 300)
            return 0;
        if (call->target->name != NULL)
            return nb_error_set(error, NB_CALL_PROTOCOL, "%.80s answers %ld", call->target->name,
                                call->status);
        rc = nb_refusal_read(call->status, (struct nb_string){reply->bytes, reply->length},
                             call->target->url, error);
        if (rc != NB_CALL_BUSY || request->give != NULL || !wait_again(call, &waited))
            return rc;
    }
}

int nb_call_json(struct nb_call *call, const struct nb_call_request *request, json_t **value,
                 struct nb_error *error)
{
    struct nb_buffer reply = {0};
    int rc = nb_call_make(call, request, &reply, error);
    *value = NULL;
    if (rc == 0 && reply.length > 0) {
        *value = json_loadb(reply.bytes, reply.length, JSON_ALLOW_NUL, NULL);
        if (*value == NULL)
            rc = nb_error_set(error, NB_CALL_PROTOCOL, "%.80s answers something that is not JSON",
                              call->target->url);
    }
    nb_buffer_deinit(&reply);
    return rc;
}

int nb_call_once(const struct nb_call_target *target, const struct nb_call_request *request,
                 json_t **value, struct nb_error *error)
{
    struct nb_call *call = NULL;
    int rc = nb_call_open(target, &call, error);
    if (rc == 0)
        rc = nb_call_json(call, request, value, error);
    nb_call_close(&call);
    return rc;
}
