/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/document.h"

#include "tokenizer/mail.h"
#include "tokenizer/text.h"

int nb_tokenizer_setup(struct nb_error *error)
{
    int rc = nb_text_setup();
    if (rc == 0)
        rc = nb_mail_setup();
    if (rc == NB_NO_MEMORY)
        return nb_error_no_memory(error);
    return rc == 0 ? 0 : nb_error_set(error, rc, "the MIME library cannot be prepared");
}

void nb_tokenizer_teardown(void)
{
    nb_mail_teardown();
    nb_text_teardown();
}

int nb_document_tokenize(const struct nb_document *document, const struct nb_key *key,
                         const struct nb_tokenizer_settings *settings,
                         const struct nb_tokenizer_limits *limits, struct nb_bag *bag)
{
    nb_bag_reset(bag);
    struct nb_tokenizing t = {.key = key,
                              .settings = settings,
                              .limits = limits,
                              .bag = bag,
                              .tokens_left = limits->tokens};
    if (document->kind == NB_DOCUMENT_MAIL)
        return nb_tokenize_mail(&t, document->bytes, document->length);
    return nb_tokenize_text(&t, NB_FIELD_BODY, "", document->bytes, document->length);
}
