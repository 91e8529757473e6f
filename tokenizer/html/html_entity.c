/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html/html_entity.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/base/hex.h"
#include "tokenizer/html/html_entity_table.h"
#include "tokenizer/text/utf8_decode.h"

static size_t put_utf8(uint32_t c, char *to)
{
    return nb_utf8_encode(c, (unsigned char *)to);
}

static int digit_value(char c, bool hexadecimal)
{
    if (hexadecimal)
        return nb_hex_digit(c);
    return nb_ascii_is_digit(c) ? c - '0' : -1;
}

static size_t read_number(const char *text, size_t length, char *utf8, size_t *written)
{
    size_t at = 2;
    bool hexadecimal = at < length && (text[at] | 0x20) == 'x';
    at += hexadecimal;
    size_t first = at;
    uint32_t code = 0;
    for (int digit; at < length && (digit = digit_value(text[at], hexadecimal)) >= 0; at++) {
        if (code <
            0x110000) /* beyond it no digit is added, so that the number cannot wrap around */
            code = code * (hexadecimal ? 16 : 10) + (uint32_t)digit;
    }
    if (at == first)
        return 0;
    if (code >= 0x80 && code < 0xa0)
        code = nb_windows_1252((unsigned char)code);
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    *written = put_utf8(code, utf8);
    return at + (at < length && text[at] == ';');
}

static const struct nb_html_entity_row *find(const struct nb_html_entity_row *rows, size_t count,
                                             const char *name, size_t length)
{
    while (count > 0) {
        const struct nb_html_entity_row *middle = rows + count / 2;
        int order = strncmp(name, middle->name, length);
        if (order == 0 && middle->name[length] != '\0')
            order = -1;
        if (order == 0)
            return middle;
        if (order > 0) {
            rows = middle + 1;
            count--;
        }
        count /= 2;
    }
    return NULL;
}

static size_t put_row(const struct nb_html_entity_row *row, char *utf8)
{
    size_t length = put_utf8(row->first, utf8);
    return row->second == 0 ? length : length + put_utf8(row->second, utf8 + length);
}

static size_t read_name(const char *text, size_t length, char *utf8, size_t *written)
{
    const char *name = text + 1;
    size_t size = 0;
    while (size < length - 1 && size < NB_HTML_ENTITY_NAME && nb_ascii_is_alphanumeric(name[size]))
        size++;
    const struct nb_html_entity_row *row = NULL;
    if (size < length - 1 && name[size] == ';')
        row = find(nb_html_entities, NB_HTML_ENTITIES, name, size);
    if (row != NULL) {
        *written = put_row(row, utf8);
        return size + 2;
    }
    /* The longest name that needs no ';' and is the beginning of the word. */
    for (size_t n = size < NB_HTML_LEGACY_NAME ? size : NB_HTML_LEGACY_NAME; n >= 2; n--) {
        row = find(nb_html_legacy_entities, NB_HTML_LEGACY_ENTITIES, name, n);
        if (row != NULL) {
            *written = put_row(row, utf8);
            return n + 1;
        }
    }
    return 0;
}

size_t nb_html_entity(const char *text, size_t length, char utf8[NB_HTML_ENTITY_BYTES],
                      size_t *written)
{
    if (length < 3 || text[0] != '&')
        return 0;
    return text[1] == '#' ? read_number(text, length, utf8, written)
                          : read_name(text, length, utf8, written);
}
