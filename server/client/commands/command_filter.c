/* SPDX-License-Identifier: Apache-2.0
 *
 * bayesc filter: copies a mail from standard input to standard output and adds header fields with
 * the verdict.
 *
 * A mail server or procmail delivers what this program writes. So the mail is written whatever
 * happens: with the header fields, or without them when there is no verdict. Fields of these names
 * that the mail brought are always removed: a sender could have forged them. When the mail cannot
 * be read or written at all, the exit status says so and the caller keeps its own copy.
 */
#include <errno.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/error.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/filter_away.h"
#include "server/client/commands/mail_status.h"
#include "server/client/files/files.h"
#include "server/http/call/call.h"
#include "server/http/call/path.h"

/* Standard input and output are read and written with read(2) and write(2), not stdio: nothing is
 * held back in a buffer when the program ends. */
enum { STEP = 256 * 1024 /* bytes of one read */ };

/* Writes all bytes to standard output. Returns 0 or NB_IO. */
static int pass_write(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, length);
        if (written < 0 && errno != EINTR)
            return NB_IO;
        if (written > 0) {
            bytes += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

/* Reads once. Returns 1, 0 at the end, or NB_IO. */
static int read_some(char *bytes, size_t room, size_t *got)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, room);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count < 0 ? NB_IO : count > 0;
}

/* Appends standard input to `mail`, up to NB_ITEM_MOST bytes. Returns 0 with the whole mail, 1 when
 * the mail is longer or memory ran out (the bytes read so far are kept), or NB_IO. */
static int pass_read(struct nb_buffer *mail)
{
    while (mail->length < NB_ITEM_MOST) {
        size_t got;
        if (nb_buffer_reserve(mail, STEP) != 0)
            return 1;
        int rc = read_some(mail->bytes + mail->length, mail->capacity - mail->length, &got);
        if (rc <= 0)
            return rc;
        mail->length += got;
    }
    return 1;
}

/* Copies the rest of standard input to standard output. Returns 0 or NB_IO. */
static int pass_copy(void)
{
    char bytes[16 * 1024];
    size_t got;
    int rc;
    while ((rc = read_some(bytes, sizeof bytes, &got)) == 1) {
        rc = pass_write(bytes, got);
        if (rc != 0)
            return rc;
    }
    return rc;
}

enum { DEADLINE_SECONDS = 10 /* a mail server waits */ };

/* Exit statuses of bogofilter -e. */
enum { BOGOFILTER_SPAM, BOGOFILTER_HAM, BOGOFILTER_UNSURE, BOGOFILTER_ERROR };

struct filter_options {
    struct nb_status_fields fields;
    struct nb_status_thresholds thresholds;
    uint64_t pause;
    bool is_bogofilter, is_tempfail, is_quiet, is_remembered;
};

static const struct filter_options DEFAULTS = {
    .fields.name = "X-Bayes-Status",
    .pause = NB_BREAKER_PAUSE,
    .thresholds = {.positive = "spam", .spam_from = -1, .ham_to = -1},
};

#define AT(member) offsetof(struct filter_options, member)

static const struct nb_flag FLAGS[] = {
    {"header", 0, NB_FLAG_LIST, "'NAME: TEXT'", AT(fields.all), 0, 0,
     "add this header too; in TEXT %s is the status, %p its probability,\n"
     "%P the probability of spam, %m the model, %y YES or NO, %% a %;\nmay be repeated"},
    {"spam-header", 0, NB_FLAG_LIST, "'NAME: TEXT'", AT(fields.spam), 0, 0,
     "the same for spam only; may be repeated"},
    {"status-header", 0, NB_FLAG_TEXT, "NAME", AT(fields.name), 0, 0,
     "name of the header with the status, instead of X-Bayes-Status"},
    {"spam-from", 0, NB_FLAG_NUMBER, "P", AT(thresholds.spam_from), 0, 1,
     "spam from this probability of spam on (default: when it wins)"},
    {"ham-to", 0, NB_FLAG_NUMBER, "P", AT(thresholds.ham_to), 0, 1,
     "unsure above this probability of spam (default: nothing is unsure)"},
    {"positive", 0, NB_FLAG_TEXT, "LABEL", AT(thresholds.positive), 0, 0,
     "the label that means spam (default: spam)"},
    {"pause", 0, NB_FLAG_COUNT, "SECONDS", AT(pause), 0, NB_BREAKER_PAUSE_MOST,
     "when the daemon did not answer a mail in time, do not ask it for so\n"
     "long (default: 5; 0: wait with each mail)"},
    {"bogofilter", 'e', NB_FLAG_SWITCH, NULL, AT(is_bogofilter), 0, 0,
     "exit status 0 for spam, 1 for ham, 2 for unsure, 3 without a verdict"},
    {"tempfail", 0, NB_FLAG_SWITCH, NULL, AT(is_tempfail), 0, 0,
     "exit status 75 without a verdict, so that a mail server tries again"},
    {"remember", 0, NB_FLAG_SWITCH, NULL, AT(is_remembered), 0, 0,
     "the model keeps the verdict, if it has a history (bayesc watch)"},
    {"quiet", 'q', NB_FLAG_SWITCH, NULL, AT(is_quiet), 0, 0,
     "no line on standard error when there is no verdict; for programs that\n"
     "take such a line for a failure"},
};

