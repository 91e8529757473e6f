/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as entries of the journal. libsystemd writes the journal's own protocol, in which a value
 * may have any bytes.
 */
#define SD_JOURNAL_SUPPRESS_LOCATION /* a line of this file is no useful location */
#include <systemd/sd-journal.h>

#include "core/base/ascii.h"
#include "core/base/error.h"
#include "server/base/log_field.h"

enum { FIELDS_MOST = 16, OWN_FIELDS = 4 };

/* The fields of the entry, one after the other, and the end of each. */
struct entry {
    struct nb_buffer bytes;
    size_t ends[FIELDS_MOST + OWN_FIELDS];
    size_t count;
    int code; /* the first failure sticks */
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

int nb_log_send_to_journal(int priority, const char *program, const char *message, const char *what,
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
