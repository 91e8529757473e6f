/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/call.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    REPLY_MOST = 1 << 30, /* a reply above this is no reply of a bayesd */
    CONNECT_SECONDS = 5,
    RETRY_SECONDS = 30, /* longest pause between two attempts */
    URL_MOST = 2048
};

struct nb_call {
    const struct nb_client *client; /* borrowed */
    CURL *curl;
    struct nb_buffer *reply; /* of the request that runs */
    size_t reply_most;
    FILE *source, *sink;
    bool is_sink_broken;
    long status;
    long retry_after; /* seconds; 0: not said */
    size_t url_length;
    char url[URL_MOST];
    char reason[CURL_ERROR_SIZE];
};

int nb_call_setup(struct nb_error *error)
{
    json_object_seed(0); /* before threads parse */
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return nb_error_set(error, NB_IO, "libcurl cannot start");
    return 0;
}

void nb_call_teardown(void)
{
    curl_global_cleanup();
}

/* ---- paths -------------------------------------------------------------------------------------
 */

int nb_call_escape(struct nb_buffer *path, const char *text)
{
    static const char PLAIN[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    int rc = 0;
    for (; *text != '\0' && rc == 0; text++) {
        if (strchr(PLAIN, *text) != NULL)
            rc = nb_buffer_append(path, text, 1);
        else
            rc = nb_buffer_printf(path, "%%%02X", (unsigned)(unsigned char)*text);
    }
    if (rc == 0)
        rc = nb_buffer_append(path, "", 1);
    if (rc == 0)
        path->length--;
    return rc;
}

int nb_call_path(struct nb_buffer *path, const char *model, const char *rest)
{
    int rc = nb_buffer_puts(path, "/v1/models/");
    if (rc == 0)
        rc = nb_call_escape(path, model);
    if (rc == 0)
        rc = nb_buffer_append(path, rest, strlen(rest) + 1);
    if (rc == 0)
        path->length--;
    return rc;
}

/* ---- what libcurl calls ------------------------------------------------------------------------
 */

static size_t take_body(char *bytes, size_t size, size_t count, void *user)
{
    struct nb_call *call = user;
    size_t length = size * count;
    long status = 0;
    (void)curl_easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    if (call->sink != NULL && status >= 200 && status < 300) {
        call->is_sink_broken = fwrite(bytes, 1, length, call->sink) != length;
        return call->is_sink_broken ? 0 : length;
    }
    if (call->reply->length + length > call->reply_most)
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
    size_t length = fread(bytes, 1, size * count, call->source);
    return ferror(call->source) ? CURL_READFUNC_ABORT : length;
}

/* ---- opening -----------------------------------------------------------------------------------
 */

static bool is_loopback(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    return strncmp(host, "127.", 4) == 0 || strncmp(host, "[::1]", 5) == 0 ||
           strncmp(host, "localhost", 9) == 0;
}

static const char UNIX_SCHEME[] = "unix:";

/* A Unix socket is asked as localhost would be. */
static const char *base_url(const struct nb_client *client)
{
    bool is_unix = strncmp(client->url, UNIX_SCHEME, sizeof UNIX_SCHEME - 1) == 0;
    return is_unix ? "http://localhost" : client->url;
}

static void set_up(struct nb_call *call)
{
    CURL *curl = call->curl;
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, call->reason);
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)call->client->timeout);
    if (call->client->is_hasty)
        (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)call->client->timeout);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, call);
    (void)curl_easy_setopt(curl, CURLOPT_READFUNCTION, give_body);
    (void)curl_easy_setopt(curl, CURLOPT_READDATA, call);
    /* http_proxy of the environment is meant for other machines. */
    if (is_loopback(call->url))
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (base_url(call->client) != call->client->url)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH,
                               call->client->url + sizeof UNIX_SCHEME - 1);
}

int nb_call_open(const struct nb_client *client, struct nb_call **call, struct nb_error *error)
{
    const char *url = base_url(client);
    size_t length = strlen(url);
    while (length > 0 && url[length - 1] == '/')
        length--;
    if (length == 0 || length > URL_MOST / 2)
        return nb_error_set(error, NB_CLIENT_USAGE, "'%.80s' is no URL", client->url);
    struct nb_call *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    made->client = client;
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

/* ---- a request ---------------------------------------------------------------------------------
 */

static int add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer == NULL)
        return NB_NO_MEMORY;
    *list = longer;
    return 0;
}

/* "NAME VALUE" (NAME with its colon). */
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

/* The header lines of a request, for curl_slist_free_all; NULL without memory. */
static struct curl_slist *headers_of(const struct nb_call *call,
                                     const struct nb_request_of_client *request)
{
    struct curl_slist *list = NULL;
    const struct nb_buffer *token = &call->client->token;
    /* libcurl would wait for "100 Continue" before it sends a large body. */
    int rc = add_header(&list, "Expect:");
    if (rc == 0)
        rc = add_text(&list, "Content-Type:", request->type);
    if (rc == 0)
        rc = add_text(&list, "Content-Encoding:", request->encoding);
    if (rc == 0 && token->length > 0)
        rc = add_pair(&list, "Authorization: Bearer",
                      (struct nb_string){token->bytes, token->length});
    for (size_t at = 0; rc == 0 && at < request->headers.length;
         at += strlen(request->headers.bytes + at) + 1)
        rc = add_header(&list, request->headers.bytes + at);
    if (rc == 0)
        return list;
    curl_slist_free_all(list);
    return NULL;
}

