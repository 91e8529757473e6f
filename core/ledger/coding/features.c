/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/ledger/coding/features_private.h"

struct nb_features_coder *nb_features_coder_new(void)
{
    struct nb_features_coder *c = calloc(1, sizeof *c);
    for (unsigned field = 0; c != NULL && field < NB_FIELDS; field++)
        c->names[field] = nb_string_of(nb_field_name((enum nb_field)field));
    return c;
}

void nb_features_coder_free(struct nb_features_coder **coder)
{
    struct nb_features_coder *c = *coder;
    *coder = NULL;
    if (c == NULL)
        return;
    nb_text_code_free(&c->code);
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
    nb_buffer_deinit(&c->raw);
    nb_buffer_deinit(&c->whole);
    free(c->ids);
    free(c->texts);
    free(c);
}

struct nb_string nb_features_tail(unsigned field, struct nb_string text)
{
    size_t from = text.length;
    if (field == NB_FIELD_PAIR) {
        while (from > 0 && text.bytes[from - 1] != ' ')
            from--;
    } else if (field == NB_FIELD_NGRAM && text.length > 0) {
        from = 1;
        while (from < text.length && (text.bytes[from] & 0xC0) == 0x80)
            from++;
    }
    struct nb_string tail = nb_string_from(text, from);
    return tail.length <= TAIL_MOST ? tail : (struct nb_string){"", 0};
}
