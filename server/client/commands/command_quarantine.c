/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc quarantine: lists the changes of sources without trust, shows how they agree with the
 * model, applies or drops them.
 */
#include <string.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/base/source_flag.h"
#include "server/client/base/wish.h"
#include "server/client/commands/commands.h"
#include "server/client/evaluate/compare.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/table.h"

struct quarantine_options {
    const char *source, *until;
    struct nb_flag_list ids;
    bool all;
};

static const struct quarantine_options DEFAULTS = {.all = false};

static const struct nb_flag FLAGS[] = {
    {"source", 0, NB_FLAG_TEXT, "NAME", offsetof(struct quarantine_options, source), 0, 0,
     "apply, drop: what this source has sent"},
    {"until", 0, NB_FLAG_TEXT, "TIME", offsetof(struct quarantine_options, until), 0, 0,
     "apply, drop: what came until this time; a list\nshows the time it is of"},
    {"id", 'i', NB_FLAG_LIST, "ID", offsetof(struct quarantine_options, ids), 0, 0,
     "apply, drop: the id of a document; may be repeated"},
    {"all", 0, NB_FLAG_SWITCH, NULL, offsetof(struct quarantine_options, all), 0, 0,
     "apply, drop: everything"},
};

/* ---- list ------------------------------------------------------------------------------------ */

static void print_rows(const json_t *page)
{
    static const char *const HEAD[] = {"id", "time", "source", "label", "verdict", ">P(label)"};
    struct nb_text_table table;
    size_t i;
    const json_t *row;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_array_foreach(json_object_get(page, "quarantine"), i, row)
    {
        bool untrain = json_is_true(json_object_get(row, "untrain"));
        const json_t *probability = json_object_get(row, "probability");
        nb_table_cell(&table, "%s", nb_answer_text(row, "id"));
        nb_table_cell(&table, "%s", nb_answer_text(row, "time"));
        nb_table_cell(&table, "%s", nb_answer_text(row, "source"));
        nb_table_cell(&table, "%s", untrain ? "(untrain)" : nb_answer_text(row, "label"));
        nb_table_cell(&table, "%s", nb_answer_text(row, "verdict"));
        if (probability != NULL)
            nb_table_cell(&table, "%.4f", json_number_value(probability));
        else
            nb_table_cell(&table, "%s", "");
    }
    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

/* A page after the other; each is printed when it is there. The list is of the time of the first
 * one: what came later may stand before the next page, where nobody has seen it. */
static int list(struct nb_client *client, struct nb_error *error)
{
    struct nb_buffer rest = {0}, next = {0};
    char time[64] = "";
    bool has_more = true;
    int rc = 0;
    while (rc == 0 && has_more) {
        json_t *page = NULL;
        rest.length = 0;
        if (nb_buffer_printf(&rest, "/quarantine") != 0 ||
            nb_path_query(&rest, "after", next.length > 0 ? next.bytes : NULL) != 0)
            rc = nb_error_no_memory(error);
        if (rc == 0)
            rc = nb_answer_get(client, rest.bytes, &page, error);
        if (rc == 0 && client->json)
            rc = nb_answer_print(page, error);
        else if (rc == 0)
            print_rows(page);
        if (rc == 0 && *time == '\0')
            (void)snprintf(time, sizeof time, "%s", nb_answer_text(page, "time"));
        next.length = 0;
        has_more = json_object_get(page, "next") != NULL;
        if (rc == 0 && has_more &&
            (nb_buffer_puts(&next, nb_answer_text(page, "next")) != 0 ||
             nb_buffer_append(&next, "", 1) != 0))
            rc = nb_error_no_memory(error);
        if (rc == 0 && !has_more && !client->json)
            (void)printf("as of %s\n", time);
        json_decref(page);
    }
    nb_buffer_deinit(&next);
    nb_buffer_deinit(&rest);
    return rc;
}

/* ---- effect ---------------------------------------------------------------------------------- */

static void print_sources(json_t *sources)
{
    static const char *const HEAD[] = {"source", ">documents", ">judged", ">agreeing", ">log_loss"};
    struct nb_text_table table;
    const char *name;
    const json_t *row;
    nb_table_head(&table, HEAD, sizeof HEAD / sizeof HEAD[0]);
    json_object_foreach(sources, name, row)
    {
        nb_table_cell(&table, "%s", name);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(row, "documents")).text);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(row, "judged")).text);
        nb_table_cell(&table, "%s", nb_figure_of(nb_answer_number(row, "agreeing")).text);
        nb_table_cell(&table, "%.4g", json_number_value(json_object_get(row, "log_loss")));
    }

    nb_table_print(&table, stdout);
    nb_table_deinit(&table);
}

