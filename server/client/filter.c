/* SPDX-License-Identifier: Apache-2.0
 *
 * A mail server, or procmail, gives its mail to this program and takes what comes out. So whatever
 * happens the mail comes out: with its header, or as it came in when there is no verdict. Only when
 * it cannot be read or written at all the exit status says so, and the caller keeps its own copy.
 */
#include "server/client/filter.h"

#include <errno.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "server/client/commands.h"

struct filter_options {
    const char *name; /* of the status header */
    const char *positive;
    struct nb_list headers, spam_headers;
    double spam_from, ham_to; /* below 0: not given */
    bool is_bogofilter, is_tempfail;
};

static const struct filter_options DEFAULTS = {
    .name = "X-Bayes-Status", .positive = "spam", .spam_from = -1, .ham_to = -1};

static const struct nb_option OPTIONS[] = {
    {"header", 0, NB_OPTION_LIST, "'NAME: TEXT'", offsetof(struct filter_options, headers), 0, 0,
     "adds this header too; in TEXT %s is the status, %p its probability,\n"
     "%P the probability of spam, %m the model, %y YES or NO, %% a %;\nmay be repeated"},
    {"spam-header", 0, NB_OPTION_LIST, "'NAME: TEXT'",
     offsetof(struct filter_options, spam_headers), 0, 0,
     "the same, to spam only; may be repeated"},
    {"status-header", 0, NB_OPTION_TEXT, "NAME", offsetof(struct filter_options, name), 0, 0,
     "instead of X-Bayes-Status"},
    {"spam-from", 0, NB_OPTION_NUMBER, "P", offsetof(struct filter_options, spam_from), 0, 1,
     "spam from this probability of spam on (default: when it wins)"},
    {"ham-to", 0, NB_OPTION_NUMBER, "P", offsetof(struct filter_options, ham_to), 0, 1,
     "what lies above and is not spam is unsure (default: nothing is)"},
    {"positive", 0, NB_OPTION_TEXT, "LABEL", offsetof(struct filter_options, positive), 0, 0,
     "the label that is spam (default: spam)"},
    {"bogofilter", 'e', NB_OPTION_SWITCH, NULL, offsetof(struct filter_options, is_bogofilter), 0,
     0, "exit status 0 for spam, 1 for ham, 2 for unsure, 3 without a verdict"},
    {"tempfail", 0, NB_OPTION_SWITCH, NULL, offsetof(struct filter_options, is_tempfail), 0, 0,
     "exit status 75 without a verdict, so that a mail server tries again"},
};

enum { BOGOFILTER_SPAM, BOGOFILTER_HAM, BOGOFILTER_UNSURE, BOGOFILTER_ERROR };

struct verdict {
    char status[65]; /* a label (64 bytes at most), or "unsure" */
    double probability, of_spam;
    bool is_spam, is_unsure;
    const char *note; /* behind the header's text */
};

/* ---- bytes -------------------------------------------------------------------------------------
 */

static int write_all(const char *bytes, size_t length)
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

/* One read; 1, 0 at the end, or NB_IO. */
static int read_some(char *bytes, size_t room, size_t *got)
{
    ssize_t count;
    do
        count = read(STDIN_FILENO, bytes, room);
    while (count < 0 && errno == EINTR);
    *got = count > 0 ? (size_t)count : 0;
    return count < 0 ? NB_IO : count > 0;
}

/* The mail, as far as it is not too large; 1 when there is more of it. */
static int read_mail(struct nb_buffer *mail)
{
    enum { STEP = 256 * 1024 };
    while (mail->length < NB_ITEM_MOST) {
        size_t got;
        if (nb_buffer_reserve(mail, STEP) != 0)
            return 1; /* what there is of it, and the rest, can still be copied */
        int rc = read_some(mail->bytes + mail->length, mail->capacity - mail->length, &got);
        if (rc <= 0)
            return rc;
        mail->length += got;
    }
    return 1;
}

