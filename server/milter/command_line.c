/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/command_line.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/string.h"
#include "server/http/call/call.h"
#include "server/milter/milter_socket.h"

/* Takes an option; `value` is NULL in a line without '='. Both live as long as the text of the
 * file. Returns 0 or NB_INVALID. */
typedef int nb_option_taker(void *user, const char *name, char *value, struct nb_error *error);

static int read_text(const char *path, struct nb_buffer *text, struct nb_error *error)
{
    int failure = nb_buffer_read_file(text, path, NB_OPTION_LINES_MOST);
    if (failure == EFBIG)
        return nb_error_set(error, NB_TOO_LARGE, "%.200s has over %d bytes", path,
                            NB_OPTION_LINES_MOST);
    if (failure != 0)
        return nb_error_set(error, NB_IO, "the file of options %.200s cannot be opened: %s", path,
                            strerror(failure));
    if (memchr(text->bytes, '\0', text->length) != NULL)
        return nb_error_set(error, NB_INVALID, "%.200s has NUL bytes: it is no text", path);
    return 0;
}

/* Cuts white space off both ends, in place. */
static char *trim(char *text)
{
    while (nb_ascii_is_space(*text))
        text++;
    size_t length = strlen(text);
    while (length > 0 && nb_ascii_is_space(text[length - 1]))
        length--;
    text[length] = '\0';
    return text;
}

static int take_line(char *line, nb_option_taker *take, void *user, struct nb_error *error)
{
    char *equals = strchr(line, '='), *value = NULL;
    if (equals != NULL) {
        *equals = '\0';
        value = trim(equals + 1);
    }
    char *name = trim(line);
    if (name[0] == '#' || (name[0] == '\0' && value == NULL))
        return 0;
    return take(user, name, value, error);
}

/* Reads the file into `text`, which must be empty and which the caller frees in any case, and
 * passes its options to `take`, in their order. Returns 0; NB_INVALID with "FILE:LINE: " before the
 * message of `take`; NB_TOO_LARGE or NB_IO. */
static int option_lines_read(const char *path, struct nb_buffer *text, nb_option_taker *take,
                             void *user, struct nb_error *error)
{
    int rc = read_text(path, text, error);
    char *line = text->bytes;
    for (unsigned number = 1; rc == 0 && *line != '\0'; number++) {
        char *next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        struct nb_error fault = {0};
        rc = take_line(line, take, user, &fault);
        if (rc != 0)
            return nb_error_set(error, rc, "%.200s:%u: %s", path, number, fault.text);
        line = next != NULL ? next : line + strlen(line);
    }
    return rc;
}

enum {
    TIMEOUT_SECONDS = 10,
    /* Postfix gives up after 300 s (milter_content_timeout). */
    TIMEOUT_MOST = 240,
    BYTES_LEAST = 1 << 10,
    BYTES_DEFAULT = 4 << 20, /* as much as bayesd reads: [tokenizer] mail_bytes */
    BYTES_MOST = 1 << 30,
    CONNECTIONS_DEFAULT = 1000, /* ten times Postfix's default_process_limit */
    CONNECTIONS_MOST = 10000
};

