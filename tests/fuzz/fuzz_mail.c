/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a mail, all features counted. The first byte lowers the limits. The ids follow from
 * the texts. And the mails that are attached to it: no more bytes than it has.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/feature.h"
#include "tokenizer/document.h"
#include "tokenizer/mail_attached.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_attached(const struct nb_document *mail)
{
    struct nb_mail_attached attached = {.count = 0};
    struct nb_error error;
    size_t bytes = 0;
    int rc =
        nb_mail_attached_find(&attached, (struct nb_string){mail->bytes, mail->length}, &error);
    for (size_t i = 0; i < attached.count; i++)
        bytes += nb_mail_attached_get(&attached, i).length;
    /* Lines of text in a body that says base64 are set off by line breaks. */
    if ((rc != 0 && rc != NB_TOO_LARGE) || bytes > 2 * mail->length + 2)
        abort();
    nb_mail_attached_deinit(&attached);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool ready;
    static struct nb_key key;
    static struct nb_bag bag;
    static const unsigned char secret[NB_KEY_BYTES] = {17};
    if (!ready && nb_tokenizer_setup(NULL) != 0)
        abort();
    if (!ready)
        nb_key_restore(&key, secret);
    ready = true;
    if (size == 0)
        return 0;
    struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    if (data[0] % 2 == 1) {
        limits.mail_bytes = data[0];
        limits.mail_depth = data[0] % 5;
        limits.mail_parts = data[0] % 7;
        limits.header_bytes = data[0];
        limits.work = data[0] % 11;
    }
    const struct nb_document mail = {
        .kind = NB_DOCUMENT_MAIL, .bytes = (const char *)data + 1, .length = size - 1};
    find_attached(&mail);
    const struct nb_attribute of_server[] = {{(char[]){"spf"}, NB_FIELD_KIND_CATEGORY},
                                             {(char[]){"client"}, NB_FIELD_KIND_CATEGORY},
                                             {(char[]){"sender"}, NB_FIELD_KIND_CATEGORY}};
    const struct nb_tokenizer_settings all = {
        .fields = (1u << NB_FIELDS) - 1, .attributes = {of_server, 3, false}, .mail_server = "mx"};
    if (nb_document_tokenize(&mail, &key, &all, &limits, &bag) != 0)
        abort();
    for (size_t i = 0; i < bag.size; i++)
        if (bag.features[i].id !=
            nb_feature_id_like(bag.features[i].id,
                               nb_feature_hash(&key, bag.texts[i].bytes, bag.texts[i].length)))
            abort();
    return 0;
}
