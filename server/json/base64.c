/* SPDX-License-Identifier: Apache-2.0 */
#include "server/json/base64.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define WHITE_SPACE " \t\r\n"

/* A digit's value and DIGIT; 0: no digit. */
enum { DIGIT = 0x40, VALUE = DIGIT - 1 };
#define V(n) (DIGIT | (n))
static const unsigned char digits[256] = {
    ['A'] = V(0),  ['B'] = V(1),  ['C'] = V(2),  ['D'] = V(3),  ['E'] = V(4),  ['F'] = V(5),
    ['G'] = V(6),  ['H'] = V(7),  ['I'] = V(8),  ['J'] = V(9),  ['K'] = V(10), ['L'] = V(11),
    ['M'] = V(12), ['N'] = V(13), ['O'] = V(14), ['P'] = V(15), ['Q'] = V(16), ['R'] = V(17),
    ['S'] = V(18), ['T'] = V(19), ['U'] = V(20), ['V'] = V(21), ['W'] = V(22), ['X'] = V(23),
    ['Y'] = V(24), ['Z'] = V(25), ['a'] = V(26), ['b'] = V(27), ['c'] = V(28), ['d'] = V(29),
    ['e'] = V(30), ['f'] = V(31), ['g'] = V(32), ['h'] = V(33), ['i'] = V(34), ['j'] = V(35),
    ['k'] = V(36), ['l'] = V(37), ['m'] = V(38), ['n'] = V(39), ['o'] = V(40), ['p'] = V(41),
    ['q'] = V(42), ['r'] = V(43), ['s'] = V(44), ['t'] = V(45), ['u'] = V(46), ['v'] = V(47),
    ['w'] = V(48), ['x'] = V(49), ['y'] = V(50), ['z'] = V(51), ['0'] = V(52), ['1'] = V(53),
    ['2'] = V(54), ['3'] = V(55), ['4'] = V(56), ['5'] = V(57), ['6'] = V(58), ['7'] = V(59),
    ['8'] = V(60), ['9'] = V(61), ['+'] = V(62), ['/'] = V(63)};

/* Four digits make three bytes. False if one of them is no digit. */
static inline bool decode_four(const unsigned char *four, unsigned char *out)
{
    unsigned a = digits[four[0]], b = digits[four[1]], c = digits[four[2]], d = digits[four[3]];
    if ((a & b & c & d & DIGIT) == 0)
        return false;
    uint32_t bits = (a & VALUE) << 18 | (b & VALUE) << 12 | (c & VALUE) << 6 | (d & VALUE);
    out[0] = (unsigned char)(bits >> 16);
    out[1] = (unsigned char)(bits >> 8);
    out[2] = (unsigned char)bits;
    return true;
}

static bool is_white(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

/* Fours, and white space between them, are decoded here. From the first other thing on, padding if
 * nothing is wrong, the library decodes, as if the text began there. */
const char *nb_base64_decode(struct nb_string text, unsigned char *out, size_t room, size_t *length)
{
    const unsigned char *at = (const unsigned char *)text.bytes;
    size_t left = text.length, done = 0, rest = 0;
    const char *end = NULL;
    while (left >= 4 && room - done >= 3) {
        if (decode_four(at, out + done)) {
            at += 4;
            left -= 4;
            done += 3;
        } else if (is_white(*at)) {
            at++;
            left--;
        } else {
            break;
        }
    }
    *length = done;
    if (left == 0)
        return NULL;
    int rc = sodium_base642bin(out + done, room - done, (const char *)at, left, WHITE_SPACE, &rest,
                               &end, sodium_base64_VARIANT_ORIGINAL);
    *length = done + rest;
    return rc == 0 && end == text.bytes + text.length ? NULL : end;
}