static const struct option LONG[] = {
    {"config", required_argument, NULL, 'C'},
    {"socket", required_argument, NULL, 's'},
    {"socket-mode", required_argument, NULL, 'm'},
    {"socket-group", required_argument, NULL, 'g'},
    {"url", required_argument, NULL, 'u'},
    {"token-file", required_argument, NULL, 't'},
    {"ca-file", required_argument, NULL, 'A'},
    {"cert", required_argument, NULL, 'E'},
    {"key", required_argument, NULL, 'K'},
    {"timeout", required_argument, NULL, 'T'},
    {"pause", required_argument, NULL, 'P'},
    {"max-bytes", required_argument, NULL, 'b'},
    {"max-connections", required_argument, NULL, 'c'},
    {"on-reject", required_argument, NULL, 'r'},
    {"on-failure", required_argument, NULL, 'f'},
    {"skip-authenticated", no_argument, NULL, 'a'},
    {"pid-file", required_argument, NULL, 'p'},
    {"quiet", no_argument, NULL, 'q'},
    {"version", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char *const ON_REJECT[] = {
    [NB_MILTER_REJECT] = "reject",
    [NB_MILTER_QUARANTINE] = "quarantine",
    [NB_MILTER_DISCARD] = "discard",
    [NB_MILTER_TAG] = "tag",
};
static const char *const ON_FAILURE[] = {
    [NB_MILTER_ACCEPT] = "accept",
    [NB_MILTER_TEMPFAIL] = "tempfail",
};

void nb_milter_options_help(FILE *out)
{
    (void)fputs(
        "Usage: bayesd-milter [OPTION]...\n"
        "Filters the mail of Postfix or Sendmail: asks bayesd about each mail, then adds a "
        "header,\n"
        "changes the subject or rejects it, according to bayesd's thresholds.\n"
        "\n"
        "  --config FILE          read options from the file too: lines NAME = VALUE\n"
        "  --socket SOCKET        where the mail server of this machine connects:\n"
        "                         inet:PORT@127.0.0.1, inet:127.0.0.1:PORT, inet6:PORT@::1, or\n"
        "                         unix:/PATH (inet:8764@127.0.0.1)\n"
        "  --socket-mode MODE     permissions of a unix socket, octal (0660)\n"
        "  --socket-group GROUP   group of a unix socket: that of the mail server (the group of\n"
        "                         this program)\n"
        "  --url URL              address of bayesd, or unix:/PATH (http://127.0.0.1:8763)\n"
        "  --token-file FILE      file whose first line is the access token\n"
        "  --ca-file FILE         https: authorities of the daemon's certificate (those of this\n"
        "                         machine)\n"
        "  --cert FILE            https: a certificate to show the daemon\n"
        "  --key FILE             https: its private key\n"
        "  --timeout SECONDS      wait at most so long for bayesd, for each mail (10)\n"
        "  --pause SECONDS        when bayesd did not answer in time, do for so long with mails\n"
        "                         what --on-failure says, at once; 0: never (5)\n"
        "  --max-bytes N[K|M]     send the first N bytes of a mail (4M)\n"
        "  --max-connections N    of mail servers at the same time (1000)\n"
        "  --on-reject ACTION     for mail that bayesd would reject: reject, quarantine,\n"
        "                         discard, or tag (deliver it with its header) (reject)\n"
        "  --on-failure ACTION    without a verdict: accept, or tempfail (the sender tries\n"
        "                         again later) (accept)\n"
        "  --skip-authenticated   do not check mail of users who logged in\n"
        "  --pid-file FILE        write the process id there\n"
        "  --quiet                log warnings and errors only\n"
        "  --version              print the version and exit\n"
        "  --help                 print this text and exit\n"
        "\n"
        "It stays in the foreground and logs to standard error. Exit status: 0 after SIGTERM,\n"
        "1 after a failure, 2 when the command line is wrong.\n",
        out); /* main checks the stream */
}

/* ---- values ---------------------------------------------------------------------------------- */

static int bad_value(const char *name, const char *right, struct nb_error *error)
{
    return nb_error_set(error, NB_INVALID, "--%s '%.80s': write %s", name, optarg, right);
}

/* Reads a number of digits; strtoul alone would also take signs and blanks. *end is what follows.
 */
static bool read_number(const char *text, int base, unsigned long most, unsigned long *number,
                        const char **end)
{
    char *after;
    *number = strtoul(text, &after, base);
    *end = after;
    return isdigit((unsigned char)*text) && *number <= most;
}

static int set_timeout(struct nb_milter_options *options, struct nb_error *error)
{
    unsigned long number;
    const char *end;
    if (!read_number(optarg, 10, TIMEOUT_MOST, &number, &end) || *end != '\0' || number == 0)
        return bad_value("timeout", "1 to 240", error);
    options->target.timeout = number;
    return 0;
}

static int set_pause(struct nb_milter_options *options, struct nb_error *error)
{
    unsigned long number;
    const char *end;
    if (!read_number(optarg, 10, NB_BREAKER_PAUSE_MOST, &number, &end) || *end != '\0')
        return bad_value("pause", "0 to 600", error);
    options->pause = number;
    return 0;
}

static int set_max_bytes(struct nb_milter_options *options, struct nb_error *error)
{
    unsigned long number, unit = 1;
    const char *end;
    bool is_number = read_number(optarg, 10, BYTES_MOST, &number, &end);
    if (toupper((unsigned char)*end) == 'K')
        unit = 1 << 10;
    if (toupper((unsigned char)*end) == 'M')
        unit = 1 << 20;
    end += unit > 1;
    if (!is_number || *end != '\0' || number > BYTES_MOST / unit || number * unit < BYTES_LEAST)
        return bad_value("max-bytes", "1K to 1024M", error);
    options->max_bytes = number * unit;
    return 0;
}

static int set_max_connections(struct nb_milter_options *options, struct nb_error *error)
{
    unsigned long number;
    const char *end;
    if (!read_number(optarg, 10, CONNECTIONS_MOST, &number, &end) || *end != '\0' || number == 0)
        return bad_value("max-connections", "1 to 10000", error);
    options->max_connections = number;
    return 0;
}

static int set_socket_mode(struct nb_milter_options *options, struct nb_error *error)
{
    unsigned long number;
    const char *end;
    if (!read_number(optarg, 8, 0777, &number, &end) || *end != '\0')
        return bad_value("socket-mode", "0000 to 0777", error);
    options->socket_mode = (mode_t)number;
    return 0;
}

static int set_socket(struct nb_milter_options *options, struct nb_error *error)
{
    struct nb_error fault = {0};
    int rc = nb_milter_socket_check(optarg, &fault);
    if (rc != 0)
        return nb_error_set(error, rc, "--socket %s", fault.text);
    options->socket = optarg;
    return 0;
}

static int set_url(struct nb_milter_options *options, struct nb_error *error)
{
    const char *host = strstr(optarg, "://");
    bool is_http = strncmp(optarg, "http://", 7) == 0 || strncmp(optarg, "https://", 8) == 0;
    bool is_unix = strncmp(optarg, "unix:/", 6) == 0;
    if (!is_unix && (!is_http || host[3] == '\0' || host[3] == '/'))
        return bad_value("url", "http://ADDRESS:PORT or unix:/PATH", error);
    options->target.url = optarg;
    return 0;
}

/* Returns the index of the value among the names, or -1. */
static int find(const char *const names[], size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], optarg) == 0)
            return (int)i;
    return -1;
}

