/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/send/item_json.h"

#include <sodium.h>

#include "core/base/error.h"
#include "core/base/utf8.h"

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* Appends the character at `p`, which is not plain, escaped where JSON needs it. Returns how many
 * bytes it has, 0 when there is no memory. */
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

static int write_string(struct nb_string text, struct nb_buffer *out)
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

static int write_base64(struct nb_string bytes, struct nb_buffer *out)
{
    size_t room = sodium_base64_encoded_len(bytes.length, sodium_base64_VARIANT_ORIGINAL);
    int rc = nb_buffer_puts(out, "\"");
    if (rc == 0)
        rc = nb_buffer_reserve(out, room);
    if (rc != 0)
        return rc;
    char *text = out->bytes + out->length;
    (void)sodium_bin2base64(text, room, (const unsigned char *)bytes.bytes, bytes.length,
                            sodium_base64_VARIANT_ORIGINAL); /* has room: it cannot fail */
    out->length += room - 1;                                 /* without its NUL */
    return nb_buffer_puts(out, "\"");
}

static int write_member(const char *name, struct nb_string value, struct nb_buffer *out)
{
    if (value.length == 0)
        return 0;
    int rc = nb_buffer_printf(out, ",\"%s\":", name);
    return rc == 0 ? write_string(value, out) : rc;
}

int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, item->is_mail ? "{\"mail_base64\":" : "{\"text\":");
    if (rc == 0)
        rc = item->is_mail ? write_base64(item->content, out) : write_string(item->content, out);
    if (rc == 0 && with_label)
        rc = write_member("label", item->label, out);
    if (rc == 0)
        rc = write_member("id", item->id, out);
    return rc == 0 ? nb_buffer_puts(out, "}") : rc;
}
