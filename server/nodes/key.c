/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hex.h"
#include "server/nodes/nodes.h"

enum { FILE_MOST = 256 };

int nb_nodes_read_key(const char *path, unsigned char key[NB_KEY_BYTES], struct nb_error *error)
{
    char bytes[FILE_MOST];
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return nb_error_errno(error, errno, path);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    bool has_failed = ferror(file) != 0;
    (void)fclose(file); /* it was only read */
    if (has_failed)
        return nb_error_set(error, NB_IO, "%s cannot be read", path);
    struct nb_string text = nb_string_trim((struct nb_string){bytes, length});
    bool good = text.length == (size_t)NB_KEY_BYTES * 2;
    for (size_t i = 0; good && i < NB_KEY_BYTES; i++) {
        int high = nb_hex_digit(text.bytes[2 * i]);
        int low = nb_hex_digit(text.bytes[2 * i + 1]);
        good = high >= 0 && low >= 0;
        key[i] = (unsigned char)(high * 16 + low);
    }
    explicit_bzero(bytes, sizeof bytes);
    return good ? 0
                : nb_error_set(error, NB_INVALID,
                               "%s: a key is 64 hexadecimal digits, as openssl rand -hex 32 prints",
                               path);
}
