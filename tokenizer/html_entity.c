/* SPDX-License-Identifier: Apache-2.0 */
#include "tokenizer/html_entity.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tokenizer/html_entity_table.h"

/* What the numbers 128 to 159 stand for: windows-1252, where most pages that use them come from
 * (HTML standard, numeric character reference end state). */
static const uint16_t windows_1252[32] = {
    0x20ac, 0x81,   0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
    0x2039, 0x0152, 0x8d,   0x017d, 0x8f,   0x90,   0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,   0x017e, 0x0178};

static size_t put_utf8(uint32_t c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[4] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | c >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        out[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

static int digit_value(char c, bool hexadecimal)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return hexadecimal && lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

static size_t read_number(const char *text, size_t length, char *utf8, size_t *written)
{
    size_t at = 2;
    bool hexadecimal = at < length && (text[at] | 0x20) == 'x';
    at += hexadecimal;
    size_t first = at;
    uint32_t code = 0;
    for (int digit; at < length && (digit = digit_value(text[at], hexadecimal)) >= 0; at++) {
        if (code < 0x110000) /* beyond, it stays too large, and does not wrap around */
            code = code * (hexadecimal ? 16 : 10) + (uint32_t)digit;
    }
    if (at == first)
        return 0;
    if (code >= 0x80 && code < 0xa0)
        code = windows_1252[code - 0x80];
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

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static size_t read_name(const char *text, size_t length, char *utf8, size_t *written)
{
    const char *name = text + 1;
    size_t size = 0;
    while (size < length - 1 && size < NB_HTML_ENTITY_NAME && is_alphanumeric(name[size]))
        size++;
    const struct nb_html_entity_row *row = NULL;
    if (size < length - 1 && name[size] == ';')
        row = find(nb_html_entities, NB_HTML_ENTITIES, name, size);
    if (row != NULL) {
        *written = put_row(row, utf8);
        return size + 2;
    }
    /* The longest name that needs no ';' and begins the word. */
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
