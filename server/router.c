/* SPDX-License-Identifier: Apache-2.0 */
#include "server/router.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "core/base/hex.h"
#include "server/routes.h"

static const char *const NO_QUERY[] = {NULL};
static const char *const DOCUMENT_QUERY[] = {"label", "id", NULL};
static const char *const CLASSIFY_QUERY[] = {
    "explain", "label", "id", "threshold", "target_fpr", "cost_fp", "cost_fn", "positive", NULL};
static const char *const EVALUATION_QUERY[] = {"positive", "target_fpr", NULL};
static const char *const VOCABULARY_QUERY[] = {"label", "limit", NULL};
static const char *const MAIL_QUERY[] = {"deliver-to", "shm", "file", "path", NULL};

/* rspamd does not look at the method; its proxy sends GET with a body. */
#define RSPAMD(path, role, handler)                                                                \
    {"POST", path, role, NB_BODY_DOCUMENTS, MAIL_QUERY, handler, NULL, true},                      \
    {                                                                                              \
        "GET", path, role, NB_BODY_DOCUMENTS, MAIL_QUERY, handler, NULL, true                      \
    }

static const struct nb_route ROUTES[] = {
    {"POST", "/v1/models/{model}/classify", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, CLASSIFY_QUERY,
     nb_route_classify, nb_route_classify_line, false},
    {"POST", "/v1/models/{model}/train", NB_ROLE_TRAIN, NB_BODY_DOCUMENTS, DOCUMENT_QUERY,
     nb_route_train, nb_route_train_line, false},
    {"POST", "/v1/models/{model}/untrain", NB_ROLE_TRAIN, NB_BODY_DOCUMENTS, DOCUMENT_QUERY,
     nb_route_train, nb_route_train_line, false},
    {"POST", "/v1/models/{model}/tokenize", NB_ROLE_CLASSIFY, NB_BODY_DOCUMENTS, DOCUMENT_QUERY,
     nb_route_tokenize, nb_route_tokenize_line, false},
    {"GET", "/v1/models", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_models, NULL, false},
    {"GET", "/v1/models/{model}", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_model, NULL,
     false},
    {"PUT", "/v1/models/{model}", NB_ROLE_ADMIN, NB_BODY_SETTINGS, NO_QUERY, nb_route_put_model,
     NULL, false},
    {"DELETE", "/v1/models/{model}", NB_ROLE_ADMIN, NB_BODY_NONE, NO_QUERY, nb_route_delete_model,
     NULL, false},
    {"GET", "/v1/models/{model}/vocabulary", NB_ROLE_CLASSIFY, NB_BODY_NONE, VOCABULARY_QUERY,
     nb_route_vocabulary, NULL, false},
    {"GET", "/v1/models/{model}/evaluation", NB_ROLE_CLASSIFY, NB_BODY_NONE, EVALUATION_QUERY,
     nb_route_evaluation, NULL, false},
    {"GET", "/v1/models/{model}/documents/{id}", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY,
     nb_route_document, NULL, false},
    {"GET", "/v1/models/{model}/export", NB_ROLE_ADMIN, NB_BODY_NONE, NO_QUERY, nb_route_export,
     NULL, false},
    {"PUT", "/v1/models/{model}/import", NB_ROLE_ADMIN, NB_BODY_DUMP, NO_QUERY, nb_route_import,
     nb_route_import_line, false},
    RSPAMD("/checkv2", NB_ROLE_CLASSIFY, nb_route_rspamd_check),
    RSPAMD("/check", NB_ROLE_CLASSIFY, nb_route_rspamd_check),
    RSPAMD("/symbols", NB_ROLE_CLASSIFY, nb_route_rspamd_check),
    RSPAMD("/scan", NB_ROLE_CLASSIFY, nb_route_rspamd_check),
    RSPAMD("/learnspam", NB_ROLE_TRAIN, nb_route_rspamd_learn),
    RSPAMD("/learnham", NB_ROLE_TRAIN, nb_route_rspamd_learn),
    {"GET", "/ping", NB_ROLE_NONE, NB_BODY_NONE, NO_QUERY, nb_route_rspamd_ping, NULL, true},
    {"GET", "/stat", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_rspamd_stat, NULL, true},
    {"GET", "/auth", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_rspamd_auth, NULL, true},
    {"GET", "/healthz", NB_ROLE_NONE, NB_BODY_NONE, NO_QUERY, nb_route_healthz, NULL, false},
    {"GET", "/readyz", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_readyz, NULL, false},
    {"GET", "/metrics", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_metrics, NULL, false},
    {"GET", "/openapi.json", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_openapi, NULL,
     false},
    {"GET", "/", NB_ROLE_CLASSIFY, NB_BODY_NONE, NO_QUERY, nb_route_page, NULL, false},
};

