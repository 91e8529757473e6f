/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc export writes a whole model to a file; bayesc import makes a model from such a file or
 * from a word list of bogofilter.
 */
#include "server/client/commands/command_dump.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/client/base/client.h"
#include "server/client/base/terminal.h"
#include "server/client/bogofilter/bogofilter.h"
#include "server/client/commands/commands.h"
#include "tokenizer/text.h"

enum { LINE_MOST = 256 * 1024 * 1024 };

int nb_dump_check_init(struct nb_dump_check *check)
{
    *check = (struct nb_dump_check){.reader = NULL};
    nb_splitter_init(&check->lines, LINE_MOST);
    return nb_json_dump_reader_new(&check->reader);
}

void nb_dump_check_deinit(struct nb_dump_check *check)
{
    nb_json_dump_reader_free(&check->reader);
    nb_splitter_deinit(&check->lines);
}

static int take_line(struct nb_dump_check *check, const struct nb_ndjson_line *line)
{
    struct nb_json_record record;
    if (line->is_too_long)
        return nb_error_set(&check->error, NB_TOO_LARGE,
                            "line %ju of the dump is longer than %d bytes", (uintmax_t)line->number,
                            LINE_MOST);
    return nb_json_dump_read(check->reader, line->number, line->text, &record, &check->error);
}

int nb_dump_check_add(struct nb_dump_check *check, const char *bytes, size_t length)
{
    struct nb_string input = {bytes, length};
    struct nb_ndjson_line line;
    int rc = check->error.code;
    while (rc == 0 && (rc = nb_splitter_next(&check->lines, &input, &line)) == 1)
        rc = take_line(check, &line);
    if (rc == NB_NO_MEMORY && check->error.code == 0)
        (void)nb_error_no_memory(&check->error);
    return check->error.code;
}

int nb_dump_check_end(struct nb_dump_check *check)
{
    struct nb_ndjson_line line;
    if (check->error.code == 0 && nb_splitter_last(&check->lines, &line) == 1)
        (void)take_line(check, &line);
    if (check->error.code == 0)
        (void)nb_json_dump_finish(check->reader, &check->error);
    return check->error.code;
}

/* ---- export ---------------------------------------------------------------------------------- */

static int check(void *user, const char *bytes, size_t length)
{
    return nb_dump_check_add(user, bytes, length);
}

static int fetch(void *user, FILE *out, struct nb_error *error)
{
    static const struct nb_exchange EXPORTING = {.method = "GET",
                                                 .path = "/v1/models/{model}/export"};
    struct nb_dump_check dump;
    int rc = nb_dump_check_init(&dump);
    rc = rc == 0 ? nb_exchange_fetch(&EXPORTING, user, out, check, &dump, error)
                 : nb_error_no_memory(error);
    if (rc == 0 || rc == NB_CALL_STOPPED) {
        rc = nb_dump_check_end(&dump);
        if (rc != 0)
            (void)nb_error_set(error, rc, "the daemon's dump is not whole: %s", dump.error.text);
    }
    nb_dump_check_deinit(&dump);
    return rc;
}

/* A name of a model has no slash. */
static bool is_no_path(const char *word)
{
    return strchr(word, '/') == NULL && strcmp(word, "-") != 0;
}

static int run_export(struct nb_asked *asked, struct nb_error *error)
{
    if (asked->count == 0 && isatty(STDOUT_FILENO))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "a model is not written to a terminal: name a file, as in bayesc "
                            "export %s FILE, or redirect the output",
                            asked->client->model);
    return nb_write_file(asked->count > 0 ? asked->arguments[0] : "-", fetch, asked, error);
}

const struct nb_command NB_COMMAND_EXPORT = {
    .name = "export",
    .model_from = 2,
    .is_model = is_no_path,
    .unused = NB_UNUSED_JSON,
    .most = 2,
    .patience = 60,
    .run = run_export,
};

/* ---- import ---------------------------------------------------------------------------------- */

/* ---- the format ------------------------------------------------------------------------------ */

enum format { FORMAT_DUMP, FORMAT_BOGOFILTER };

static const char *encoding_of(const char *name)
{
    size_t length = strlen(name);
    if (length > 4 && strcmp(name + length - 4, ".zst") == 0)
        return "zstd";
    return length > 3 && strcmp(name + length - 3, ".gz") == 0 ? "gzip" : NULL;
}

/* A dump is NDJSON and begins with '{', which no token of bogofilter contains (its lexer.l). Only
 * the daemon unpacks compressed files: they are taken for dumps. */
