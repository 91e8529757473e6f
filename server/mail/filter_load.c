/* SPDX-License-Identifier: Apache-2.0 */
#include "server/mail/filter_load.h"

#include <stdlib.h>
#include <strings.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/mail/filter.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/work.h"

/* ---- users --------------------------------------------------------------------------------------
 */

/* The model of a user; the one of all when the user cannot name one. */
static void name_model(const struct nb_config *config, struct nb_string user,
                       char model[NB_FILTER_MODEL])
{
    if (nb_filter_model(config, user, model, NULL) != 0)
        (void)nb_filter_model(config, (struct nb_string){"", 0}, model, NULL); /* does not fail */
}

static bool is_there(const struct nb_string *users, size_t count, struct nb_string user)
{
    size_t i = 0;
    while (i < count && (users[i].length != user.length ||
                         strncasecmp(users[i].bytes, user.bytes, user.length) != 0))
        i++;
    return i < count;
}

/* Returns how many there are: `most` + 1 when there are more than `most`. */
static size_t take_fields(const struct nb_request *request, const char *name,
                          struct nb_string *users, size_t most)
{
    struct nb_string user;
    size_t count = 0, at = 0;
    for (;;) {
        user = request->carrier->next_field(request, name, &at);
        if (user.bytes == NULL)
            return count;
        if (is_there(users, count, user))
            continue;
        if (count == most)
            return most + 1;
        users[count++] = user;
    }
}

int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error)
{
    const struct nb_protocol *protocol = request->route->protocol;
    size_t most = (size_t)request->config->classify_models;
    *count = 0;
    *users = calloc(most, sizeof **users);
    if (*users == NULL)
        return nb_error_no_memory(error);
    if (request->config->filter_user_model[0] == '\0')
        return 0;
    size_t found = take_fields(request, protocol->user_field, *users, most);
    if (found == 0) { /* a query parameter may stand in for it */
        (*users)[0] = nb_request_field(request, protocol->user_field);
        found = (*users)[0].bytes != NULL;
    }
    if (found == 0 && protocol->recipient_field != NULL)
        found = take_fields(request, protocol->recipient_field, *users, most);
    *count = found <= most ? found : 0;
    return 0;
}

/* ---- loading ------------------------------------------------------------------------------------
 */

static bool is_loaded(const struct nb_request *request, const struct nb_string *users, size_t count)
{
    struct nb_engine *engine = request->server->engine;
    bool is_all = nb_engine_is_loaded(engine, nb_string_of(request->config->filter_model));
    for (size_t i = 0; i < count && is_all; i++) {
        char model[NB_FILTER_MODEL];
        name_model(request->config, users[i], model);
        is_all = nb_engine_is_loaded(engine, nb_string_of(model));
    }
    return is_all;
}

/* On the pool. Failures come up again where the models are used. */
static int load(struct nb_request *request, struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_string *users;
    size_t count;
    if (nb_filter_users(request, &users, &count, error) == 0) {
        for (size_t i = 0; i < count; i++) {
            char model[NB_FILTER_MODEL];
            name_model(request->config, users[i], model);
            (void)nb_engine_load(engine, nb_string_of(model), error);
        }
    }
    free(users);
    (void)nb_engine_load(engine, nb_string_of(request->config->filter_model), error);
    return 0;
}

int nb_filter_prepare(struct nb_request *request, struct nb_error *error)
{
    struct nb_string *users;
    size_t count;
    int rc = nb_filter_users(request, &users, &count, error);
    bool is_ready = rc == 0 && is_loaded(request, users, count);
    free(users);
    return rc != 0 || is_ready ? rc : nb_work_run(request, request->server->loads, load, error);
}
