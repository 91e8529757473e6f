/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/readable.h"

#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

enum { CHARACTERS_FOR_A_FAULT = 8 };

bool nb_text_is_ascii(struct nb_string text)
{
    unsigned char all = 0;
    for (size_t i = 0; i < text.length; i++) /* the loop is made of whole vectors */
        all |= (unsigned char)(text.bytes[i] | (text.bytes[i] == 0x1b ? 0x80 : 0));
    return all < 0x80;
}

/* The first byte from `at` on that is not ASCII, or `end`. */
static const unsigned char *skip_ascii(const unsigned char *at, const unsigned char *end)
{
    uint64_t eight;
    while (end - at >= 8) {
        memcpy(&eight, at, sizeof eight);
        if ((eight & UINT64_C(0x8080808080808080)) != 0)
            break;
        at += sizeof eight;
    }
    while (at < end && *at < 0x80)
        at++;
    return at;
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
    while ((at = skip_ascii(at, end)) < end) {
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
