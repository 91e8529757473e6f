/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/nodes/members.h"

#include <stdlib.h>
#include <string.h>

#include "server/client/base/answer.h"

enum { SILENT_SECONDS = 60 /* a node tells of itself every few seconds */ };

int nb_nodes_ask(const struct nb_client *client, const char *url, const char *path, json_t **value,
                 struct nb_error *error)
{
    struct nb_call_target target = client->daemon;
    const struct nb_call_request request = {.method = "GET", .path = path};
    target.url = url;
    target.patience = 0; /* a node that is not ready is what is looked for */
    return nb_call_once(&target, &request, value, error);
}

static bool is_https(const char *url)
{
    return strncmp(url, "https://", 8) == 0;
}

/* Who may publish can tell any URL: the access token goes to none that is less guarded than the one
 * that was asked for. */
static void check(struct nb_listed_node *node, const char *asked)
{
    uint64_t silent = nb_answer_number(node->member, "seconds");
    if (node->url != NULL && is_https(asked) && !is_https(node->url))
        (void)nb_error_set(&node->why, NB_CALL_UNREACHABLE,
                           "it tells the URL %s, which is not asked: the first one is https",
                           node->url);
    else if (node->url == NULL && silent >= SILENT_SECONDS)
        (void)nb_error_set(&node->why, NB_CALL_UNREACHABLE, "no word of it for %llu seconds",
                           (unsigned long long)silent);
}

static void add(struct nb_listed_node *nodes, size_t *count, const json_t *member,
                const char *asked)
{
    const char *url = nb_answer_text(member, "url");
    struct nb_listed_node *node = &nodes[*count];
    if (json_is_true(json_object_get(member, "self"))) {
        nodes[0].member = member;
        return;
    }
    *node = (struct nb_listed_node){.url = url[0] != '\0' ? url : NULL, .member = member};
    check(node, asked);
    node->is_asked = node->url != NULL && node->why.code == 0;
    ++*count;
}

static void add_all(struct nb_listed_node *nodes, size_t *count, const json_t *members,
                    const char *asked)
{
    const json_t *member;
    size_t i;
    for (int with = 1; with >= 0; with--)
        json_array_foreach(members, i, member)
        {
            if ((nb_answer_text(member, "url")[0] != '\0') == (with == 1))
                add(nodes, count, member, asked);
        }
}

int nb_nodes_find(const struct nb_client *client, const char *url, struct nb_listed_node **nodes,
                  size_t *count, json_t **reply, struct nb_error *error)
{
    *reply = NULL;
    /* What goes wrong here goes wrong again when the node is asked how it stands. */
    (void)nb_nodes_ask(client, url, "/v1/nodes", reply, NULL);
    const json_t *members = json_object_get(*reply, "members");
    size_t size = json_array_size(members);
    if (size > NB_NODES_MEMBERS_MOST)
        size = 0;
    struct nb_listed_node *list = calloc(size + 2, sizeof *list);
    if (list == NULL) {
        json_decref(*reply);
        return nb_error_no_memory(error);
    }
    list[0] = (struct nb_listed_node){.url = url, .is_asked = true};
    *count = 1;
    if (size > 0)
        add_all(list, count, members, url);
    *nodes = list;
    return 0;
}