static int find_format(const char *name, FILE *in, bool is_packed, enum format *format,
                       struct nb_error *error)
{
    *format = FORMAT_DUMP;
    if (strcmp(name, "bogofilter") == 0)
        *format = FORMAT_BOGOFILTER;
    else if (strcmp(name, "auto") != 0 && strcmp(name, "bayesd") != 0)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--format is auto, bayesd or bogofilter, not '%.40s'", name);
    if (*format == FORMAT_BOGOFILTER && is_packed)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "a word list is read as plain text: unpack it first");
    if (strcmp(name, "auto") != 0 || is_packed)
        return 0;
    int c = getc(in);
    while (c != EOF && isspace(c))
        c = getc(in);
    (void)ungetc(c, in); /* one byte can always be pushed back */
    *format = c == '{' || c == EOF ? FORMAT_DUMP : FORMAT_BOGOFILTER;
    return 0;
}

static int refuse_existing(const struct nb_client *client, struct nb_error *error)
{
    json_t *row = NULL;
    int rc = nb_model_get(client, &row, error);
    json_decref(row);
    if (rc == NB_NOT_FOUND)
        return 0;
    return rc != 0
               ? rc
               : nb_error_set(error, NB_EXISTS, "model '%s' exists: use --replace", client->model);
}

/* ---- the result ------------------------------------------------------------------------------ */

/* "9  no line of a word list (lines 3, 7 ...)" */
static void print_losses(const struct nb_bogofilter_list *list)
{
    for (int i = 0; i < NB_LOSSES; i++) {
        const struct nb_bogofilter_losses *losses = &list->losses[i];
        uint64_t named = losses->count < NB_LOSS_LINES ? losses->count : NB_LOSS_LINES;
        if (losses->count == 0)
            continue;
        (void)printf("  %12s  %s (%s ", nb_figure_of(losses->count).text,
                     nb_bogofilter_loss_text((enum nb_bogofilter_loss)i),
                     losses->count > 1 ? "lines" : "line");
        for (uint64_t n = 0; n < named; n++)
            (void)printf("%s%ju", n > 0 ? ", " : "", (uintmax_t)losses->lines[n]);
        (void)fputs(losses->count > named ? " ...)\n" : ")\n", stdout);
    }
}

static void print_list(const struct nb_bogofilter_list *list)
{
    uint64_t lost = 0;
    for (int i = 0; i < NB_LOSSES; i++)
        lost += list->losses[i].count;
    (void)printf("  %12s  messages of spam\n",
                 nb_figure_of(list->messages[NB_BOGOFILTER_SPAM]).text);
    (void)printf("  %12s  messages of ham\n", nb_figure_of(list->messages[NB_BOGOFILTER_HAM]).text);
    (void)printf("  %12s  tokens of bogofilter taken, which are %s features\n%s",
                 nb_figure_of(list->tokens).text, nb_figure_of(nb_model_rows(list->rows)).text,
                 lost > 0 ? "left out:\n" : "");
    print_losses(list);
}

static json_t *lines_of(const struct nb_bogofilter_losses *losses)
{
    json_t *lines = json_array();
    for (uint64_t n = 0; n < losses->count && n < NB_LOSS_LINES; n++)
        if (json_array_append_new(lines, json_integer((json_int_t)losses->lines[n])) != 0)
            break; /* without memory the list is shorter, as it is when there are many lines */
    return lines;
}

/* Puts the member "bogofilter" into the daemon's reply. */
static int add_list(const struct nb_bogofilter_list *list, json_t *row, struct nb_error *error)
{
    json_t *losses = json_object();
    int rc = losses != NULL ? 0 : -1;
    for (int i = 0; rc == 0 && i < NB_LOSSES; i++)
        rc = json_object_set_new(losses, nb_bogofilter_loss_name((enum nb_bogofilter_loss)i),
                                 json_pack("{sI so}", "count", (json_int_t)list->losses[i].count,
                                           "first_lines", lines_of(&list->losses[i])));
    json_t *member = json_pack("{sI sI sO}", "tokens", (json_int_t)list->tokens, "features",
                               (json_int_t)nb_model_rows(list->rows), "left_out", losses);
    json_decref(losses);
    if (rc != 0 || json_object_set_new(row, "bogofilter", member) != 0)
        return nb_error_no_memory(error);
    return 0;
}

