/* SPDX-License-Identifier: Apache-2.0 */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int log_level = NB_LOG_INFO; /* enum nb_log_level; set at any time */

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

void nb_log_set_name(const char *name)
{
    log_name = name;
}

bool nb_log_wants(enum nb_log_level level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

size_t nb_log_format(char *line, size_t room, enum nb_log_level level, bool journal,
                     const char *text)
{
    int length = journal ? snprintf(line, room, "<%d>%s", LEVELS[level].priority, text)
                         : snprintf(line, room, "%s: %s: %s", log_name, LEVELS[level].name, text);
    size_t end = length < 0 ? 0 : (size_t)length < room - 2 ? (size_t)length : room - 2;
    /* A line feed that came with a name from outside must not make a second line. */
    for (size_t i = 0; i < end; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
            line[i] = '?';
    }
    line[end] = '\n';
    line[end + 1] = '\0';
    return end + 1;
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
    char line[1100];
    size_t length = nb_log_format(line, sizeof line, level, log_to_journal, text);
    ssize_t written = write(STDERR_FILENO, line, length);
    (void)written; /* there is nowhere left to complain */
}
