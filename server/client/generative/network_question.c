/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/generative/network_question.h"

#include <stdio.h>
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/wish.h"
#include "server/client/terminal/table.h"
#include "server/client/terminal/terminal.h"

/* POSTs the question (NULL: it could not be made), and releases it. */
static int ask(const struct nb_client *client, const char *network, json_t *question,
               json_t **reply, struct nb_error *error)
{
    struct nb_buffer path = {0};
    struct nb_call *call = NULL;
    int rc = nb_path_network(&path, network, "/query") == 0
                 ? nb_call_open(&client->daemon, &call, error)
                 : nb_error_no_memory(error);
    if (rc == 0)
        rc = nb_wish_post(call, path.bytes, question, reply, error);
    nb_call_close(&call);
    nb_buffer_deinit(&path);
    json_decref(question);
    return rc;
}

/* The names as an array; NULL: one is no UTF-8, or out of memory. */
static json_t *array_of(const struct nb_flag_list *names)
{
    json_t *array = json_array();
    for (size_t i = 0; i < names->count; i++)
        if (json_array_append_new(array, json_string(names->items[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

/* "NODE=STATE": the last '=' ends the name of the node. */
static int add_evidence(json_t *evidence, const char *item, struct nb_error *error)
{
    const char *equals = strrchr(item, '=');
    if (equals == NULL || equals == item)
        return nb_error_set(error, NB_CLIENT_USAGE, "--given '%s' is not NODE=STATE", item);
    json_t *state = json_string(equals + 1);
    json_t *name = json_stringn(item, (size_t)(equals - item));
    int rc = name != NULL ? json_object_set(evidence, json_string_value(name), state) : -1;
    json_decref(name);
    json_decref(state);
    return rc == 0 ? 0 : nb_error_set(error, NB_CLIENT_USAGE, "--given '%s' is no UTF-8", item);
}

static void print_probabilities(json_t *reply)
{
    static const char *const HEAD[] = {"node", "state", ">probability"};
    struct nb_text_table table;
    const char *node, *state;
    json_t *states;
    const json_t *p;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_object_foreach(json_object_get(reply, "probabilities"), node, states)
    {
        bool is_first = true;
        json_object_foreach(states, state, p)
        {
            nb_table_cell(&table, "%s", is_first ? node : "");
            nb_table_cell(&table, "%s", state);
            nb_table_cell(&table, "%.6f", json_number_value(p));
            is_first = false;
        }
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

int nb_network_ask(const struct nb_client *client, const char *network,
                   const struct nb_flag_list *of, const struct nb_flag_list *given,
                   struct nb_error *error)
{
    json_t *evidence = json_object(), *reply = NULL;
    int rc = evidence != NULL ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; rc == 0 && i < given->count; i++)
        rc = add_evidence(evidence, given->items[i], error);
    json_t *question = rc == 0 ? json_pack("{s:O}", "evidence", evidence) : NULL;
    json_t *targets = of->count > 0 ? array_of(of) : NULL;
    if (of->count > 0 && json_object_set_new(question, "of", targets) != 0 && rc == 0)
        rc = nb_error_set(error, NB_CLIENT_USAGE, "a name of --of is no UTF-8");
    if (rc == 0)
        rc = ask(client, network, question, &reply, error);
    else
        json_decref(question);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_probabilities(reply);
    json_decref(reply);
    json_decref(evidence);
    return rc;
}

static void print_independence(const json_t *reply, const char *one, const char *other,
                               const struct nb_flag_list *given)
{
    bool is_independent = json_is_true(json_object_get(reply, "independent"));
    (void)printf("%s and %s %s", nb_shown(one).text, nb_shown(other).text,
                 is_independent ? "are independent" : "may depend on each other");
    for (size_t i = 0; i < given->count; i++)
        (void)printf("%s%s", i == 0 ? " given " : ", ", nb_shown(given->items[i]).text);
    (void)putchar('\n');
}

int nb_network_ask_independent(const struct nb_client *client, const char *network, const char *one,
                               const char *other, const struct nb_flag_list *given,
                               struct nb_error *error)
{
    json_t *reply = NULL, *known = array_of(given);
    int rc =
        ask(client, network, json_pack("{s:[s,s], s:o}", "independent", one, other, "given", known),
            &reply, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_independence(reply, one, other, given);
    json_decref(reply);
    return rc;
}