/* CUSTOMREQUEST names the method whatever way the body goes. */
static void set_body(struct nb_call *call, const struct nb_request_of_client *request)
{
    CURL *curl = call->curl;
    (void)curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    if (request->source != NULL) {
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
    if (call->is_sink_broken)
        return nb_error_set(error, NB_IO, "the output cannot be written");
    if (result == CURLE_OUT_OF_MEMORY)
        return nb_error_no_memory(error);
    if (result == CURLE_URL_MALFORMAT || result == CURLE_UNSUPPORTED_PROTOCOL)
        return nb_error_set(error, NB_CLIENT_USAGE, "'%.80s' is no URL of a daemon",
                            call->client->url);
    return nb_error_set(error, NB_CLIENT_UNREACHABLE, "%.80s: %s", call->client->url, reason);
}

/* One attempt; 0 when there is a reply, of whatever status. */
static int attempt(struct nb_call *call, const struct nb_request_of_client *request,
                   struct nb_error *error)
{
    call->status = 0;
    call->retry_after = 0;
    call->reason[0] = '\0';
    call->is_sink_broken = false;
    call->reply->length = 0;
    if (strlen(request->path) >= URL_MOST - call->url_length)
        return nb_error_set(error, NB_CLIENT_USAGE, "the address of the request is too long");
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

/* ---- errors of the daemon ----------------------------------------------------------------------
 */

static int code_of(long status)
{
    switch (status) {
    case 401:
    case 403:
        return NB_CLIENT_FORBIDDEN;
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
        return NB_CLIENT_BUSY;
    default:
        return status >= 400 && status < 500 ? NB_INVALID : NB_CLIENT_PROTOCOL;
    }
}

static int refused(const struct nb_call *call, struct nb_error *error)
{
    json_t *problem = json_loadb(call->reply->bytes, call->reply->length, 0, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    if (detail == NULL) /* as rspamd's protocol tells errors */
        detail = json_string_value(json_object_get(problem, "error"));
    int code = code_of(call->status);
    if (detail == NULL)
        code = nb_error_set(error, code == NB_NOT_FOUND ? NB_CLIENT_PROTOCOL : code,
                            "%.80s answers %ld, and not as bayesd would", call->client->url,
                            call->status);
    else
        (void)nb_error_set(error, code, "%s", detail);
    json_decref(problem);
    return code;
}

/* Sleeps before another attempt; false when the patience is at its end. */
static bool wait_again(const struct nb_call *call, uint64_t *waited)
{
    uint64_t seconds = call->retry_after > 0 ? (uint64_t)call->retry_after : 1;
    if (seconds > RETRY_SECONDS)
        seconds = RETRY_SECONDS;
    if (*waited + seconds > call->client->patience)
        return false;
    *waited += seconds;
    struct timespec pause = {.tv_sec = (time_t)seconds};
    while (nanosleep(&pause, &pause) != 0)
        ; /* a signal that does not end the program */
    return true;
}

int nb_call_make(struct nb_call *call, const struct nb_request_of_client *request,
                 struct nb_buffer *reply, struct nb_error *error)
{
    uint64_t waited = 0;
    for (;;) {
        call->reply = reply;
        call->reply_most = request->reply_most > 0 ? request->reply_most : REPLY_MOST;
        call->source = request->source;
        call->sink = request->sink;
        int rc = attempt(call, request, error);
        if (rc != 0)
            return rc;
        if (call->status >= 200 && call->status < 300)
            return 0;
        rc = refused(call, error);
        if (rc != NB_CLIENT_BUSY || request->source != NULL || !wait_again(call, &waited))
            return rc;
    }
}

int nb_call_json(struct nb_call *call, const struct nb_request_of_client *request, json_t **value,
                 struct nb_error *error)
{
    struct nb_buffer reply = {0};
    int rc = nb_call_make(call, request, &reply, error);
    *value = NULL;
    if (rc == 0 && reply.length > 0) {
        *value = json_loadb(reply.bytes, reply.length, JSON_ALLOW_NUL, NULL);
        if (*value == NULL)
            rc = nb_error_set(error, NB_CLIENT_PROTOCOL, "%.80s answers what is not JSON",
                              call->client->url);
    }
    nb_buffer_deinit(&reply);
    return rc;
}

int nb_call_once(const struct nb_client *client, const struct nb_request_of_client *request,
                 json_t **value, struct nb_error *error)
{
    struct nb_call *call = NULL;
    int rc = nb_call_open(client, &call, error);
    if (rc == 0)
        rc = nb_call_json(call, request, value, error);
    nb_call_close(&call);
    return rc;
}

long nb_call_status(const struct nb_call *call)
{
    return call->status;
}
