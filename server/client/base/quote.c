/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/quote.h"

#include <stdbool.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Appends the character at `p`, which is not plain, and escapes it where JSON needs it. Returns the
 * number of its bytes in the text, 0 without memory. */
static size_t write_special(const unsigned char *p, size_t left, struct nb_buffer *out)
{
    size_t length = nb_utf8_sequence(p, p + left);
    if (length > 1)
        return nb_buffer_append(out, p, length) == 0 ? length : 0;
    int rc;
    if (length == 0)
        rc = nb_buffer_puts(out, "\\ufffd");
    else if (*p == '\n')
        rc = nb_buffer_puts(out, "\\n");
    else if (*p == '"' || *p == '\\')
        rc = nb_buffer_printf(out, "\\%c", *p);
    else
        rc = nb_buffer_printf(out, "\\u%04x", *p);
    return rc == 0 ? 1 : 0;
}

int nb_quote(struct nb_string text, struct nb_buffer *out)
{
    const unsigned char *p = (const unsigned char *)text.bytes;
    int rc = nb_buffer_puts(out, "\"");
    for (size_t i = 0; i < text.length && rc == 0;) {
        size_t begin = i;
        while (i < text.length && is_plain(p[i]))
            i++;
        rc = nb_buffer_append(out, p + begin, i - begin);
        if (rc != 0 || i == text.length)
            continue;
        size_t taken = write_special(p + i, text.length - i, out);
        i += taken;
        if (taken == 0)
            return NB_NO_MEMORY;
    }
    return rc == 0 ? nb_buffer_puts(out, "\"") : rc;
}
