/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/send/item_json.h"

#include <sodium.h>

#include "server/client/base/quote.h"

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
                            sodium_base64_VARIANT_ORIGINAL); /* cannot fail: there is room */
    out->length += room - 1;                                 /* without its NUL */
    return nb_buffer_puts(out, "\"");
}

static int write_member(const char *name, struct nb_string value, struct nb_buffer *out)
{
    if (value.length == 0)
        return 0;
    int rc = nb_buffer_printf(out, "\"%s\":", name);
    if (rc == 0)
        rc = nb_quote(value, out);
    return rc == 0 ? nb_buffer_puts(out, ",") : rc;
}

static int write_content(const struct nb_item *item, struct nb_buffer *out)
{
    if (item->has_no_content)
        return 0;
    int rc = nb_buffer_puts(out, item->is_mail ? "\"mail_base64\":" : "\"text\":");
    if (rc == 0)
        rc = item->is_mail ? write_base64(item->content, out) : nb_quote(item->content, out);
    return rc == 0 ? nb_buffer_puts(out, ",") : rc;
}

static int write_values(struct nb_string values, struct nb_buffer *out)
{
    int rc = values.length > 0 ? nb_buffer_puts(out, "\"values\":") : 0;
    if (rc == 0)
        rc = nb_buffer_append(out, values.bytes, values.length);
    return rc == 0 && values.length > 0 ? nb_buffer_puts(out, ",") : rc;
}

int nb_item_write(const struct nb_item *item, bool with_label, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, "{");
    if (rc == 0)
        rc = write_content(item, out);
    if (rc == 0)
        rc = write_values(item->values, out);
    if (rc == 0 && with_label)
        rc = item->label.length > 0 ? write_member("label", item->label, out)
                                    : nb_buffer_puts(out, "\"label\":null,");
    if (rc == 0)
        rc = write_member("id", item->id, out);
    if (rc != 0)
        return rc;
    out->length -= out->bytes[out->length - 1] == ','; /* each member is followed by one */
    return nb_buffer_puts(out, "}");
}
