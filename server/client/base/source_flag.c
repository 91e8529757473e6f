/* SPDX-License-Identifier: Apache-2.0 */
#include "server/client/base/source_flag.h"

#include <string.h>

#include "core/base/utf8.h"

static bool is_printable(struct nb_string name)
{
    const unsigned char *at = (const unsigned char *)name.bytes, *end = at + name.length;
    for (; at < end; at += nb_utf8_sequence(at, end))
        if (nb_utf8_control(at, end) > 0)
            return false;
    return true;
}

int nb_source_check(const char *source, struct nb_error *error)
{
    if (source == NULL)
        return 0;
    struct nb_string name = nb_string_of(source);
    if (name.length == 0 || name.length > NB_SOURCE_MOST || !nb_utf8_is_valid(name) ||
        !is_printable(name))
        return nb_error_set(error, NB_CLIENT_USAGE,
                            "--source '%.100s': 1 to %d bytes of UTF-8 without control characters "
                            "are needed",
                            source, NB_SOURCE_MOST);
    return 0;
}
