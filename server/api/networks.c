/* SPDX-License-Identifier: Apache-2.0 */
#include "server/api/networks.h"

#include <assert.h>

#include "config/config.h"
#include "core/base/names.h"
#include "server/api/draw.h"
#include "server/api/handlers.h"
#include "server/api/network_json.h"
#include "server/base/emit.h"
#include "server/base/time.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"
#include "server/http/server.h"

/* Names on a page without `limit`. */
enum { PAGE_DEFAULT = 1000, ENDED = 1 };

static struct nb_named_key key_of(struct nb_string name)
{
    return (struct nb_named_key){"network", name};
}

int nb_network_check_own_name(const struct nb_request *request, struct nb_error *error)
{
    if (nb_check_model_name(request->model, NULL) == 0)
        return 0;
    return nb_error_set(error, NB_UNUSABLE,
                        "a network's name is, as a model's, 1 to 128 letters, digits and "
                        ". _ @ + - and begins with a letter or digit");
}

int nb_network_load(const struct nb_request *request, struct nb_string name,
                    struct nb_network **network, struct nb_named *stored, struct nb_error *error)
{
    struct nb_named_key key = key_of(name);
    if (nb_check_model_name(name, NULL) != 0)
        return nb_error_about(error,
                              nb_error_set(error, NB_NOT_FOUND, "there is no network of this name"),
                              "network_not_found", NULL);
    int rc = nb_named_get(request->server->engine, &key, stored, error);
    if (rc != 0)
        return rc;
    rc = nb_network_read(nb_buffer_string(&stored->value),
                         (size_t)request->config->network_table_cells, network, error);
    if (rc != 0)
        nb_named_deinit(stored);
    return rc;
}

int nb_network_keep(struct nb_request *request, const struct nb_network *network,
                    struct nb_error *error)
{
    struct nb_named_key key = key_of(request->model);
    struct nb_buffer text = {0};
    struct nb_string source;
    bool created = false;
    int rc = nb_network_check_own_name(request, error);
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc == 0 && nb_network_write(network, &text) != 0)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_named_put(request->server->engine, &key, nb_buffer_string(&text), request->only_new,
                          source, &created, error);
    nb_buffer_deinit(&text);
    request->has_changed = rc == 0;
    if (rc == 0)
        request->reply.status = created ? 201 : 200;
    return rc;
}

/* ---- one network ----------------------------------------------------------------------------- */

static int write_json(struct nb_request *request, const struct nb_network *network,
                      const struct nb_named *stored, struct nb_error *error)
{
    struct nb_emitter e = nb_emit_begin(&request->reply.body);
    nb_emit_open(&e, '{');
    nb_emit_member_string(&e, "network", request->model);
    nb_emit_member_time(&e, "changed", stored->time);
    nb_emit_member_string(&e, "source", nb_buffer_string(&stored->source));
    nb_emit_nodes(&e, network);
    nb_emit_close(&e, '}');
    return nb_reply_written(request, nb_emit_end(&e), error);
}

static int write_picture(struct nb_request *request, const struct nb_network *network, bool is_svg,
                         struct nb_error *error)
{
    struct nb_buffer *out = &request->reply.body;
    int rc = is_svg ? nb_network_svg(network, request->model, out)
                    : nb_network_dot(network, request->model, out);
    if (rc != 0)
        return nb_error_no_memory(error);
    return nb_reply_with(request, 200,
                         is_svg ? "image/svg+xml" : "text/vnd.graphviz; charset=utf-8");
}

static int show(struct nb_request *request, struct nb_error *error)
{
    struct nb_string format = nb_request_query(request, "format");
    struct nb_network *network = NULL;
    struct nb_named stored;
    if (format.bytes == NULL)
        format = nb_string_of("json");
    bool is_json = nb_string_equals(format, "json");
    bool is_svg = nb_string_equals(format, "svg");
    if (!is_json && !is_svg && !nb_string_equals(format, "dot"))
        return nb_error_set(error, NB_INVALID, "query parameter 'format' must be json, dot or svg");
    int rc = nb_network_load(request, request->model, &network, &stored, error);
    if (rc != 0)
        return rc;
    rc = is_json ? write_json(request, network, &stored, error)
                 : write_picture(request, network, is_svg, error);
    nb_named_deinit(&stored);
    nb_network_free(&network);
    return rc;
}

int nb_route_network(struct nb_request *request, struct nb_error *error)
{
    return show(request, error);
}

int nb_route_put_network(struct nb_request *request, struct nb_error *error)
{
    struct nb_network *network = NULL;
    int rc = nb_network_check_own_name(request, error);
    if (rc == 0)
        rc = nb_network_read(request->body, (size_t)request->config->network_table_cells, &network,
                             error);
    if (rc == 0)
        rc = nb_network_keep(request, network, error);
    nb_network_free(&network);
    unsigned status = request->reply.status;
    assert(rc != 0 || status == 200 || status == 201); /* nb_network_keep has set it */
    if (rc == 0)
        rc = show(request, error);
    if (rc == 0)
        request->reply.status = status;
    return rc;
}

int nb_route_delete_network(struct nb_request *request, struct nb_error *error)
{
    struct nb_named_key key = key_of(request->model);
    if (nb_check_model_name(request->model, NULL) != 0)
        return nb_error_set(error, NB_NOT_FOUND, "there is no network of this name");
    int rc = nb_named_delete(request->server->engine, &key, error);
    request->has_changed = rc == 0;
    return rc != 0 ? rc : nb_reply_with(request, 204, NULL);
}

/* ---- listing networks ------------------------------------------------------------------------ */

struct page {
    const struct nb_request *request;
    struct nb_emitter e;
    size_t left;
    struct nb_buffer last; /* owned: the name of the last row */
    bool has_more;
    int code;
};

static int list_one(void *user, struct nb_string name, bool is_damaged)
{
    struct page *p = user;
    assert(!p->has_more && p->code == 0); /* else the listing has ended */
    if (!nb_request_is_for(p->request, name))
        return 0;
    p->has_more = p->left == 0;
    if (p->has_more)
        return ENDED;
    p->left--;
    nb_emit_open(&p->e, '{');
    nb_emit_member_string(&p->e, "name", name);
    if (is_damaged)
        nb_emit_member_text(&p->e, "state", "damaged");
    nb_emit_close(&p->e, '}');
    p->last.length = 0;
    p->code = nb_buffer_append(&p->last, name.bytes, name.length);
    return p->code != 0 ? ENDED : 0;
}

static int list(struct nb_request *request, struct page *p, struct nb_error *error)
{
    nb_emit_open(&p->e, '{');
    nb_emit_key(&p->e, "networks");
    nb_emit_open(&p->e, '[');
    int rc = nb_named_list(request->server->engine, "network", nb_request_query(request, "after"),
                           list_one, p, error);
    if (rc < 0)
        return rc;
    nb_emit_close(&p->e, ']');
    if (p->has_more)
        nb_emit_member_string(&p->e, "next", nb_buffer_string(&p->last));
    nb_emit_close(&p->e, '}');
    rc = nb_emit_end(&p->e);
    return nb_reply_written(request, p->code != 0 ? p->code : rc, error);
}

int nb_route_networks(struct nb_request *request, struct nb_error *error)
{
    struct page page = {.request = request};
    int rc = nb_request_query_rows(request, PAGE_DEFAULT, &page.left, error);
    if (rc != 0)
        return rc;
    page.e = nb_emit_begin(&request->reply.body);
    rc = list(request, &page, error);
    nb_buffer_deinit(&page.last);
    return rc;
}
