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
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/key.h"
#include "core/base/system.h"
#include "server/client/base/terminal.h"
#include "server/client/commands/commands.h"
#include "server/client/commands/mail_status.h"
#include "server/client/files/files.h"
#include "server/http/call/call.h"

/* ---- a daemon that hangs --------------------------------------------------------------------- */

/* Remembers between runs that the daemon hangs, so that not every mail waits for it: the circuit
 * breaker of server/http/call/call.h with its state in a file. The file is in a folder of the
 * user's own: $XDG_RUNTIME_DIR, /run/user/UID, or bayesc-UID in $TMPDIR or /tmp. A folder is not
 * used if it belongs to another user, is writable by others, or is a symbolic link; without a
 * folder the daemon is always asked. The modification time of the file is that of the last request
 * that failed slowly; the process that holds a lock on the file makes the probe. */
struct away {
    uint64_t pause;   /* seconds; 0: nothing is remembered */
    int folder, file; /* descriptors; -1: none. `file` is open for the probe only */
    char name[40];
};

enum { PATH_BYTES = 512 };

/* Opens the folder if it is the user's own. Returns a descriptor or -1. */
static int open_own(const char *path)
{
    struct stat status;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
        (status.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return folder;
    if (folder >= 0)
        (void)close(folder); /* was only checked */
    return -1;
}

/* In a folder that all users may write to, makes a folder for this user alone, unless it exists.
 * open_own then checks its owner. */
static int open_made(const char *base)
{
    char path[PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s/bayesc-%ld", base, (long)geteuid());
    if (length < 0 || (size_t)length >= sizeof path)
        return -1;
    (void)mkdir(path, 0700);
    return open_own(path);
}

static int open_folder(void)
{
    char path[64];
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    int folder = runtime != NULL && runtime[0] == '/' ? open_own(runtime) : -1;
    (void)snprintf(path, sizeof path, "/run/user/%ld", (long)geteuid());
    if (folder < 0)
        folder = open_own(path);
    if (folder < 0)
        folder = open_made(temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    return folder;
}

static void close_file(struct away *away)
{
    if (away->file >= 0)
        (void)close(away->file); /* the lock goes with it */
    away->file = -1;
}

/* Returns whether the pause since the time of the file is over. A time in the future counts as
 * over. */
static bool is_over(const struct stat *status, uint64_t pause)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now); /* cannot fail */
    time_t age = now.tv_sec - status->st_mtime;
    return age < 0 || (uint64_t)age >= pause;
}

/* Returns whether this process may ask: there is no file, or the pause is over and no other process
 * probes. */
static bool may_ask(struct away *away)
{
    struct stat status;
    away->file = openat(away->folder, away->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (away->file < 0)
        return true;
    bool has_lock = flock(away->file, LOCK_EX | LOCK_NB) == 0;
    /* Checked under the lock: another probe may just have ended, and removed or renewed the
     * file. */
    if (fstat(away->file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink == 0)
        return true;
    if (has_lock && is_over(&status, away->pause))
        return true;
    close_file(away);
    return false;
}

static void renew(const struct away *away)
{
    int file = openat(away->folder, away->name,
                      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (file < 0)
        return; /* without the file the next mail also waits */
    (void)futimens(file, NULL);
    (void)close(file);
}

/* ---- the breaker ----------------------------------------------------------------------------- */

/* Returns whether the daemon at `url` may be asked. away_end must follow in any case. */
static bool away_begin(struct away *away, const char *url, uint64_t pause)
{
    static const unsigned char NO_SECRET[NB_KEY_BYTES] = {0};
    struct nb_key key;
    *away = (struct away){.pause = pause, .folder = -1, .file = -1};
    if (pause == 0)
        return true;
    nb_key_restore(&key, NO_SECRET);
    (void)snprintf(away->name, sizeof away->name, "bayesc-away-%016llx",
                   (unsigned long long)nb_key_hash(&key, url, strlen(url)));
    away->folder = open_folder();
    return away->folder < 0 || may_ask(away);
}

/* Reports that a request that took `ns` has ended, with a reply or without one. */
static void away_end(struct away *away, bool has_asked, bool has_reply, uint64_t ns)
{
    bool is_slow = !has_reply && ns >= NB_BREAKER_SLOW;
    if (away->folder >= 0 && has_asked && is_slow)
        renew(away);
    /* A reply closes the breaker, and so does a probe that fails at once. */
    if (away->folder >= 0 && has_asked && !is_slow && (has_reply || away->file >= 0))
        (void)unlinkat(away->folder, away->name, 0); /* usually the file does not exist */
    close_file(away);
    if (away->folder >= 0)
        (void)close(away->folder);
    away->folder = -1;
}

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

#define STATUS_HEADER "X-Bayes-Status"

enum { DEADLINE_SECONDS = 10 /* a mail server waits */ };

/* Exit statuses of bogofilter -e. */
enum { BOGOFILTER_SPAM, BOGOFILTER_HAM, BOGOFILTER_UNSURE, BOGOFILTER_ERROR };

struct filter {
    const struct nb_asked *asked;             /* NULL when no daemon can be asked */
    const struct nb_command_options *options; /* NULL when they could not be read */
    struct nb_fields fields;
    struct nb_buffer mail, out; /* owned: the mail as it came in and as it goes out */
};

/* ---- without a verdict ----------------------------------------------------------------------- */

static int status_without_verdict(const struct nb_command_options *options)
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
static int ask_daemon(const struct filter *f, json_t **verdict, struct nb_error *error)
{
    static const struct nb_exchange JUDGING = {
        .method = "POST", .path = "/v1/models/{model}/classify?documents=1", .query = {"remember"}};
    struct nb_asked asked = *f->asked;
    struct away away;
    bool may_ask = away_begin(&away, asked.client->daemon.url, f->options->pause);
    uint64_t start = nb_clock_monotonic();
    asked.type = "message/rfc822";
    asked.content = (struct nb_string){f->out.bytes, f->out.length};
    int rc = may_ask ? nb_exchange_ask(&JUDGING, &asked, verdict, error)
                     : nb_error_set(error, NB_CALL_UNREACHABLE,
                                    "the daemon did not answer other mails in time, so it is not "
                                    "asked");
    away_end(&away, may_ask, rc != NB_CALL_UNREACHABLE, nb_clock_monotonic() - start);
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
    json_t *verdict = NULL;
    int rc = ask_daemon(f, &verdict, error);
    if (rc == NB_NOT_FOUND || rc == NB_CONFLICT) {
        nb_status_unknown(status);
        rc = 0;
    } else if (rc == 0) {
        rc = read_verdict(f, verdict, status, error);
    }
    json_decref(verdict);
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
    rc = nb_status_fields_write(&f->options->fields, f->asked->client->model, status,
                                &f->fields.text);
    if (rc == 0)
        rc = nb_fields_apply(&f->fields, mail, &f->out);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int exit_status(const struct nb_command_options *options,
                       const struct nb_filter_status *status)
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

static int check(const struct nb_command_options *options, struct nb_fields *fields,
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
static int pass_on(const struct nb_command_options *options, const char *reason)
{
    static const struct nb_command_options NONE = {.fields.name = STATUS_HEADER,
                                                   .thresholds = {"spam", -1, -1}};
    struct filter f = {.options = options};
    struct nb_error error;
    if (check(options != NULL ? options : &NONE, &f.fields, &error) != 0)
        reason = error.text; /* fields with the valid names are removed */
    int rc = pass_read(&f.mail);
    int status = rc < 0 ? EX_IOERR : give_up(&f, reason);
    deinit(&f);
    return status;
}

static int run_filter(struct nb_asked *asked, struct nb_error *error)
{
    struct filter f = {.asked = asked, .options = asked->options};
    if (isatty(STDIN_FILENO))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "a mail is read from standard input, which is a terminal: bayesc "
                            "filter <MAIL (bayesc classify reads what you type)");
    if (check(asked->options, &f.fields, error) != 0)
        return pass_on(NULL, error->text);
    int status = filter_mail(&f, error);
    deinit(&f);
    return status;
}

static const struct nb_flag FLAGS[] = {
    NB_LIST("header", 0, fields.all),
    NB_LIST("spam-header", 0, fields.spam),
    {NB_FLAG_ROW("status-header", 0, TEXT, fields.name), .usual_text = STATUS_HEADER},
    NB_NUMBER("spam-from", 0, thresholds.spam_from, -1, 0, 1),
    NB_NUMBER("ham-to", 0, thresholds.ham_to, -1, 0, 1),
    {NB_FLAG_ROW("positive", 0, TEXT, thresholds.positive), .usual_text = "spam"},
    NB_COUNT("pause", 0, pause, NB_BREAKER_PAUSE, 0, NB_BREAKER_PAUSE_MOST),
    NB_SWITCH("bogofilter", 'e', is_bogofilter),
    NB_SWITCH("tempfail", 0, is_tempfail),
    NB_SWITCH("remember", 0, is_remembered),
    NB_QUIET_FLAG,
};

const struct nb_command NB_COMMAND_FILTER = {
    .name = "filter",
    NB_FLAGS(FLAGS),
    .deadline = DEADLINE_SECONDS,
    .run = run_filter,
    .give_up = pass_on,
};