enum { ROUTE_COUNT = sizeof ROUTES / sizeof ROUTES[0], SEGMENTS_MOST = 6 };

const struct nb_route *nb_route_table(size_t *count)
{
    *count = ROUTE_COUNT;
    return ROUTES;
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

/* Splits "/a/b" into decoded "a" and "b"; "/" is one empty segment. Returns how many there are,
 * SEGMENTS_MOST + 1 for more than any route has, and 0 for a path that is none. */
static size_t split_path(char *path, struct nb_string segments[SEGMENTS_MOST], bool *is_bad)
{
    size_t count = 0;
    while (*path == '/') {
        char *start = ++path;
        path += strcspn(path, "/");
        if (count == SEGMENTS_MOST)
            return SEGMENTS_MOST + 1;
        bool is_last = *path == '\0';
        size_t length = nb_percent_decode(start, (size_t)(path - start));
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

static bool is_word(const struct nb_route *route, const char *word, struct nb_string segment)
{
    /* `word` is the rest of a pattern: it goes on behind the segment. */
    return route->is_rspamd ? strncasecmp(segment.bytes, word, segment.length) == 0
                            : memcmp(segment.bytes, word, segment.length) == 0;
}

static bool matches(const struct nb_route *route, const struct nb_string *segments, size_t count,
                    struct nb_string parameters[NB_PATH_PARAMETERS])
{
    const char *pattern = route->pattern;
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        if (*pattern++ != '/')
            return false;
        size_t length = strcspn(pattern, "/");
        if (*pattern == '{') {
            if (segments[i].length == 0)
                return false;
            parameters[taken++] = segments[i];
        } else if (length != segments[i].length || !is_word(route, pattern, segments[i])) {
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

/* RFC 9112, 3.2.2: a server takes the absolute form "http://host/path" as well. */
static char *path_of_target(char *target)
{
    if (strncmp(target, "http://", 7) != 0)
        return target;
    char *path = strchr(target + 7, '/');
    return path != NULL ? path : target;
}

enum nb_route_result nb_route_find(const char *method, char *path, struct nb_match *match)
{
    *match = (struct nb_match){.index = ROUTE_COUNT};
    struct nb_string segments[SEGMENTS_MOST];
    bool is_bad = false;
    size_t count = split_path(path_of_target(path), segments, &is_bad);
    if (is_bad)
        return NB_ROUTE_BAD_PATH;
    if (count == 0 || count > SEGMENTS_MOST)
        return NB_ROUTE_NO_PATH;
    if (strcmp(method, "HEAD") == 0)
        method = "GET";
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        struct nb_string parameters[NB_PATH_PARAMETERS] = {{NULL, 0}};
        if (!matches(&ROUTES[i], segments, count, parameters))
            continue;
        if (strcmp(ROUTES[i].method, method) != 0) {
            add_allowed(match, ROUTES[i].method);
            continue;
        }
        match->route = &ROUTES[i];
        match->index = i;
        memcpy(match->parameters, parameters, sizeof parameters);
        return NB_ROUTE_FOUND;
    }
    return match->allow[0] != '\0' ? NB_ROUTE_NO_METHOD : NB_ROUTE_NO_PATH;
}
