/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/generative/network_kept.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/files/write_file.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

/* ---- one request ----------------------------------------------------------------------------- */

static int request_json(const struct nb_client *client, const char *method, const char *path,
                        json_t **reply, struct nb_error *error)
{
    const struct nb_call_request request = {.method = method, .path = path};
    return nb_call_once(&client->daemon, &request, reply, error);
}

/* Without a body, of /v1/networks/NETWORK. */
static int simple(const struct nb_client *client, const char *method, const char *network,
                  json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    int rc = nb_path_network(&path, network, "") == 0
                 ? request_json(client, method, path.bytes, reply, error)
                 : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    return rc;
}

static ssize_t give_file(void *user, char *bytes, size_t room)
{
    FILE *file = user;
    size_t length = fread(bytes, 1, room, file);
    return length == 0 && ferror(file) != 0 ? -1 : (ssize_t)length;
}

static FILE *open_body(const char *name, struct nb_error *error)
{
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "rb");
    if (file == NULL)
        (void)nb_error_errno(error, errno, name);
    return file;
}

/* The file is the body. */
static int send_file(const struct nb_client *client, const char *method, const char *path,
                     const char *name, const char *type, json_t **reply, struct nb_error *error)
{
    FILE *file = open_body(name, error);
    if (file == NULL)
        return error->code;
    const struct nb_call_request request = {
        .method = method, .path = path, .type = type, .give = give_file, .user = file};
    int rc = nb_call_once(&client->daemon, &request, reply, error);
    if (ferror(file) != 0)
        rc = nb_error_set(error, NB_IO, "%s cannot be read", name);
    if (file != stdin)
        (void)fclose(file);
    return rc;
}

/* ---- list, show, delete ---------------------------------------------------------------------- */

static void print_names(const json_t *page)
{
    size_t i;
    const json_t *row;
    json_array_foreach(json_object_get(page, "networks"), i, row)
    {
        bool is_damaged = strcmp(nb_answer_text(row, "state"), "damaged") == 0;
        (void)printf("%s%s\n", nb_shown(nb_answer_text(row, "name")).text,
                     is_damaged ? " (damaged)" : "");
    }
}

int nb_network_list(const struct nb_client *client, struct nb_error *error)
{
    char after[NB_SHOWN_BYTES] = "";
    int rc = 0;
    do {
        struct nb_buffer path = {0};
        json_t *page = NULL;
        if (nb_buffer_puts(&path, "/v1/networks") != 0 || nb_buffer_append(&path, "", 1) != 0)
            rc = nb_error_no_memory(error);
        path.length -= rc == 0;
        if (rc == 0 && nb_path_query(&path, "after", *after != '\0' ? after : NULL) != 0)
            rc = nb_error_no_memory(error);
        if (rc == 0)
            rc = request_json(client, "GET", path.bytes, &page, error);
        if (rc == 0 && client->json)
            rc = nb_answer_print(page, error);
        else if (rc == 0)
            print_names(page);
        (void)snprintf(after, sizeof after, "%s", nb_answer_text(page, "next"));
        json_decref(page);
        nb_buffer_deinit(&path);
    } while (rc == 0 && *after != '\0');
    return rc;
}

int nb_network_show(const struct nb_client *client, const char *network, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = simple(client, "GET", network, &reply, error);
    if (rc == 0)
        rc = nb_answer_print(reply, error);
    json_decref(reply);
    return rc;
}

int nb_network_delete(const struct nb_client *client, const char *network, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = simple(client, "DELETE", network, &reply, error);
    json_decref(reply);
    return rc;
}

/* ---- pictures -------------------------------------------------------------------------------- */

struct picture {
    const struct nb_client *client;
    const char *network, *format;
};

static int fetch_picture(void *user, FILE *out, struct nb_error *error)
{
    const struct picture *p = user;
    struct nb_buffer path = {0}, reply = {0};
    struct nb_call *call = NULL;
    int rc = nb_path_network(&path, p->network, "") == 0 &&
                     nb_path_query(&path, "format", p->format) == 0
                 ? nb_call_open(&p->client->daemon, &call, error)
                 : nb_error_no_memory(error);
    const struct nb_call_request request = {.method = "GET", .path = path.bytes};
    if (rc == 0)
        rc = nb_call_make(call, &request, &reply, error);
    if (rc == 0 && fwrite(reply.bytes, 1, reply.length, out) != reply.length)
        rc = nb_error_set(error, NB_IO, "the output cannot be written");
    nb_call_close(&call);
    nb_buffer_deinit(&reply);
    nb_buffer_deinit(&path);
    return rc;
}

int nb_network_draw(const struct nb_client *client, const char *network, const char *format,
                    const char *file, struct nb_error *error)
{
    struct picture p = {client, network, format};
    if (file == NULL || strcmp(file, "-") == 0)
        return fetch_picture(&p, stdout, error);
    return nb_write_file(file, fetch_picture, &p, error);
}

/* ---- put and learn from a file
 * --------------------------------------------------------------------------- */

static void print_size(const char *network, const json_t *reply)
{
    const json_t *nodes = json_object_get(reply, "nodes"), *node;
    size_t i, arrows = 0;
    json_array_foreach(nodes, i, node)
    {
        arrows += json_array_size(json_object_get(node, "parents"));
    }

    (void)printf("%s: %s nodes, %s arrows\n", nb_shown(network).text,
                 nb_figure_of(json_array_size(nodes)).text, nb_figure_of(arrows).text);
}

int nb_network_put(const struct nb_client *client, const char *network, const char *file,
                   const char *source, struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *reply = NULL;
    int rc = nb_path_network(&path, network, "") == 0 && nb_path_query(&path, "source", source) == 0
                 ? send_file(client, "PUT", path.bytes, file, "application/json", &reply, error)
                 : nb_error_no_memory(error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_size(network, reply);
    json_decref(reply);
    nb_buffer_deinit(&path);
    return rc;
}

static const char *type_of(const char *file)
{
    static const char *const types[][2] = {{".csv", "text/csv"},
                                           {".ndjson", "application/x-ndjson"},
                                           {".jsonl", "application/x-ndjson"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t length = strlen(file), end = strlen(types[i][0]);
        if (length >= end && strcmp(file + length - end, types[i][0]) == 0)
            return types[i][1];
    }
    return "application/json";
}

int nb_network_learn_file(const struct nb_client *client, const char *network, const char *file,
                          const struct nb_network_wish *wish, struct nb_error *error)
{
    struct nb_buffer path = {0}, query = {0};
    json_t *reply = NULL;
    int rc = nb_buffer_printf(&query, "/learn?alpha=%.17g&prior=%.17g&separators=%ju", wish->alpha,
                              wish->prior, (uintmax_t)wish->separators);
    if (rc == 0)
        rc = nb_path_network(&path, network, query.bytes);
    if (rc == 0)
        rc = nb_path_query(&path, "source", wish->source);
    rc = rc == 0 ? send_file(client, "POST", path.bytes, file, type_of(file), &reply, error)
                 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_network_print_learned(client, network, reply, error);
    json_decref(reply);
    nb_buffer_deinit(&query);
    nb_buffer_deinit(&path);
    return rc;
}
