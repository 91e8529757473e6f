/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc watch: prints new verdicts as they appear in the history that a model keeps.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"

enum {
    PAGE = 1000,   /* rows of one request */
    OFFERED = 1000 /* size of the history that is offered for a model without one */
};

struct watch {
    struct nb_asked *asked;
    json_t *seen;  /* owned: an object; its names are rows that the next request returns again */
    char from[64]; /* time of the newest row; empty: there was none */
};

/* ---- requests -------------------------------------------------------------------------------- */

/* Gets all rows since the newest known one, newest first; at the beginning one page with as many
 * rows as the user wants. *reply is owned by the caller. */
static int get_rows(const struct watch *w, bool is_first, json_t **reply, struct nb_error *error)
{
    const struct nb_exchange history = {.method = "GET",
                                        .path = "/v1/models/{model}/history",
                                        .query = {"verdict", "contains"},
                                        .rows = "history",
                                        .is_listing = !is_first};
    struct nb_asked asked = *w->asked;
    char limit[24];
    /* at least one: the next request begins at the time of the newest row */
    uint64_t wanted = asked.options->lines > 0 ? asked.options->lines : 1;
    (void)snprintf(limit, sizeof limit, "%ju", (uintmax_t)(is_first ? wanted : PAGE));
    asked.more[0].name = "limit";
    asked.more[0].value = limit;
    asked.more[1].name = "from";
    asked.more[1].value = *w->from != '\0' ? w->from : NULL;
    int rc = nb_exchange_ask(&history, &asked, reply, error);
    if (rc == 0 && !json_is_array(json_object_get(*reply, "history")))
        rc = nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no history");
    return rc;
}

/* ---- printing -------------------------------------------------------------------------------- */

static int print_row(const struct watch *w, const json_t *row, struct nb_error *error)
{
    const char *name = nb_answer_text(row, "message_id"), *time = nb_answer_text(row, "time");
    if (w->asked->client->json)
        return nb_answer_print(row, error);
    const char *verdict = nb_answer_text(row, "verdict");
    int printed = printf("%.10s %.8s  %s%-8s%s %.6f  %s", nb_shown(time).text,
                         strlen(time) > 11 ? nb_shown(time + 11).text : "",
                         nb_colour(stdout, nb_colour_of(verdict)), nb_shown(verdict).text,
                         nb_colour(stdout, NB_COLOUR_PLAIN),
                         json_number_value(json_object_get(row, "probability")),
                         nb_shown(*name != '\0' ? name : nb_answer_text(row, "id")).text);
    if (printed >= 0 && json_object_get(row, "subject") != NULL)
        printed = printf("  %s", nb_shown(nb_answer_text(row, "subject")).text);
    return printed < 0 || putchar('\n') == EOF
               ? nb_error_set(error, NB_IO, "standard output cannot be written")
               : 0;
}

/* Prints the new rows, oldest first, unless `is_hidden`, and remembers them: the next request
 * returns the newest again. */
static int print_rows(struct watch *w, const json_t *rows, bool is_hidden, struct nb_error *error)
{
    json_t *seen = json_object();
    int rc = 0;
    for (size_t i = json_array_size(rows); i-- > 0 && rc == 0;) {
        const json_t *row = json_array_get(rows, i);
        char key[512];
        (void)snprintf(key, sizeof key, "%s %s", nb_answer_text(row, "time"),
                       nb_answer_text(row, "id"));
        if (!is_hidden && json_object_get(w->seen, key) == NULL)
            rc = print_row(w, row, error);
        (void)json_object_set_new(seen, key, json_true());
        (void)snprintf(w->from, sizeof w->from, "%.63s", nb_answer_text(row, "time"));
    }
    json_decref(w->seen);
    w->seen = seen;
    if (rc == 0 && fflush(stdout) != 0)
        rc = nb_error_set(error, NB_IO, "standard output cannot be written");
    return rc;
}

/* ---- running --------------------------------------------------------------------------------- */

/* Waits until the next request is due. Fails when the reader of standard output has gone: `bayesc
 * watch | head` ends together with head, not at the next verdict. */
static int wait_for(double seconds, struct nb_error *error)
{
    struct pollfd output = {.fd = STDOUT_FILENO, .events = 0};
    if (poll(&output, 1, (int)(1000 * seconds)) == 1)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return 0;
}

static const struct nb_exchange SETTING = {.method = "PUT", .path = "/v1/models/{model}"};

/* Lets the model keep verdicts, if the person at the terminal agrees. */
static int offer_history(struct nb_asked *asked, json_t *settings, struct nb_error *error)
{
    const char *model = asked->client->model;
    if (!nb_ask_is_possible())
        return nb_error_set(
            error, NB_INVALID,
            "the model '%s' keeps no verdicts: bayesc set %s history=%d lets it keep "
            "as many",
            model, model, OFFERED);
    if (!nb_ask(
            "The model %s keeps no verdicts. Shall it keep the last %s, with the words that it saw "
            "of each?",
            model, nb_figure_of(OFFERED).text))
        return nb_error_set(error, NB_INVALID, "nothing was changed");
    json_t *row = NULL;
    asked->body = settings;
    int rc = json_object_set_new(settings, "history", json_integer(OFFERED)) == 0
                 ? nb_exchange_ask(&SETTING, asked, &row, error)
                 : nb_error_no_memory(error);
    asked->body = NULL;
    json_decref(row);
    return rc;
}

static int check_history(struct nb_asked *asked, struct nb_error *error)
{
    json_t *row = NULL;
    int rc = nb_model_get(asked->client, &row, error);
    json_t *settings = json_object_get(row, "settings");
    if (rc == 0 && nb_answer_number(settings, "history") == 0)
        rc = offer_history(asked, settings, error);
    json_decref(row);
    return rc;
}

/* Runs until the daemon cannot be asked or the reader has gone; usually until Ctrl-C. */
static int run_watch(struct nb_asked *asked, struct nb_error *error)
{
    struct watch w = {.asked = asked, .seen = json_object()};
    int rc = check_history(asked, error);
    if (rc == 0)
        rc = nb_call_open(&asked->client->daemon, &asked->call, error);
    bool is_first = true;
    while (rc == 0) {
        json_t *reply = NULL;
        rc = get_rows(&w, is_first, &reply, error);
        if (rc == 0)
            rc = print_rows(&w, json_object_get(reply, "history"),
                            is_first && asked->options->lines == 0, error);
        json_decref(reply);
        is_first = false;
        if (rc == 0)
            rc = wait_for(asked->options->interval, error);
    }
    nb_call_close(&asked->call);
    json_decref(w.seen);
    return rc;
}

static const struct nb_flag FLAGS[] = {
    NB_COUNT("lines", 'n', lines, 10, 0, 1000),
    NB_NUMBER("interval", 'i', interval, 1, 0.1, 3600),
    NB_TEXT("verdict", 0, verdict),
    NB_TEXT("contains", 0, contains),
};

const struct nb_command NB_COMMAND_WATCH = {
    .name = "watch",
    .model_from = 1,
    NB_FLAGS(FLAGS),
    .most = 1,
    .patience = 60,
    .run = run_watch,
};
