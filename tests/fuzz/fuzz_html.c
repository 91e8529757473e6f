/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as HTML: the text is there, and no longer than what it was made of.
 */
#include <stdint.h>

#include "tokenizer/html_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_html_text text = {0};
    if (nb_html_to_text((const char *)data, size, NULL, &text) != 0)
        __builtin_trap();
    /* A name of 5 bytes may stand for 6 ("&nGt;"), a tag of 3 for a line break. */
    if (text.visible.length + text.hidden.length > 2 * size + 2)
        __builtin_trap();
    nb_html_text_deinit(&text);
    return 0;
}
