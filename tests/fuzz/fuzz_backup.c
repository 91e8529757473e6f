/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of backups. The first byte says whether the rest is a file, or the body of a block
 * whose checksum is right; and where the input is divided, as a network would.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/archive/backup/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int good_so_far)
{
    if (!good_so_far)
        abort();
}

static int begin(void *user, uint64_t format, struct nb_error *error)
{
    (void)user, (void)format, (void)error;
    return 0;
}

/* Reads every byte of what it gets. */
static int take(void *user, struct nb_string table, struct nb_string key, struct nb_string value,
                struct nb_error *error)
{
    const struct nb_string all[] = {table, key, value};
    uint64_t *sum = user;
    (void)error;
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < all[i].length; k++)
            *sum += (unsigned char)all[i].bytes[k];
    return 0;
}

static void read_it(const char *bytes, size_t length, size_t first)
{
    uint64_t sum = 0;
    const struct nb_backup_sink sink = {begin, take, &sum};
    struct nb_backup_reader reader;
    struct nb_error error = {0};
    nb_backup_reader_init(&reader, &sink);
    int rc = nb_backup_read(&reader, bytes, first, &error);
    if (rc == 0)
        rc = nb_backup_read(&reader, bytes + first, length - first, &error);
    if (rc == 0)
        rc = nb_backup_read_end(&reader, &error);
    must(rc == 0 || error.text[0] != '\0');
    must(rc != 0 || reader.has_end);
    nb_backup_reader_deinit(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char block_head[12] = {0};
    struct nb_buffer file = {0};
    if (size < 2)
        return 0;
    if (data[0] % 2 == 0) {
        must(nb_buffer_append(&file, data + 1, size - 1) == 0);
    } else {
        must(nb_backup_put_head(&file, 1, 0) == 0);
        size_t at = file.length;
        must(nb_buffer_append(&file, block_head, sizeof block_head) == 0);
        must(nb_buffer_append(&file, data + 1, size - 1) == 0);
        must(nb_backup_end_block(&file, at, 1, NULL) == 0);
    }
    read_it(file.bytes, file.length, (size_t)(data[0] / 2) * file.length / 128);
    nb_buffer_deinit(&file);
    return 0;
}
