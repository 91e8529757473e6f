/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/error.h"
#include "core/base/string.h"
#include "server/base/systemd.h"

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

static int add_text(struct nb_buffer *entry, const char *name, const char *value)
{
    return nb_journal_field(entry, name, (struct nb_string){value, strlen(value)});
}

/* Adds a field as BAYESD_NAME; a number with all its digits. */
static int add_field(struct nb_buffer *entry, const struct nb_log_field *field)
{
    char name[64] = "BAYESD_", number[40];
    for (size_t i = strlen(name), k = 0; field->name[k] != '\0' && i < sizeof name - 1; i++, k++)
        name[i] = nb_ascii_upper(field->name[k]);
    if (field->kind == NB_LOG_TEXT)
        return nb_journal_field(entry, name, field->text);
    if (field->kind == NB_LOG_NUMBER)
        (void)snprintf(number, sizeof number, "%.17g", field->number);
    else
        (void)snprintf(number, sizeof number, "%llu", (unsigned long long)field->count);
    return add_text(entry, name, number);
}

/* Sends an event: `message`, the priority of syslog(3), the program's name, and each field as
 * BAYESD_NAME. Returns 0, or NB_IO when there is no journal or it refuses the event. */
static int send_to_journal(int priority, const char *program, const char *message, const char *what,
                           const struct nb_log_field *fields, size_t count)
{
    struct nb_buffer entry = {0};
    const char digit[] = {(char)('0' + priority), '\0'};
    int rc = add_text(&entry, "MESSAGE", message);
    if (rc == 0)
        rc = add_text(&entry, "PRIORITY", digit);
    if (rc == 0)
        rc = add_text(&entry, "SYSLOG_IDENTIFIER", program);
    if (rc == 0)
        rc = add_text(&entry, "BAYESD_EVENT", what);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_field(&entry, &fields[i]);
    if (rc == 0)
        rc = nb_journal_send(&entry);
    nb_buffer_deinit(&entry);
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

void nb_log_setup(enum nb_log_level level)
{
    nb_log_set_level(level);
    log_to_journal = nb_journal_open();
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
