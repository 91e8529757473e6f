/* SPDX-License-Identifier: Apache-2.0 */
#include "core/archive/backup/format.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/base/buffer.h"

static const char HEAD[] = "bayesd backup 1\n";
/* The beginning that the heads of all versions share. */
static const char HEAD_OF_ANY[] = "bayesd backup ";

enum { HEAD_BYTES = sizeof HEAD - 1, HEAD_OF_ANY_BYTES = sizeof HEAD_OF_ANY - 1 };
enum { LENGTH_BYTES = 4, CHECKSUM_BYTES = 8, BLOCK_HEAD = LENGTH_BYTES + CHECKSUM_BYTES };
enum { KIND_HEAD = 'H', KIND_VALUES = 'V', KIND_END = 'E', KIND_FAILURE = 'F' };

/* ---- writing --------------------------------------------------------------------------------- */

static int begin_block(struct nb_buffer *out, uint8_t kind, size_t *at)
{
    static const char head[BLOCK_HEAD] = {0};
    struct nb_packer p = {.out = out};
    *at = out->length;
    nb_pack_bytes(&p, head, sizeof head);
    nb_pack_u8(&p, kind);
    return p.code;
}

static void store_number(char *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (char)(value >> (8 * i) & 0xffu);
}

static uint64_t load_number(const char *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)(unsigned char)from[i] << (8 * i);
    return value;
}

int nb_backup_end_block(struct nb_buffer *out, size_t at, uint64_t number, struct nb_error *error)
{
    assert(out->length > at + BLOCK_HEAD);
    char *head = out->bytes + at;
    size_t length = out->length - at - BLOCK_HEAD;
    if (length > NB_BACKUP_BODY_MOST)
        return nb_error_set(error, NB_TOO_LARGE, "a value of %zu bytes is too large for a backup",
                            length);
    store_number(head, length, LENGTH_BYTES);
    store_number(head + LENGTH_BYTES, XXH3_64bits_withSeed(head + BLOCK_HEAD, length, number),
                 CHECKSUM_BYTES);
    return 0;
}

int nb_backup_put_head(struct nb_buffer *out, uint64_t format, int64_t time)
{
    struct nb_packer p = {.out = out};
    size_t at;
    nb_pack_bytes(&p, HEAD, HEAD_BYTES);
    if (p.code != 0 || begin_block(out, KIND_HEAD, &at) != 0)
        return NB_NO_MEMORY;
    nb_pack_varint(&p, format);
    nb_pack_u64(&p, (uint64_t)time);
    return p.code != 0 ? p.code : nb_backup_end_block(out, at, 0, NULL);
}

int nb_backup_begin_values(struct nb_buffer *out, const char *table, size_t *at)
{
    struct nb_packer p = {.out = out};
    assert(table != NULL);
    int rc = begin_block(out, KIND_VALUES, at);
    if (rc == 0)
        nb_pack_string(&p, nb_string_of(table));
    return rc != 0 ? rc : p.code;
}

int nb_backup_put_value(struct nb_buffer *out, struct nb_string key, struct nb_string value)
{
    struct nb_packer p = {.out = out};
    nb_pack_string(&p, key);
    nb_pack_string(&p, value);
    return p.code;
}

int nb_backup_put_end(struct nb_buffer *out, uint64_t number, uint64_t values)
{
    struct nb_packer p = {.out = out};
    size_t at;
    int rc = begin_block(out, KIND_END, &at);
    if (rc == 0)
        nb_pack_varint(&p, values);
    return rc != 0 || p.code != 0 ? NB_NO_MEMORY : nb_backup_end_block(out, at, number, NULL);
}