static int effect(struct nb_client *client, struct nb_error *error)
{
    json_t *reply = NULL;
    int rc = nb_answer_get(client, "/quarantine/effect", &reply, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0) {
        (void)printf("%s: %s changes wait\n\n", client->model,
                     nb_figure_of(nb_answer_number(reply, "documents")).text);
        print_sources(json_object_get(reply, "sources"));
        nb_compare_print(json_object_get(reply, "evaluation"), "with");
    }
    json_decref(reply);
    return rc;
}

/* ---- apply and drop -------------------------------------------------------------------------- */

static json_t *wish_of(const struct quarantine_options *options)
{
    json_t *wish = json_pack("{s:s*, s:s*}", "source", options->source, "until", options->until);
    if (wish == NULL || !nb_wish_ids(wish, &options->ids)) {
        json_decref(wish);
        return NULL;
    }
    if (options->all)
        (void)json_object_set_new(wish, "all", json_true());
    return wish;
}

static void print_settled(const struct nb_client *client, const json_t *reply, bool is_drop)
{
    const char *name;
    const json_t *count;
    if (is_drop)
        (void)printf("%s: %s changes dropped\n", client->model,
                     nb_figure_of(nb_answer_number(reply, "dropped")).text);
    else
        (void)printf("%s: applied\n", client->model);
    json_object_foreach((json_t *)(uintptr_t)json_object_get(reply, "applied"), name, count)
    {
        if (json_integer_value(count) > 0)
            (void)printf("  %s %s\n", nb_figure_of((uint64_t)json_integer_value(count)).text, name);
    }

    if (nb_answer_number(reply, "refused") > 0)
        (void)printf("  %s could not be made and still wait: %s\n",
                     nb_figure_of(nb_answer_number(reply, "refused")).text,
                     nb_answer_text(reply, "why"));
    if (nb_answer_number(reply, "changed_since") > 0)
        (void)printf("  %s were changed meanwhile\n",
                     nb_figure_of(nb_answer_number(reply, "changed_since")).text);
}

static int settle(struct nb_client *client, const struct quarantine_options *options, bool is_drop,
                  struct nb_error *error)
{
    struct nb_buffer path = {0};
    struct nb_call *call = NULL;
    json_t *wish = wish_of(options), *reply = NULL;
    int rc =
        nb_path_model(&path, client->model, is_drop ? "/quarantine/drop" : "/quarantine/apply") != 0
            ? nb_error_no_memory(error)
            : nb_call_open(&client->daemon, &call, error);
    if (rc == 0)
        rc = nb_wish_post(call, path.bytes, wish, &reply, error);
    if (rc == 0 && client->json)
        rc = nb_answer_print(reply, error);
    else if (rc == 0)
        print_settled(client, reply, is_drop);
    nb_call_close(&call);
    json_decref(reply);
    json_decref(wish);
    nb_buffer_deinit(&path);
    return rc;
}

/* ---------------------------------------------------------------------------------------------- */

static int run_quarantine(struct nb_client *client, const void *user, char **arguments,
                          size_t count, struct nb_error *error)
{
    const struct quarantine_options *options = user;
    const char *what = count > 0 ? arguments[0] : "list";
    bool is_drop = strcmp(what, "drop") == 0;
    bool chooses = options->source != NULL || options->until != NULL || options->ids.count > 0;
    if (is_drop || strcmp(what, "apply") == 0) {
        if (chooses == options->all)
            return nb_error_set(error, NB_CLIENT_USAGE,
                                "%s needs --source, --until or --id, or else --all", what);
        return settle(client, options, is_drop, error);
    }
    if (chooses || options->all)
        return nb_error_set(error, NB_CLIENT_USAGE, "these options are for apply and drop");
    if (strcmp(what, "list") == 0)
        return list(client, error);
    if (strcmp(what, "effect") == 0)
        return effect(client, error);
    return nb_error_set(error, NB_CLIENT_USAGE, "'%s' is none of list, effect, apply, drop", what);
}

const struct nb_command NB_COMMAND_QUARANTINE = {
    .name = "quarantine",
    .arguments = "[list|effect|apply|drop]",
    .summary = "Shows, applies or drops what sources without trust have sent",
    .details =
        "list shows what waits, with the verdict that the model gives it now. effect sums that up\n"
        "for each source, and shows the evaluation with and without it. apply learns it, drop\n"
        "deletes it: what has this source, came until this time and has one of these ids, as far\n"
        "as they are given, or --all.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .most = 1,
    .patience = 60,
    .run = run_quarantine,
};