static int set_on_reject(struct nb_milter_options *options, struct nb_error *error)
{
    int index = find(ON_REJECT, sizeof ON_REJECT / sizeof ON_REJECT[0]);
    if (index < 0)
        return bad_value("on-reject", "reject, quarantine, discard or tag", error);
    options->on_reject = (enum nb_milter_on_reject)index;
    return 0;
}

static int set_on_failure(struct nb_milter_options *options, struct nb_error *error)
{
    int index = find(ON_FAILURE, sizeof ON_FAILURE / sizeof ON_FAILURE[0]);
    if (index < 0)
        return bad_value("on-failure", "accept or tempfail", error);
    options->on_failure = (enum nb_milter_on_failure)index;
    return 0;
}

/* ---- the command line ------------------------------------------------------------------------ */

static void set_command(struct nb_milter_options *options, enum nb_milter_command command)
{
    /* --help comes before --version, and both before everything else. */
    if (command > options->command)
        options->command = command;
}

static int take(struct nb_milter_options *options, int option, struct nb_error *error)
{
    switch (option) {
    case 'C':
        options->file = optarg;
        return 0;
    case 's':
        return set_socket(options, error);
    case 'm':
        return set_socket_mode(options, error);
    case 'g':
        options->socket_group = optarg;
        return 0;
    case 'u':
        return set_url(options, error);
    case 't':
        options->target.token_file = optarg;
        return 0;
    case 'A':
        options->target.ca_file = optarg;
        return 0;
    case 'E':
        options->target.certificate = optarg;
        return 0;
    case 'K':
        options->target.key = optarg;
        return 0;
    case 'T':
        return set_timeout(options, error);
    case 'P':
        return set_pause(options, error);
    case 'b':
        return set_max_bytes(options, error);
    case 'c':
        return set_max_connections(options, error);
    case 'r':
        return set_on_reject(options, error);
    case 'f':
        return set_on_failure(options, error);
    case 'a':
        options->skip_authenticated = true;
        return 0;
    case 'p':
        options->pid_file = optarg;
        return 0;
    case 'q':
        options->is_quiet = true;
        return 0;
    case 'v':
        set_command(options, NB_MILTER_VERSION);
        return 0;
    default:
        set_command(options, NB_MILTER_HELP);
        return 0;
    }
}

