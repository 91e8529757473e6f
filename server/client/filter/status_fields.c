/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/filter/status_fields.h"

#include <string.h>

_Static_assert(NB_FIELDS_MOST >= 2 * NB_FLAG_LIST_MOST + 1,
               "two lists of templates and the status");

/* ---- checks ---------------------------------------------------------------------------------- */

/* The length of the field name that begins `text` (RFC 5322, section 3.6.8). */
static size_t name_length(const char *text)
{
    size_t length = 0;
    while (text[length] > 32 && text[length] < 127 && text[length] != ':')
        length++;
    return length;
}

static int add_name(const char *text, char behind, struct nb_fields *fields, struct nb_error *error)
{
    size_t length = name_length(text);
    if (length == 0 || text[length] != behind || strpbrk(text, "\r\n") != NULL)
        return nb_error_set(error, NB_CLIENT_USAGE,
                            behind == ':' ? "'%.100s' is not a header of the form NAME: TEXT"
                                          : "'%.100s' is not the name of a header",
                            text);
    fields->names[fields->name_count++] = (struct nb_string){text, length};
    return 0;
}

int nb_status_fields_check(const struct nb_status_fields *wanted, struct nb_fields *fields,
                           struct nb_error *error)
{
    int rc = add_name(wanted->name, '\0', fields, error);
    for (size_t i = 0; i < wanted->all.count && rc == 0; i++)
        rc = add_name(wanted->all.items[i], ':', fields, error);
    for (size_t i = 0; i < wanted->spam.count && rc == 0; i++)
        rc = add_name(wanted->spam.items[i], ':', fields, error);
    return rc;
}

/* ---- templates ------------------------------------------------------------------------------- */

/* Appends what %LETTER stands for; any other letter stands for itself, as in %%. */
static int expand(char letter, const char *model, const struct nb_filter_status *status,
                  struct nb_buffer *out)
{
    switch (letter) {
    case 's':
        return nb_buffer_puts(out, status->name);
    case 'p':
        return nb_buffer_printf(out, "%.4f", status->probability);
    case 'P':
        return nb_buffer_printf(out, "%.4f", status->of_spam);
    case 'm':
        return nb_buffer_puts(out, model);
    case 'y':
        return nb_buffer_puts(out, status->is_spam ? "YES" : "NO");
    default:
        return nb_buffer_append(out, &letter, 1);
    }
}

static int write_template(const char *text, const char *model,
                          const struct nb_filter_status *status, struct nb_buffer *out)
{
    int rc = 0;
    for (const char *p = text; *p != '\0' && rc == 0; p++) {
        if (*p == '%' && p[1] != '\0')
            rc = expand(*++p, model, status, out);
        else
            rc = nb_buffer_append(out, p, 1);
    }
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

int nb_status_fields_write(const struct nb_status_fields *wanted, const char *model,
                           const struct nb_filter_status *status, struct nb_buffer *out)
{
    int rc = nb_buffer_printf(out, "%s: %s, probability=%.4f, model=%s%s\n", wanted->name,
                              status->name, status->probability, model, status->note);
    for (size_t i = 0; i < wanted->all.count && rc == 0; i++)
        rc = write_template(wanted->all.items[i], model, status, out);
    for (size_t i = 0; i < wanted->spam.count && rc == 0 && status->is_spam; i++)
        rc = write_template(wanted->spam.items[i], model, status, out);
    return rc;
}
