/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/generative/network_learned.h"

#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/wish.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

static void print_edges(const json_t *reply, const char *kind, const char *sign)
{
    size_t i;
    const json_t *pair;
    json_array_foreach(json_object_get(reply, kind), i, pair)
    {
        (void)printf("  %s %s %s\n", nb_shown(json_string_value(json_array_get(pair, 0))).text,
                     sign, nb_shown(json_string_value(json_array_get(pair, 1))).text);
    }
}

int nb_network_print_learned(const struct nb_client *client, const char *network,
                             const json_t *reply, struct nb_error *error)
{
    if (client->json)
        return nb_answer_print(reply, error);
    (void)printf("%s: learned from %s rows\n", nb_shown(network).text,
                 nb_figure_of(nb_answer_number(reply, "rows")).text);
    print_edges(reply, "directed", "->");
    print_edges(reply, "undirected", "-");
    if (!json_is_true(json_object_get(reply, "kept")))
        (void)printf("The tests contradict each other: no network has all of this, none is kept.\n"
                     "More rows, or another --alpha, may help. Directions in doubt:\n");
    print_edges(reply, "conflicts", "-");
    return 0;
}

/* NULL: a name is no UTF-8, or out of memory. */
static json_t *wish_of(const char *model, char **fields, size_t count,
                       const struct nb_network_wish *wish)
{
    json_t *object = json_pack("{s:s, s:f, s:f, s:I}", "model", model, "alpha", wish->alpha,
                               "prior", wish->prior, "separators", (json_int_t)wish->separators);
    json_t *list = json_array();
    int rc = object != NULL && list != NULL ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = json_array_append_new(list, json_string(fields[i]));
    if (rc == 0 && count > 0)
        rc = json_object_set(object, "fields", list);
    json_decref(list);
    if (rc == 0)
        return object;
    json_decref(object);
    return NULL;
}

int nb_network_learn_from(const struct nb_client *client, const char *network, const char *model,
                          char **fields, size_t count, const struct nb_network_wish *wish,
                          struct nb_error *error)
{
    struct nb_buffer path = {0};
    struct nb_call *call = NULL;
    json_t *question = wish_of(model, fields, count, wish), *reply = NULL;
    int rc = nb_path_network(&path, network, "") == 0 &&
                     nb_path_query(&path, "source", wish->source) == 0
                 ? nb_call_open(&client->daemon, &call, error)
                 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_wish_post(call, path.bytes, question, &reply, error);
    if (rc == 0)
        rc = nb_network_print_learned(client, network, reply, error);
    nb_call_close(&call);
    json_decref(reply);
    json_decref(question);
    nb_buffer_deinit(&path);
    return rc;
}
