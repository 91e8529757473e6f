/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/token.h"

#include <assert.h>
#include <stdio.h>

#include "core/base/string.h"

int nb_text_count_long(struct nb_text_run *run, uint32_t first, size_t characters)
{
    assert(characters > NB_TOKEN_CHARACTERS);
    unsigned char letter[NB_UTF8_MOST + 1] = {0};
    nb_utf8_encode(first, letter);
    size_t coarse = 1;
    while (coarse <= characters / 2)
        coarse *= 2;
    char *token = (char *)nb_text_token(run);
    int length = snprintf(token, NB_BAG_ROOM - NB_PREFIX_BYTES, "long:%s:%zu", letter, coarse);
    return nb_text_count(run, (size_t)length);
}