int nb_backup_put_failure(struct nb_buffer *out, uint64_t number, const char *why)
{
    struct nb_packer p = {.out = out};
    size_t at;
    int rc = begin_block(out, KIND_FAILURE, &at);
    if (rc == 0)
        nb_pack_string(&p, nb_string_of(why));
    return rc != 0 || p.code != 0 ? NB_NO_MEMORY : nb_backup_end_block(out, at, number, NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

void nb_backup_reader_init(struct nb_backup_reader *reader, const struct nb_backup_sink *sink)
{
    *reader = (struct nb_backup_reader){.sink = sink};
}

void nb_backup_reader_deinit(struct nb_backup_reader *reader)
{
    nb_buffer_deinit(&reader->pending);
}

static int damaged(const struct nb_backup_reader *reader, const char *what, struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the backup is damaged: block %" PRIu64 ", after %" PRIu64 " bytes, %s",
                        reader->block, reader->at, what);
}

static int read_head(const char *bytes, struct nb_error *error)
{
    if (memcmp(bytes, HEAD, HEAD_BYTES) == 0)
        return 0;
    if (memcmp(bytes, HEAD_OF_ANY, HEAD_OF_ANY_BYTES) == 0)
        return nb_error_set(error, NB_VERSION,
                            "the backup was written by a newer bayesd: use that one");
    return nb_error_set(error, NB_INVALID, "this is no backup: it does not begin with '%s'%s",
                        HEAD_OF_ANY, bytes[0] == '{' ? "; bayesc import reads exports" : "");
}

static int read_begin(struct nb_backup_reader *reader, struct nb_unpacker *u,
                      struct nb_error *error)
{
    uint64_t format = nb_unpack_varint(u);
    (void)nb_unpack_u64(u); /* the time, for people who read the file */
    if (!nb_unpacker_done(u))
        return damaged(reader, "does not read back", error);
    return reader->sink != NULL ? reader->sink->begin(reader->sink->user, format, error) : 0;
}

static int read_values(struct nb_backup_reader *reader, struct nb_unpacker *u,
                       struct nb_error *error)
{
    struct nb_string table = nb_unpack_string(u);
    int rc = 0;
    while (rc == 0 && u->at < u->end && !u->failed) {
        struct nb_string key = nb_unpack_string(u);
        struct nb_string value = nb_unpack_string(u);
        reader->values++;
        if (!u->failed && reader->sink != NULL)
            rc = reader->sink->value(reader->sink->user, table, key, value, error);
    }
    return u->failed ? damaged(reader, "does not read back", error) : rc;
}

static int read_last(struct nb_backup_reader *reader, struct nb_unpacker *u, struct nb_error *error)
{
    uint64_t values = nb_unpack_varint(u);
    if (!nb_unpacker_done(u))
        return damaged(reader, "does not read back", error);
    if (values != reader->values)
        return damaged(reader, "counts other values than there were", error);
    reader->has_end = true;
    return 0;
}

static int read_failure(struct nb_unpacker *u, struct nb_error *error)
{
    struct nb_string why = nb_unpack_string(u);
    return nb_error_set(error, NB_CORRUPT, "the daemon could not finish the backup: %.*s",
                        (int)why.length, why.bytes);
}

static int read_body(struct nb_backup_reader *reader, const char *body, size_t length,
                     struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(body, length);
    uint8_t kind = nb_unpack_u8(&u);
    if ((kind == KIND_HEAD) != (reader->block == 0))
        return damaged(reader, "is in the wrong place", error);
    switch (kind) {
    case KIND_HEAD:
        return read_begin(reader, &u, error);
    case KIND_VALUES:
        return read_values(reader, &u, error);
    case KIND_END:
        return read_last(reader, &u, error);
    case KIND_FAILURE:
        return read_failure(&u, error);
    default:
        return damaged(reader, "is of no known kind", error);
    }
}

/* Reads the block at `bytes` if all of it is there. Returns 0 or a code; *used is 0 if more bytes
 * are needed. */
static int read_block(struct nb_backup_reader *reader, const char *bytes, size_t length,
                      size_t *used, struct nb_error *error)
{
    *used = 0;
    if (length < BLOCK_HEAD)
        return 0;
    size_t body = (size_t)load_number(bytes, LENGTH_BYTES);
    if (body == 0 || body > NB_BACKUP_BODY_MOST)
        return damaged(reader, "has a length that cannot be", error);
    if (length - BLOCK_HEAD < body)
        return 0;
    if (load_number(bytes + LENGTH_BYTES, CHECKSUM_BYTES) !=
        XXH3_64bits_withSeed(bytes + BLOCK_HEAD, body, reader->block))
        return damaged(reader, "does not fit its checksum", error);
    int rc = read_body(reader, bytes + BLOCK_HEAD, body, error);
    reader->block++;
    *used = BLOCK_HEAD + body;
    return rc;
}

static int read_next(struct nb_backup_reader *reader, const char *bytes, size_t length,
                     size_t *used, struct nb_error *error)
{
    *used = 0;
    if (reader->has_end)
        return length > 0 ? damaged(reader, "follows its end", error) : 0;
    if (reader->has_head)
        return read_block(reader, bytes, length, used, error);
    if (length < HEAD_BYTES)
        return 0;
    reader->has_head = true;
    *used = HEAD_BYTES;
    return read_head(bytes, error);
}

int nb_backup_read(struct nb_backup_reader *reader, const char *bytes, size_t length,
                   struct nb_error *error)
{
    struct nb_buffer *pending = &reader->pending;
    size_t done = 0, used;
    if (length == 0)
        return 0; /* `pending` may have no memory yet */
    if (nb_buffer_append(pending, bytes, length) != 0)
        return nb_error_no_memory(error);
    int rc;
    do {
        rc = read_next(reader, pending->bytes + done, pending->length - done, &used, error);
        done += used;
        reader->at += used;
    } while (rc == 0 && used > 0);
    if (done > 0)
        memmove(pending->bytes, pending->bytes + done, pending->length - done);
    pending->length -= done;
    return rc;
}

int nb_backup_read_end(const struct nb_backup_reader *reader, struct nb_error *error)
{
    if (reader->has_end)
        return 0;
    if (!reader->has_head)
        return nb_error_set(error, NB_INVALID, "this is no backup: it is too short");
    return nb_error_set(error, NB_CORRUPT,
                        "the backup is cut off: it has no end after %" PRIu64 " bytes and %" PRIu64
                        " values",
                        reader->at + reader->pending.length, reader->values);
}
