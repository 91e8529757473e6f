/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/base/log.h"
#include "server/filter/filter.h"
#include "server/request/admission.h"
#include "server/request/query.h"
#include "server/request/request.h"
#include "server/request/server.h"
#include "server/request/wait.h"

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

/* A list of users, with room for `most`; the names lie behind the strings. */
struct list {
    struct nb_string *users;
    char (*names)[NB_USER_NAME];
    size_t count, most;
};

/* Adds the user whom a name means; false when there is no room. */
static bool add_user(const struct nb_request *request, struct nb_string name, struct list *list)
{
    assert(list->count <= list->most);
    char user[NB_USER_NAME];
    nb_user_map_find(request->configuration->users, name, user);
    if (is_there(list->users, list->count, nb_string_of(user)))
        return true;
    if (list->count == list->most)
        return false;
    memcpy(list->names[list->count], user, sizeof user);
    list->users[list->count] = nb_string_of(list->names[list->count]);
    list->count++;
    return true;
}

/* Takes the first name off a list. Commas always separate: a name with one is no name of a model.
 */
static struct nb_string take_name(struct nb_string *list)
{
    const char *comma = memchr(list->bytes, ',', list->length);
    struct nb_string name = {list->bytes,
                             comma != NULL ? (size_t)(comma - list->bytes) : list->length};
    *list = nb_string_from(*list, name.length + (comma != NULL));
    return name;
}

/* Adds those of a field, which may be a list; false when there are more than there is room for. */
static bool take_fields(const struct nb_request *request, const char *field, bool is_list,
                        struct list *list)
{
    size_t at = 0;
    struct nb_string text;
    while ((text = request->carrier->next_field(request, field, &at)).bytes != NULL) {
        do {
            if (!add_user(request, is_list ? take_name(&text) : text, list))
                return false;
        } while (is_list && text.length > 0);
    }
    return true;
}

int nb_filter_users(const struct nb_request *request, struct nb_string **users, size_t *count,
                    struct nb_error *error)
{
    const struct nb_protocol *protocol = request->route->protocol;
    size_t most = (size_t)request->config->classify_models;
    struct list list = {.most = most};
    *users = NULL;
    *count = 0;
    if (request->config->filter_user_model[0] == '\0')
        return 0;
    *users = list.users = malloc(most * (sizeof **users + sizeof *list.names));
    if (*users == NULL)
        return nb_error_no_memory(error);
    list.names = (char(*)[NB_USER_NAME])(*users + most);
    bool fits = take_fields(request, protocol->user_field, false, &list);
    struct nb_string other = nb_request_field(request, protocol->user_field);
    if (list.count == 0 && other.bytes != NULL) /* a query parameter stands in for it */
        fits = add_user(request, other, &list);
    if (list.count == 0 && protocol->recipient_field != NULL)
        fits = take_fields(request, protocol->recipient_field, true, &list);
    *count = fits ? list.count : 0;
    return 0;
}

void nb_filter_learner(const struct nb_request *request, char user[NB_USER_NAME])
{
    struct nb_string name = nb_request_field(request, request->route->protocol->user_field);
    nb_user_map_find(request->configuration->users, name, user);
}

/* ---- parents ------------------------------------------------------------------------------------
 */

static bool learns(const struct nb_request *request)
{
    const char *field = request->route->protocol->set_field;
    return request->route->role == NB_ROLE_TRAIN &&
           (field == NULL || nb_request_field(request, field).bytes != NULL);
}

/* Whether learning will make the user's model, which is to have a parent. Sets *model. */
static bool wants_parent(struct nb_request *request, char model[NB_FILTER_MODEL])
{
    const struct nb_config *config = request->config;
    struct nb_string source;
    char user[NB_USER_NAME];
    nb_filter_learner(request, user);
    if (!learns(request) || config->filter_user_parent[0] == '\0' || !config->auto_create ||
        user[0] == '\0' || nb_filter_model(config, nb_string_of(user), model, NULL) != 0 ||
        strcmp(model, config->filter_model) == 0 ||
        nb_engine_has_model(request->server->engine, nb_string_of(model)))
        return false;
    return nb_request_check_model(request, nb_string_of(model), NULL) == 0 &&
           nb_request_source(request, &source, NULL) == 0 &&
           !nb_request_is_quarantined(request, &source);
}

/* Makes a model for mail, unless there is one of the name. `parent`: NULL for none. */
static int make_model(struct nb_request *request, const char *name, const char *parent,
                      struct nb_error *error)
{
    struct nb_engine *engine = request->server->engine;
    struct nb_settings settings;
    struct nb_string source;
    bool created;
    if (nb_engine_has_model(engine, nb_string_of(name)))
        return 0;
    nb_settings_init(&settings, NB_PRESET_MAIL);
    settings.parent = parent != NULL ? strdup(parent) : NULL;
    int rc = parent != NULL && settings.parent == NULL ? nb_error_no_memory(error) : 0;
    if (rc == 0)
        rc = nb_request_source(request, &source, error);
    if (rc == 0)
        rc = nb_engine_put_model(engine, nb_string_of(name), &settings, true, source, &created,
                                 error);
    nb_settings_deinit(&settings);
    return rc == NB_CONFLICT && nb_engine_has_model(engine, nb_string_of(name)) ? 0 : rc;
}

/* The common model, that of the domain where there is one, and the user's. On the pool. */
static void make_chain(struct nb_request *request, const char *model)
{
    const struct nb_config *config = request->config;
    struct nb_error why = {0};
    char parent[NB_FILTER_MODEL], user[NB_USER_NAME];
    nb_filter_learner(request, user);
    int rc = nb_filter_parent(config, nb_string_of(user), parent, &why);
    bool is_common = rc == 0 && strcmp(parent, config->filter_model) == 0;
    bool is_of_domain = strstr(config->filter_user_parent, "%d") != NULL;
    if (rc == 0 && (is_common || is_of_domain))
        rc = make_model(request, config->filter_model, NULL, &why);
    if (rc == 0 && !is_common)
        rc = make_model(request, parent, is_of_domain ? config->filter_model : NULL, &why);
    if (rc == 0)
        rc = make_model(request, model, parent, &why);
    if (rc != 0) /* learning goes on: it makes a model without a parent */
        nb_log(NB_LOG_WARNING, "a user's model gets no parent model=%s reason=%s", model, why.text);
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
    char made[NB_FILTER_MODEL];
    if (wants_parent(request, made))
        make_chain(request, made);
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

/* A mail that is judged without its user's model, because that is on another node, would get
 * another verdict. Who learns is checked when the model is known. */
static int check_follows(struct nb_request *request, const struct nb_string *users, size_t count,
                         struct nb_error *error)
{
    const struct nb_config *config = request->config;
    int rc = 0;
    if (request->route->role == NB_ROLE_TRAIN)
        return 0;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        char model[NB_FILTER_MODEL];
        name_model(config, users[i], model);
        rc = nb_request_check_follows(request, nb_string_of(model), error);
    }
    return rc != 0 ? rc
                   : nb_request_check_follows(request, nb_string_of(config->filter_model), error);
}

int nb_filter_prepare(struct nb_request *request, struct nb_error *error)
{
    struct nb_string *users;
    size_t count;
    char model[NB_FILTER_MODEL];
    int rc = nb_filter_users(request, &users, &count, error);
    if (rc == 0)
        rc = check_follows(request, users, count, error);
    bool is_ready = rc == 0 && is_loaded(request, users, count) && !wants_parent(request, model);
    free(users);
    return rc != 0 || is_ready ? rc : nb_work_run(request, request->server->loads, load, error);
}
