/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#define SD_JOURNAL_SUPPRESS_LOCATION /* the location would always be a line of this file */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/string.h"

struct nb_log_field nb_log_text(const char *name, struct nb_string text)
{
    return (struct nb_log_field){
        .name = name, .kind = NB_LOG_TEXT, .text = nb_utf8_cut(text, NB_LOG_VALUE_MOST)};
}

struct nb_log_field nb_log_number(const char *name, double number)
{
    return (struct nb_log_field){.name = name, .kind = NB_LOG_NUMBER, .number = number};
}

struct nb_log_field nb_log_count(const char *name, uint64_t count)
{
    return (struct nb_log_field){.name = name, .kind = NB_LOG_COUNT, .count = count};
}

static bool is_visible(unsigned char c)
{
    return c > 0x20 && c < 0x7f;
}

static bool is_plain(struct nb_string text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (!is_visible(c) || c == '=' || c == '"' || c == '\\')
            return false;
    }
    return text.length > 0;
}

static int append_quoted(struct nb_buffer *out, struct nb_string text)
{
    int rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\')
            rc = nb_buffer_printf(out, "\\%c", c);
        else if (c == ' ' || is_visible(c))
            rc = nb_buffer_append(out, &text.bytes[i], 1);
        else
            rc = nb_buffer_printf(out, "\\x%02x", c);
    }
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}

static int append_value(struct nb_buffer *out, const struct nb_log_field *field)
{
    switch (field->kind) {
    case NB_LOG_NUMBER:
        return nb_buffer_printf(out, "%.4f", field->number);
    case NB_LOG_COUNT:
        return nb_buffer_printf(out, "%llu", (unsigned long long)field->count);
    case NB_LOG_TEXT:
    default:
        return is_plain(field->text) ? nb_buffer_append(out, field->text.bytes, field->text.length)
                                     : append_quoted(out, field->text);
    }
}

int nb_log_write_text(struct nb_buffer *out, const char *what, const struct nb_log_field *fields,
                      size_t count)
{
    int rc = nb_buffer_puts(out, what);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = nb_buffer_printf(out, " %s=", fields[i].name);
        if (rc == 0)
            rc = append_value(out, &fields[i]);
    }
    return rc;
}

/* ---- the journal ----------------------------------------------------------------------------- */

/* libsystemd writes to the journal in its own protocol, in which a value may have any bytes. */
enum { FIELDS_MOST = 16, OWN_FIELDS = 4 };

/* The fields of the entry, one after the other, and the end of each. */
struct entry {
    struct nb_buffer bytes;
    size_t ends[FIELDS_MOST + OWN_FIELDS];
    size_t count;
    int code; /* the code of the first failure */
};

static void end_field(struct entry *e, int rc)
{
    if (e->code == 0)
        e->code = rc;
    e->ends[e->count++] = e->bytes.length;
}

static void add_own(struct entry *e, const char *name, const char *value)
{
    end_field(e, nb_buffer_printf(&e->bytes, "%s=%s", name, value));
}

static void add_field(struct entry *e, const struct nb_log_field *field)
{
    int rc = nb_buffer_puts(&e->bytes, "BAYESD_");
    for (const char *c = field->name; *c != '\0' && rc == 0; c++)
        rc = nb_buffer_append(&e->bytes, &(char){nb_ascii_upper(*c)}, 1);
    if (rc == 0 && field->kind == NB_LOG_TEXT) {
        rc = nb_buffer_puts(&e->bytes, "=");
        if (rc == 0)
            rc = nb_buffer_append(&e->bytes, field->text.bytes, field->text.length);
    } else if (rc == 0) {
        rc = field->kind == NB_LOG_NUMBER
                 ? nb_buffer_printf(&e->bytes, "=%.17g", field->number)
                 : nb_buffer_printf(&e->bytes, "=%llu", (unsigned long long)field->count);
    }
    end_field(e, rc);
}

/* Sends an event: `message`, the priority of syslog(3), the program's name, and each field as
 * BAYESD_NAME. Returns 0, or NB_IO when there is no journal or it refuses the event. */
static int send_to_journal(int priority, const char *program, const char *message, const char *what,
                           const struct nb_log_field *fields, size_t count)
{
    struct entry e = {.count = 0};
    struct iovec parts[FIELDS_MOST + OWN_FIELDS];
    add_own(&e, "MESSAGE", message);
    end_field(&e, nb_buffer_printf(&e.bytes, "PRIORITY=%d", priority));
    add_own(&e, "SYSLOG_IDENTIFIER", program);
    add_own(&e, "BAYESD_EVENT", what);
    for (size_t i = 0; i < count && i < FIELDS_MOST; i++)
        add_field(&e, &fields[i]);
    for (size_t i = 0, from = 0; i < e.count && e.code == 0; from = e.ends[i++])
        parts[i] = (struct iovec){e.bytes.bytes + from, e.ends[i] - from};
    int rc = e.code == 0 && sd_journal_sendv(parts, (int)e.count) == 0 ? 0 : NB_IO;
    nb_buffer_deinit(&e.bytes);
    return rc;
}

/* May be set at any time. */
static atomic_int log_level = NB_LOG_INFO; /* enum nb_log_level */
static _Atomic(nb_log_form *) log_form;