static int read_words(struct nb_milter_options *options, int argc, char **argv,
                      struct nb_error *error)
{
    optind = 0; /* makes getopt_long begin anew in glibc */
    opterr = 0; /* errors are reported by the caller */
    int option;
    while ((option = getopt_long(argc, argv, ":", LONG, NULL)) != -1) {
        const char *at = argv[optind - 1];
        if (option == ':')
            return nb_error_set(error, NB_INVALID, "%.80s needs a value", at);
        if (option == '?')
            return nb_error_set(error, NB_INVALID, "%.80s is not an option", at);
        int rc = take(options, option, error);
        if (rc != 0)
            return rc;
    }
    if (optind < argc)
        return nb_error_set(error, NB_INVALID, "%.80s is not an option", argv[optind]);
    return 0;
}

/* Takes an option of the file. The names are those of the command line without --config, --help and
 * --version. */
static int take_named(void *user, const char *name, char *value, struct nb_error *error)
{
    const struct option *option = LONG;
    while (option->name != NULL && strcmp(option->name, name) != 0)
        option++;
    if (option->name == NULL || strchr("Chv", option->val) != NULL)
        return nb_error_set(error, NB_INVALID, "'%.80s' is not an option of a file", name);
    if (option->has_arg == no_argument) {
        bool is_no = value != NULL && strcmp(value, "no") == 0;
        if (value != NULL && !is_no && strcmp(value, "yes") != 0)
            return nb_error_set(error, NB_INVALID, "'%.80s': write %s = yes, or no", value, name);
        return is_no ? 0 : take(user, option->val, error);
    }
    if (value == NULL || value[0] == '\0')
        return nb_error_set(error, NB_INVALID, "'%.80s' needs a value: %.80s = VALUE", name, name);
    optarg = value; /* the functions above take the value from optarg */
    return take(user, option->val, error);
}

static struct nb_milter_options defaults(void)
{
    return (struct nb_milter_options){
        .socket = "inet:8764@127.0.0.1",
        .socket_mode = 0660,
        .pause = NB_BREAKER_PAUSE,
        .max_bytes = BYTES_DEFAULT,
        .max_connections = CONNECTIONS_DEFAULT,
        .target = {.url = "http://127.0.0.1:8763",
                   .timeout = TIMEOUT_SECONDS,
                   .has_deadline = true},
    };
}

/* The command line is read twice: first to find the file, then to override its options. */
int nb_milter_options_read(int argc, char **argv, struct nb_milter_options *options,
                           struct nb_error *error)
{
    *options = defaults();
    int rc = read_words(options, argc, argv, error);
    const char *file = options->file;
    if (rc != 0 || file == NULL || options->command != NB_MILTER_SERVE)
        return rc;
    *options = defaults();
    rc = option_lines_read(file, &options->texts, take_named, options, error);
    if (rc == 0)
        rc = read_words(options, argc, argv, error);
    if (rc != 0)
        nb_milter_options_deinit(options);
    return rc;
}

void nb_milter_options_deinit(struct nb_milter_options *options)
{
    nb_buffer_deinit(&options->texts);
    nb_buffer_deinit(&options->target.token);
}
