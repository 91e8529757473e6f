/* SPDX-License-Identifier: Apache-2.0
 *
 * Any body as a form of /checkv3, its first line the Content-Type: what is read lies in the body,
 * and the fields that a mail is judged with end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/error.h"
#include "server/mail/rspamd_form.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
    if (!holds)
        __builtin_trap();
}

static void ask(const struct nb_rspamd_form *form)
{
    static const char *const names[] = {"From", "Rcpt", "Deliver-To", "IP", "X"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t at = 0;
        struct nb_string value = nb_rspamd_form_field(form, names[i], &at);
        for (; value.bytes != NULL; value = nb_rspamd_form_field(form, names[i], &at)) {
            check(at <= NB_RSPAMD_FORM_METADATA && !nb_utf8_has_control(value));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    const char *end = size == 0 ? NULL : memchr(bytes, '\n', size);
    if (end == NULL)
        return 0;
    struct nb_string type = {bytes, (size_t)(end - bytes)};
    struct nb_string body = {end + 1, size - type.length - 1};
    struct nb_rspamd_form form;
    struct nb_error error = {0};
    int rc = nb_rspamd_form_read(type, body, &form, &error);
    check(rc == 0 || (rc == NB_INVALID && error.text[0] != '\0'));
    if (rc == 0) {
        check(form.message.bytes >= body.bytes &&
              form.message.bytes + form.message.length <= body.bytes + body.length);
        ask(&form);
    }
    nb_rspamd_form_deinit(&form);
    return 0;
}
