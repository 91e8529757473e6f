/* SPDX-License-Identifier: Apache-2.0 */
#include "server/milter/packet.h"

#include <stdint.h>

enum {
    OPTIONS_BYTES = 12, /* version, actions, steps: 4 bytes each */
    PORT_BYTES = 2
};

static bool is_terminated(struct nb_string data)
{
    return data.length > 0 && data.bytes[data.length - 1] == '\0';
}

static size_t count_texts(struct nb_string data)
{
    size_t count = 0;
    for (size_t i = 0; i < data.length; i++)
        count += data.bytes[i] == '\0';
    return count;
}

/* Letter of the command that the macros are for, then names and values in turn. */
static const char *fault_of_macros(struct nb_string data)
{
    if (data.length == 0)
        return "macros for no command";
    struct nb_string pairs = nb_string_from(data, 1);
    if (pairs.length > 0 && !is_terminated(pairs))
        return "a macro that is not terminated";
    return count_texts(pairs) % 2 == 0 ? NULL : "a macro without a value";
}

/* Host name, family; and but for family U, unknown, a port and an address. */
static const char *fault_of_client(struct nb_string data)
{
    const char *end = data.length > 0 ? memchr(data.bytes, '\0', data.length) : NULL;
    if (end == NULL)
        return "a client whose name is not terminated";
    struct nb_string rest = nb_string_from(data, (size_t)(end - data.bytes) + 1);
    if (rest.length == 0 || memchr("UL46", rest.bytes[0], 4) == NULL)
        return "a client of an unknown family";
    if (rest.bytes[0] == 'U')
        return NULL;
    return rest.length > 1 + PORT_BYTES && is_terminated(rest) ? NULL
                                                               : "a client without an address";
}

static const char *fault_of(char command, struct nb_string data)
{
    switch (command) {
    case 'O': /* options */
        return data.length >= OPTIONS_BYTES ? NULL : "options that are too short";
    case 'D':
        return fault_of_macros(data);
    case 'C':
        return fault_of_client(data);
    case 'H': /* HELO */
    case 'M': /* sender */
    case 'R': /* recipient */
    case 'U': /* unknown command */
        return is_terminated(data) ? NULL : "a text that is not terminated";
    case 'L': /* header field */
        return is_terminated(data) && data.bytes[0] != '\0' && count_texts(data) >= 2
                   ? NULL
                   : "a header field without a name or a value";
    case 'A': /* abort */
    case 'B': /* body */
    case 'E': /* end of the body */
    case 'K': /* end, another connection follows */
    case 'N': /* end of the header */
    case 'Q': /* end of the connection */
    case 'T': /* DATA */
        return NULL;
    default:
        return "an unknown command";
    }
}

int nb_packet_check(struct nb_string bytes, size_t *size, struct nb_error *error)
{
    if (bytes.length < NB_PACKET_HEAD)
        return NB_PACKET_MORE;
    const unsigned char *head = (const unsigned char *)bytes.bytes;
    uint32_t length =
        (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
    if (length == 0 || length > NB_PACKET_MOST)
        return nb_error_set(error, NB_INVALID, "a packet of %lu bytes; 1 to %d are allowed",
                            (unsigned long)length, NB_PACKET_MOST);
    if (bytes.length - NB_PACKET_HEAD < length)
        return NB_PACKET_MORE;
    const char *packet = bytes.bytes + NB_PACKET_HEAD;
    const char *fault = fault_of(packet[0], (struct nb_string){packet + 1, length - 1});
    if (fault != NULL)
        return nb_error_set(error, NB_INVALID, "%s", fault);
    *size = NB_PACKET_HEAD + (size_t)length;
    return 0;
}