static int copy_rest(void)
{
    char bytes[16 * 1024];
    size_t got;
    int rc;
    while ((rc = read_some(bytes, sizeof bytes, &got)) == 1) {
        rc = write_all(bytes, got);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static int status_without_verdict(const struct filter_options *options)
{
    if (options == NULL || options->is_tempfail)
        return EX_TEMPFAIL;
    return options->is_bogofilter ? BOGOFILTER_ERROR : 0;
}

int nb_filter_give_up(const void *options, const char *reason)
{
    nb_client_warn("no verdict, the mail goes on unchanged: %s", reason);
    if (copy_rest() != 0)
        return EX_IOERR;
    return status_without_verdict(options);
}

/* ---- the verdict -------------------------------------------------------------------------------
 */

/* The most probable label that is not the positive one; "" when there is none. */
static const char *best_other(json_t *probabilities, const char *positive, double *most)
{
    const char *name, *best = "";
    const json_t *value;
    json_object_foreach(probabilities, name, value)
    {
        if (strcmp(name, positive) == 0 || (*best != '\0' && json_number_value(value) <= *most))
            continue;
        best = name;
        *most = json_number_value(value);
    }
    return best;
}

static void judge(const struct filter_options *options, const json_t *reply, struct verdict *v)
{
    json_t *probabilities = json_object_get(reply, "probabilities");
    const char *label = json_string_value(json_object_get(reply, "label"));
    double other = 0;
    const char *best = best_other(probabilities, options->positive, &other);
    *v = (struct verdict){.note = ""};
    v->of_spam = json_number_value(json_object_get(probabilities, options->positive));
    v->is_spam = options->spam_from >= 0 ? v->of_spam >= options->spam_from
                                         : label != NULL && strcmp(label, options->positive) == 0;
    v->is_unsure = !v->is_spam && options->ham_to >= 0 && v->of_spam > options->ham_to;
    if (!json_is_true(json_object_get(reply, "ready"))) {
        v->is_spam = false;
        v->is_unsure = true;
        v->note = ", too little learned";
    }
    bool is_other = !v->is_spam && !v->is_unsure;
    (void)snprintf(v->status, sizeof v->status, "%s",
                   v->is_unsure ? "unsure"
                   : v->is_spam ? options->positive
                                : best);
    v->probability = is_other ? other : v->of_spam;
}

/* A model that is not there or has learned nothing is no failure: it cannot know, and says so. */
static int ask(const struct nb_client *client, const struct filter_options *options,
               const struct nb_buffer *mail, struct verdict *v, struct nb_error *error)
{
    struct nb_buffer path = {0};
    json_t *reply = NULL;
    int rc = nb_call_path(&path, client->model, "/classify");
    const struct nb_request_of_client request = {.method = "POST",
                                                 .path = path.bytes,
                                                 .type = "message/rfc822",
                                                 .body = {mail->bytes, mail->length}};
    rc = rc == 0 ? nb_call_once(client, &request, &reply, error) : nb_error_no_memory(error);
    if (rc == NB_NOT_FOUND || rc == NB_CONFLICT) {
        *v = (struct verdict){.status = "unsure", .is_unsure = true, .note = ", nothing learned"};
        v->probability = v->of_spam = 0.5;
        rc = 0;
    } else if (rc == 0 && !json_is_string(json_object_get(reply, "label"))) {
        rc = nb_error_set(error, NB_CLIENT_PROTOCOL, "the reply holds no label");
    } else if (rc == 0) {
        judge(options, reply, v);
    }
    json_decref(reply);
    nb_buffer_deinit(&path);
    return rc;
}

/* ---- headers -----------------------------------------------------------------------------------
 */

static int expand(char letter, const struct nb_client *client, const struct verdict *v,
                  struct nb_buffer *out)
{
    switch (letter) {
    case 's':
        return nb_buffer_puts(out, v->status);
    case 'p':
        return nb_buffer_printf(out, "%.4f", v->probability);
    case 'P':
        return nb_buffer_printf(out, "%.4f", v->of_spam);
    case 'm':
        return nb_buffer_puts(out, client->model);
    case 'y':
        return nb_buffer_puts(out, v->is_spam ? "YES" : "NO");
    default:
        return nb_buffer_append(out, &letter, 1);
    }
}

static int add_header(const char *header, const struct nb_client *client, const struct verdict *v,
                      struct nb_buffer *out)
{
    int rc = 0;
    for (const char *p = header; *p != '\0' && rc == 0; p++) {
        if (*p == '%' && p[1] != '\0')
            rc = expand(*++p, client, v, out);
        else
            rc = nb_buffer_append(out, p, 1);
    }
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

static int add_headers(const struct filter_options *options, const struct nb_client *client,
                       const struct verdict *v, struct nb_buffer *out)
{
    int rc = nb_buffer_printf(out, "%s: %s, probability=%.4f, model=%s%s\n", options->name,
                              v->status, v->probability, client->model, v->note);
    for (size_t i = 0; i < options->headers.count && rc == 0; i++)
        rc = add_header(options->headers.items[i], client, v, out);
    for (size_t i = 0; i < options->spam_headers.count && rc == 0 && v->is_spam; i++)
        rc = add_header(options->spam_headers.items[i], client, v, out);
    return rc;
}

/* ---- options -----------------------------------------------------------------------------------
 */

static int add_name(const char *header, struct nb_fields *fields, bool needs_text,
                    struct nb_error *error)
{
    size_t length = 0;
    while (header[length] > 32 && header[length] < 127 && header[length] != ':')
        length++;
    bool is_name = length > 0 && header[length] == (needs_text ? ':' : '\0');
    if (!is_name || strpbrk(header, "\r\n") != NULL)
        return nb_error_set(error, NB_CLIENT_USAGE, "'%.100s' is no header%s", header,
                            needs_text ? " of the form NAME: TEXT" : "'s name");
    fields->names[fields->name_count++] = (struct nb_string){header, length};
    return 0;
}

static int check(const struct filter_options *options, struct nb_fields *fields,
                 struct nb_error *error)
{
    int rc = add_name(options->name, fields, false, error);
    for (size_t i = 0; i < options->headers.count && rc == 0; i++)
        rc = add_name(options->headers.items[i], fields, true, error);
    for (size_t i = 0; i < options->spam_headers.count && rc == 0; i++)
        rc = add_name(options->spam_headers.items[i], fields, true, error);
    if (rc == 0 && options->spam_from >= 0 && options->ham_to >= options->spam_from)
        rc = nb_error_set(error, NB_CLIENT_USAGE, "--ham-to must lie below --spam-from");
    return rc;
}

/* ---- the filter --------------------------------------------------------------------------------
 */

/* The status headers of the mail itself are nothing that its verdict may depend on. */
static int find_verdict(const struct nb_client *client, const struct filter_options *options,
                        struct nb_string mail, struct nb_fields *fields, struct nb_buffer *out,
                        struct verdict *v, struct nb_error *error)
{
    int rc = nb_fields_apply(fields, mail, out);
    rc = rc == 0 ? ask(client, options, out, v, error) : nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    out->length = 0;
    rc = add_headers(options, client, v, &fields->text);
    if (rc == 0)
        rc = nb_fields_apply(fields, mail, out);
    return rc == 0 ? 0 : nb_error_no_memory(error);
}

static int exit_status(const struct filter_options *options, const struct verdict *v)
{
    if (!options->is_bogofilter)
        return 0;
    return v->is_spam ? BOGOFILTER_SPAM : v->is_unsure ? BOGOFILTER_UNSURE : BOGOFILTER_HAM;
}

static int filter(const struct nb_client *client, const struct filter_options *options,
                  struct nb_fields *fields, struct nb_buffer *mail, struct nb_buffer *out,
                  struct nb_error *error)
{
    struct verdict verdict;
    int more = read_mail(mail);
    if (more < 0)
        return nb_error_set(error, NB_IO, "the mail cannot be read from standard input");
    int rc;
    if (more > 0)
        rc = nb_error_set(error, NB_TOO_LARGE, "it is larger than %d bytes", NB_ITEM_MOST);
    else if (mail->length == 0)
        rc = nb_error_set(error, NB_INVALID, "it is empty");
    else
        rc = find_verdict(client, options, (struct nb_string){mail->bytes, mail->length}, fields,
                          out, &verdict, error);
    if (rc == 0)
        return write_all(out->bytes, out->length) == 0
                   ? exit_status(options, &verdict)
                   : nb_error_set(error, NB_IO, "standard output cannot be written");
    if (write_all(mail->bytes, mail->length) != 0)
        return nb_error_set(error, NB_IO, "standard output cannot be written");
    return nb_filter_give_up(options, error->text);
}

static int run_filter(struct nb_client *client, const void *user, char **arguments, size_t count,
                      struct nb_error *error)
{
    (void)arguments;
    (void)count;
    const struct filter_options *options = user;
    struct nb_fields fields = {.name_count = 0};
    struct nb_buffer mail = {0}, out = {0};
    if (check(options, &fields, error) != 0)
        return isatty(STDIN_FILENO) ? NB_CLIENT_USAGE : nb_filter_give_up(NULL, error->text);
    int rc = filter(client, options, &fields, &mail, &out, error);
    nb_buffer_deinit(&fields.text);
    nb_buffer_deinit(&mail);
    nb_buffer_deinit(&out);
    return rc;
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
        "The status is the label that wins, or unsure. The probability is that of the status;\n"
        "beside unsure, of spam. Headers of the same names that the mail brings are taken out.\n"
        "Without a verdict (the daemon cannot be reached, takes longer than --timeout, 10 "
        "seconds,\n"
        "or refuses) the mail comes out unchanged, and a line on standard error says why. The "
        "exit\n"
        "status is then 0, or 75 with --tempfail, or 3 with --bogofilter; it is 75 as well when\n"
        "the options cannot be read, and 74 when the mail cannot be read or written.\n",
    .options = OPTIONS,
    .option_count = sizeof OPTIONS / sizeof OPTIONS[0],
    .defaults = &DEFAULTS,
    .options_size = sizeof DEFAULTS,
    .passes_mail = true,
    .run = run_filter,
};