/* Set once at start-up, read by all threads afterwards. */
static bool log_to_journal;
static const char *log_name = "bayesd";

static const struct {
    const char *name;
    int priority; /* of syslog(3) */
} LEVELS[] = {
    [NB_LOG_ERROR] = {"error", 3},
    [NB_LOG_WARNING] = {"warning", 4},
    [NB_LOG_INFO] = {"info", 6},
    [NB_LOG_DEBUG] = {"debug", 7},
};

/* systemd.exec(5): JOURNAL_STREAM has the device and inode of the stream that the journal reads.
 * They are compared, because standard error may have been redirected since. */
static bool is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    unsigned long long device, inode;
    return stream != NULL && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
           fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void nb_log_setup(enum nb_log_level level)
{
    nb_log_set_level(level);
    log_to_journal = is_journal();
}

void nb_log_set_level(enum nb_log_level level)
{
    atomic_store(&log_level, (int)level);
}

void nb_log_set_form(nb_log_form *form)
{
    atomic_store(&log_form, form);
}

void nb_log_set_name(const char *name)
{
    log_name = name;
}

bool nb_log_wants(enum nb_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Removes bytes from outside that could begin a second line or control a terminal. */
static void clean(char *line, size_t length)
{
    unsigned char *at = (unsigned char *)line, *end = at + length;
    while (at < end) {
        size_t control = nb_utf8_control(at, end), size = nb_utf8_sequence(at, end);
        bool is_bad = control > 0 || size == 0;
        size = control > 0 ? control : size == 0 ? 1 : size;
        for (; size > 0; size--, at++)
            *at = is_bad ? '?' : *at;
    }
}

size_t nb_log_format(char *line, size_t room, enum nb_log_level level, bool journal,
                     const char *text)
{
    int length = journal ? snprintf(line, room, "<%d>%s", LEVELS[level].priority, text)
                         : snprintf(line, room, "%s: %s: %s", log_name, LEVELS[level].name, text);
    size_t end = length < 0 ? 0 : (size_t)length < room - 2 ? (size_t)length : room - 2;
    clean(line, end);
    line[end] = '\n';
    line[end + 1] = '\0';
    return end + 1;
}

static void write_out(const char *line, size_t length)
{
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* a failure cannot be reported anywhere */
}

/* Writes a line in the form that nb_log_set_form has set. */
static void write_formed(nb_log_form *form, enum nb_log_level level, const char *what,
                         const struct nb_log_field *fields, size_t count)
{
    struct nb_buffer line = {0};
    int rc = log_to_journal ? nb_buffer_printf(&line, "<%d>", LEVELS[level].priority) : 0;
    if (rc == 0)
        rc = form(&line, LEVELS[level].name, what, fields, count);
    if (rc == 0)
        rc = nb_buffer_puts(&line, "\n");
    if (rc == 0)
        write_out(line.bytes, line.length);
    nb_buffer_deinit(&line);
}

bool nb_log_bound_take(struct nb_log_bound *bound, uint64_t now, uint64_t *dropped)
{
    uint_fast64_t window = now / (NB_LOG_BOUND_SECONDS * UINT64_C(1000000000)) + 1;
    uint_fast64_t old = atomic_load(&bound->window);
    *dropped = 0;
    if (old < window && atomic_compare_exchange_strong(&bound->window, &old, window)) {
        uint_fast64_t lines = atomic_exchange(&bound->lines, 0);
        *dropped = lines > NB_LOG_BOUND ? lines - NB_LOG_BOUND : 0;
    }
    return atomic_fetch_add(&bound->lines, 1) < NB_LOG_BOUND;
}

void nb_log(enum nb_log_level level, const char *format, ...)
{
    if (!nb_log_wants(level))
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* a line that is cut is still useful */
    va_end(arguments);
    nb_log_form *form = atomic_load(&log_form);
    if (form != NULL) {
        write_formed(form, level, text, NULL, 0);
        return;
    }
    char line[1100];
    write_out(line, nb_log_format(line, sizeof line, level, log_to_journal, text));
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Writes an event as an entry of the journal, or as a key=value line. */
static void write_event(enum nb_log_level level, const char *text, const char *what,
                        const struct nb_log_field *fields, size_t count)
{
    char line[4096]; /* PIPE_BUF: a line of this size is written in one piece */
    if (log_to_journal &&
        send_to_journal(LEVELS[level].priority, log_name, text, what, fields, count) == 0)
        return;
    write_out(line, nb_log_format(line, sizeof line, level, log_to_journal, text));
}

void nb_log_event(enum nb_log_level level, const char *what, const struct nb_log_field *fields,
                  size_t count)
{
    struct nb_buffer text = {0};
    nb_log_form *form = atomic_load(&log_form);
    if (!nb_log_wants(level))
        return;
    if (form != NULL) {
        write_formed(form, level, what, fields, count);
        return;
    }
    int rc = nb_log_write_text(&text, what, fields, count);
    if (rc == 0)
        rc = nb_buffer_append(&text, "", 1);
    if (rc == 0) /* without memory there is no line */
        write_event(level, text.bytes, what, fields, count);
    nb_buffer_deinit(&text);
}

void nb_notify(const char *state)
{
    (void)sd_notify(0, state); /* failures are ignored (log.h) */
}