struct filter {
    const struct nb_client *client;       /* NULL when no daemon can be asked */
    const struct filter_options *options; /* NULL when they could not be read */
    struct nb_fields fields;
    struct nb_buffer mail, out; /* owned: the mail as it came in and as it goes out */
};

/* ---- without a verdict ----------------------------------------------------------------------- */

static int status_without_verdict(const struct filter_options *options)
{
    if (options == NULL || options->is_tempfail)
        return EX_TEMPFAIL;
    return options->is_bogofilter ? BOGOFILTER_ERROR : 0;
}

/* Writes the mail without forged fields, and then the rest of standard input, which has the rest of
 * the body. Without memory for that it writes the mail unchanged. */
static int give_up(struct filter *f, const char *reason)
{
    f->out.length = f->fields.text.length = 0;
    bool is_clean = nb_fields_apply(&f->fields, (struct nb_string){f->mail.bytes, f->mail.length},
                                    &f->out) == 0;
    const struct nb_buffer *out = is_clean ? &f->out : &f->mail;
    if (f->options == NULL || !f->options->is_quiet)
        nb_message("no verdict, the mail goes on without one: %s", reason);
    bool is_written = pass_write(out->bytes, out->length) == 0 && pass_copy() == 0;
    return is_written ? status_without_verdict(f->options) : EX_IOERR;
}

/* ---- with a verdict -------------------------------------------------------------------------- */

/* Asks the daemon, unless it has failed to answer other mails in time. */
static int ask_daemon(const struct filter *f, const struct nb_call_request *request,
                      json_t **verdict, struct nb_error *error)
{
    struct nb_away away;
    bool may_ask = nb_away_begin(&away, f->client->daemon.url, f->options->pause);
    uint64_t start = nb_clock_monotonic();
    int rc = may_ask ? nb_call_once(&f->client->daemon, request, verdict, error)
                     : nb_error_set(error, NB_CALL_UNREACHABLE,
                                    "the daemon did not answer other mails in time, so it is not "
                                    "asked");
    nb_away_end(&away, may_ask, rc != NB_CALL_UNREACHABLE, nb_clock_monotonic() - start);
    return rc;
}

static int read_verdict(const struct filter *f, const json_t *verdict,
                        struct nb_filter_status *status, struct nb_error *error)
{
    if (!json_is_string(json_object_get(verdict, "label")))
        return nb_error_set(error, NB_CALL_PROTOCOL, "the reply has no label");
    if (nb_status_judge(&f->options->thresholds, verdict, status) != 0)
        return nb_error_set(error, NB_CALL_PROTOCOL,
                            "the reply has a label with control characters");
    return 0;
}

/* A model that does not exist or has learned nothing is not a failure: the mail is unsure. */
static int ask(const struct filter *f, struct nb_filter_status *status, struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *verdict = NULL;
    int rc = nb_path_model(&path, f->client->model, "/classify?documents=1");
    if (rc == 0 && f->options->is_remembered)
        rc = nb_path_query(&path, "remember", "1");
    const struct nb_call_request request = {.method = "POST",
                                            .path = path.bytes,
                                            .type = "message/rfc822",
                                            .body = {f->out.bytes, f->out.length}};
    rc = rc == 0 ? ask_daemon(f, &request, &verdict, error) : nb_error_no_memory(error);
    if (rc == NB_NOT_FOUND || rc == NB_CONFLICT) {
        nb_status_unknown(status);
        rc = 0;
    } else if (rc == 0) {
        rc = read_verdict(f, verdict, status, error);
    }
    json_decref(verdict);
    nb_buffer_deinit(&path);
    return rc;
}

/* Makes `out` from `mail`. The daemon gets the mail without the fields that are added here: its
 * verdict must not depend on an earlier one. */