/* `list` is NULL for a dump. */
static int print_result(const struct nb_client *client, const struct nb_bogofilter_list *list,
                        json_t *row, struct nb_error *error)
{
    if (client->json) {
        int rc = list != NULL ? add_list(list, row, error) : 0;
        return rc != 0 ? rc : nb_answer_print(row, error);
    }
    uint64_t dropped = nb_answer_number(row, "quarantine_dropped");
    (void)printf("%s: %s\n", nb_shown(client->model).text,
                 nb_counted(nb_answer_number(row, "documents"), "document").text);
    if (dropped > 0)
        (void)printf("%s that waited in the quarantine could not be kept\n",
                     nb_counted(dropped, "change").text);
    if (list != NULL)
        print_list(list);
    return 0;
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The source of a dump that goes to the daemon. */
struct upload {
    FILE *in;
    bool is_packed; /* compressed: only the daemon can check it */
    struct nb_dump_check check;
};

/* A broken dump is never sent to its end, so that the daemon discards the part it has received. */
static ssize_t give_bytes(void *user, char *bytes, size_t room)
{
    struct upload *u = user;
    size_t length = fread(bytes, 1, room, u->in);
    if (ferror(u->in))
        return -1;
    if (u->is_packed)
        return (ssize_t)length;
    int rc =
        length > 0 ? nb_dump_check_add(&u->check, bytes, length) : nb_dump_check_end(&u->check);
    return rc == 0 ? (ssize_t)length : -1;
}

static int send_dump(struct nb_asked *asked, FILE *in, const char *encoding, json_t **row,
                     struct nb_error *error)
{
    static const struct nb_exchange IMPORTING = {
        .method = "PUT", .path = "/v1/models/{model}/import", .query = {"source"}};
    struct upload u = {.in = in, .is_packed = encoding != NULL};
    int rc = nb_dump_check_init(&u.check) == 0 ? 0 : nb_error_no_memory(error);
    asked->type = "application/x-ndjson";
    asked->encoding = encoding;
    asked->give = give_bytes;
    asked->user = &u;
    if (rc == 0)
        rc = nb_exchange_ask(&IMPORTING, asked, row, error);
    asked->give = NULL;
    asked->user = NULL;
    /* A fault of the dump may be the cause of the daemon's error. */
    if (ferror(in))
        rc = nb_error_set(error, NB_IO, "the dump cannot be read");
    else if (u.check.error.code != 0)
        rc = nb_error_set(error, u.check.error.code, "the dump is not whole: %s",
                          u.check.error.text);
    nb_dump_check_deinit(&u.check);
    return rc;
}

static int import_file(struct nb_asked *asked, FILE *in, const char *encoding,
                       struct nb_error *error)
{
    struct nb_bogofilter_list list = {.rows = NULL};
    enum format format = FORMAT_DUMP;
    json_t *row = NULL;
    int rc = find_format(asked->options->format, in, encoding != NULL, &format, error);
    if (rc == 0 && !asked->options->is_replacing)
        rc = refuse_existing(asked->client, error);
    bool is_list = rc == 0 && format == FORMAT_BOGOFILTER;
    FILE *dump = is_list ? NULL : in;
    if (is_list)
        rc =
            nb_text_setup() == 0 ? nb_bogofilter_read(in, &list, error) : nb_error_no_memory(error);
    if (is_list && rc == 0 && (dump = nb_bogofilter_dump(&list)) == NULL)
        rc = nb_error_no_memory(error);
    if (rc == 0)
        rc = send_dump(asked, dump, encoding, &row, error);
    if (is_list && dump != NULL) {
        rc = ferror(dump) != 0 ? nb_error_no_memory(error) : rc;
        (void)fclose(dump); /* only read from: no data is lost */
    }
    if (rc == 0)
        rc = print_result(asked->client, is_list ? &list : NULL, row, error);
    json_decref(row);
    if (is_list) {
        nb_bogofilter_list_deinit(&list);
        nb_text_teardown();
    }
    return rc;
}

/* A word that is the name of a file is that file. */
static bool is_no_file(const char *word)
{
    return is_no_path(word) && access(word, F_OK) != 0;
}

static int run_import(struct nb_asked *asked, struct nb_error *error)
{
    const char *name = asked->count == 0 ? "-" : asked->arguments[0];
    bool is_stdin = strcmp(name, "-") == 0;
    int rc = nb_source_check(asked->options->source, error);
    if (rc != 0)
        return rc;
    FILE *in = is_stdin ? stdin : fopen(name, "re");
    if (in == NULL)
        return nb_error_errno(error, errno, name);
    if (is_stdin && isatty(STDIN_FILENO))
        nb_message("no FILE is given: paste an export or a word list, and end it with Ctrl-D");
    rc = import_file(asked, in, is_stdin ? NULL : encoding_of(name), error);
    if (!is_stdin)
        (void)fclose(in); /* only read from: no data is lost */
    return rc;
}

static const struct nb_flag FLAGS[] = {
    {NB_FLAG_ROW("format", 0, TEXT, format), .usual_text = "auto"},
    NB_SWITCH("replace", 0, is_replacing),
    NB_SOURCE_FLAG,
};

const struct nb_command NB_COMMAND_IMPORT = {
    .name = "import",
    .model_from = 2,
    .is_model = is_no_file,
    NB_FLAGS(FLAGS),
    .most = 2,
    .patience = 60,
    .run = run_import,
};
