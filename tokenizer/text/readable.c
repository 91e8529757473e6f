/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/readable.h"

#include <string.h>

#include "core/base/utf8.h"

enum { CHARACTERS_FOR_A_FAULT = 8 };

bool nb_text_is_ascii(struct nb_string text)
{
    const unsigned char *at = (const unsigned char *)text.bytes;
    const unsigned char *end = at + text.length;
    return text.length == 0 ||
           (nb_utf8_ascii_end(at, end) == end && memchr(at, 0x1b, text.length) == NULL);
}

static bool is_fault(const unsigned char *at, size_t length, bool is_replacement_fault)
{
    return length == 0 ||
           (is_replacement_fault && length == 3 && at[0] == 0xEF && at[1] == 0xBF && at[2] == 0xBD);
}

static bool has_few_faults(struct nb_string text, bool is_replacement_fault)
{
    const unsigned char *at = (const unsigned char *)text.bytes;
    const unsigned char *end = at + text.length;
    size_t faults = 0, characters = 0;
    while ((at = nb_utf8_ascii_end(at, end)) < end) {
        size_t length = nb_utf8_sequence(at, end);
        if (is_fault(at, length, is_replacement_fault))
            faults++;
        else
            characters++;
        at += length > 0 ? length : 1;
    }
    return faults <= characters / CHARACTERS_FOR_A_FAULT;
}

bool nb_text_is_utf8(struct nb_string text)
{
    return text.length == 0 || has_few_faults(text, false);
}

bool nb_text_is_readable(struct nb_string text)
{
    return text.length == 0 || has_few_faults(text, true);
}
