/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/utf8.h"

/* Set at any time. */
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

/* systemd.exec(5): JOURNAL_STREAM holds device and inode of the stream that the journal reads;
 * standard error may have been redirected since. */
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

/* ---- lines -------------------------------------------------------------------------------------
 */

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
    (void)written; /* there is nowhere left to complain */
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

void nb_log(enum nb_log_level level, const char *format, ...)
{
    if (!nb_log_wants(level))
        return;
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut lines are still lines */
    va_end(arguments);
    nb_log_form *form = atomic_load(&log_form);
    if (form != NULL) {
        write_formed(form, level, text, NULL, 0);
        return;
    }
    char line[1100];
    write_out(line, nb_log_format(line, sizeof line, level, log_to_journal, text));
}

/* ---- events ------------------------------------------------------------------------------------
 */

/* Writes an event as an entry of the journal, or as a key=value line. */
static void write_event(enum nb_log_level level, const char *text, const char *what,
                        const struct nb_log_field *fields, size_t count)
{
    char line[4096]; /* PIPE_BUF: it goes out in one piece */
    if (log_to_journal &&
        nb_log_send_to_journal(LEVELS[level].priority, log_name, text, what, fields, count) == 0)
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
