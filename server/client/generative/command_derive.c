/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc derive: makes a model that begins with what another one knows.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "server/call/path.h"
#include "server/client/base/answer.h"
#include "server/client/commands/commands.h"
#include "server/client/terminal/figure.h"
#include "server/client/terminal/terminal.h"

struct derive_options {
    uint64_t strength; /* 0: all */
};

static const struct derive_options DEFAULTS = {.strength = 0};

static const struct nb_flag FLAGS[] = {
    {"strength", 's', NB_FLAG_COUNT, "N", offsetof(struct derive_options, strength), 1, 1e9,
     "what OLD knows weighs as N documents at most (default: as all that it has)"},
};

/* ".../from/OLD", percent-encoded. */
static int put_path(struct nb_buffer *path, const char *old, const char *new, uint64_t strength)
{
    int rc = nb_path_model(path, new, "/from/");
    if (rc == 0)
        rc = nb_path_segment(path, old);
    if (rc == 0 && strength > 0)
        rc = nb_buffer_printf(path, "?strength=%" PRIu64, strength);
    return rc;
}

static void print_row(const json_t *row, const char *old, const char *new, bool is_below)
{
    const json_t *parent = json_object_get(json_object_get(row, "settings"), "parent");
    if (!is_below)
        (void)printf("%s: begins with %s documents of %s\n", nb_shown(new).text,
                     nb_figure_of(nb_answer_number(row, "documents")).text, nb_shown(old).text);
    else
        (void)printf("%s: its prior is %s, a copy of %s\n", nb_shown(new).text,
                     nb_shown(json_string_value(parent)).text, nb_shown(old).text);
}

static int run_derive(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    const struct derive_options *options = user;
    struct nb_buffer path = {0};
    json_t *row = NULL;
    (void)count;
    int rc = put_path(&path, arguments[0], arguments[1], options->strength);
    const struct nb_call_request request = {.method = "POST", .path = path.bytes};
    rc = rc == 0 ? nb_call_once(&client->daemon, &request, &row, error) : nb_error_no_memory(error);
    nb_buffer_deinit(&path);
    if (rc == 0 && client->json)
        rc = nb_answer_print(row, error);
    else if (rc == 0)
        print_row(row, arguments[0], arguments[1], options->strength > 0);
    json_decref(row);
    return rc;
}

const struct nb_command NB_COMMAND_DERIVE = {
    .name = "derive",
    .arguments = "OLD NEW",
    .unused = NB_UNUSED_MODEL,
    .summary = "Makes a model that begins with what another one knows",
    .details =
        "What OLD has learned until now is the prior of NEW, frozen: neither sees what the other\n"
        "learns later, and OLD can be deleted. With --strength NEW begins without documents, and "
        "a\n"
        "frozen copy of OLD, the model NEW.prior, is its parent: the sooner forgotten the smaller "
        "N.\n",
    .flags = FLAGS,
    .flag_count = sizeof FLAGS / sizeof FLAGS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .least = 2,
    .most = 2,
    .patience = 3600,
    .run = run_derive,
};