static int add_verdict(struct filter *f, struct nb_filter_status *status, struct nb_error *error)
{
    struct nb_string mail = {f->mail.bytes, f->mail.length};
    int rc = nb_fields_apply(&f->fields, mail, &f->out);
    rc = rc == 0 ? ask(f, status, error) : nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    f->out.length = 0;
    rc = nb_status_fields_write(&f->options->fields, f->client->model, status, &f->fields.text);
    if (rc == 0)
        rc = nb_fields_apply(&f->fields, mail, &f->out);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int exit_status(const struct filter_options *options, const struct nb_filter_status *status)
{
    if (!options->is_bogofilter)
        return 0;
    return status->is_spam     ? BOGOFILTER_SPAM
           : status->is_unsure ? BOGOFILTER_UNSURE
                               : BOGOFILTER_HAM;
}

/* Reads the mail and makes `out` with the verdict. Returns 0, or the code of a failure: then the
 * mail must go on without a verdict, and the part that was read is in `mail`. */
static int judge_mail(struct filter *f, struct nb_filter_status *status, struct nb_error *error)
{
    int more = pass_read(&f->mail);
    if (more < 0)
        return nb_error_set(error, NB_IO, "the mail cannot be read from standard input");
    if (more > 0)
        return nb_error_set(error, NB_TOO_LARGE, "it is larger than %d bytes", NB_ITEM_MOST);
    if (f->mail.length == 0)
        return nb_error_set(error, NB_INVALID, "it is empty");
    return add_verdict(f, status, error);
}

static int filter_mail(struct filter *f, struct nb_error *error)
{
    struct nb_filter_status status;
    int rc = judge_mail(f, &status, error);
    if (rc == NB_IO)
        return rc; /* nothing has been written: the caller still has the mail */
    if (rc != 0)
        return give_up(f, error->text);
    if (pass_write(f->out.bytes, f->out.length) != 0)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return exit_status(f->options, &status);
}

static int check(const struct filter_options *options, struct nb_fields *fields,
                 struct nb_error *error)
{
    const struct nb_status_thresholds *t = &options->thresholds;
    int rc = nb_status_fields_check(&options->fields, fields, error);
    if (rc == 0 && t->spam_from >= 0 && t->ham_to >= t->spam_from)
        rc = nb_error_set(error, NB_CLIENT_USAGE, "--ham-to must be below --spam-from");
    return rc;
}

static void deinit(struct filter *f)
{
    nb_buffer_deinit(&f->fields.text);
    nb_buffer_deinit(&f->mail);
    nb_buffer_deinit(&f->out);
}

/* Passes the mail on for a command that could not start. Without options the default fields are
 * removed. */
static int pass_on(const void *options, const char *reason)
{
    struct filter f = {.options = options};
    struct nb_error error;
    if (check(options != NULL ? options : &DEFAULTS, &f.fields, &error) != 0)
        reason = error.text; /* fields with the valid names are removed */
    int rc = pass_read(&f.mail);
    int status = rc < 0 ? EX_IOERR : give_up(&f, reason);
    deinit(&f);
    return status;
}

static int run_filter(struct nb_client *client, const void *options, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)arguments;
    (void)count;
    struct filter f = {.client = client, .options = options};
    if (check(options, &f.fields, error) != 0)
        return isatty(STDIN_FILENO) ? NB_CLIENT_USAGE : pass_on(NULL, error->text);
    int status = filter_mail(&f, error);
    deinit(&f);
    return status;
}

const struct nb_command NB_COMMAND_FILTER = {
    .name = "filter",
    .arguments = "<MAIL >MAIL",
    .summary = "Passes a mail on, with the verdict in a header",
    .details =
        "The mail comes out byte for byte, with one line more at its top:\n"
        "\n"
        "  X-Bayes-Status: spam, probability=0.9981, model=mail\n"
        "\n"
        "The status is the most probable label, or unsure. The probability is that of the status;\n"
        "beside unsure it is that of spam. Headers of the same names in the mail are removed,\n"
        "also without a verdict: a sender could have forged them.\n"
        "Without a verdict (the daemon cannot be reached, takes longer than --timeout, 10\n"
        "seconds, did so with another mail within --pause, 5 seconds, or refuses) nothing is\n"
        "added, and a line on standard error tells why, unless --quiet is given. The exit status\n"
        "is then 0, or 75 with --tempfail, or 3 with --bogofilter. It is also 75 when the options\n"
        "cannot be read, and 74 when the mail cannot be read or written.\n",
    NB_COMMAND_FLAGS(FLAGS, DEFAULTS),
    .deadline = DEADLINE_SECONDS,
    .run = run_filter,
    .give_up = pass_on,
};
