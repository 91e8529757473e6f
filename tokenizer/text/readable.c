/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/text/readable.h"

#include <stdint.h>
#include <string.h>

#include "core/base/utf8.h"

enum { CHARACTERS_FOR_A_FAULT = 8 };

/* Returns eight bytes, each with its highest bit set if the byte is not ASCII or is an escape.
 * Subtracting 1 from a zero sets that bit, and an escape was turned into zero before. */
static uint64_t faults_of(const char *at)
{
    const uint64_t each = UINT64_C(0x0101010101010101), escape = 0x1b;
    uint64_t eight;
    memcpy(&eight, at, sizeof eight);
    return (eight | ((eight ^ each * escape) - each)) & each << 7;
}

bool nb_text_is_ascii(struct nb_string text)
{
    enum { EIGHT = 8 };
    uint64_t faults = 0;
    if (text.length < EIGHT) {
        char padded[EIGHT] = {0};
        for (size_t i = 0; i < text.length; i++)
            padded[i] = text.bytes[i];
        return faults_of(padded) == 0;
    }
    for (size_t i = 0; i + EIGHT <= text.length; i += EIGHT) /* compilers vectorize this loop */
        faults |= faults_of(text.bytes + i);
    return (faults | faults_of(text.bytes + text.length - EIGHT)) == 0; /* they may overlap */
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
