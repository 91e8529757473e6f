/* SPDX-License-Identifier: Apache-2.0 */
#include "core/store/features.h"

#include <assert.h>
#include <stdlib.h>
#include <zstd.h>

#include "core/base/feature.h"
#include "core/base/pack.h"

enum { CODED_IDS = 0, CODED_TEXTS = 1, CODED_COMPRESSED = 2 };

enum {
    LEVEL = 1,  /* 27 us a mail; level 3 takes 32 us and saves 4 % */
    LEAST = 64, /* fewer bytes are not compressed */
    RAW_MOST =
        256 << 20 /* of one entry's texts, which the limits of the tokenizer keep far below */
};

struct nb_features_coder {
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    struct nb_buffer raw;
    uint64_t *ids;
    struct nb_string *texts;
    size_t room; /* of `ids` and `texts` */
};

struct nb_features_coder *nb_features_coder_new(void)
{
    return calloc(1, sizeof(struct nb_features_coder));
}

void nb_features_coder_free(struct nb_features_coder **coder)
{
    struct nb_features_coder *c = *coder;
    *coder = NULL;
    if (c == NULL)
        return;
    ZSTD_freeCCtx(c->compressor);
    ZSTD_freeDCtx(c->decompressor);
    nb_buffer_deinit(&c->raw);
    free(c->ids);
    free(c->texts);
    free(c);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_ids(const uint64_t *ids, size_t count, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, CODED_IDS);
    for (size_t i = 0; i < count; i++)
        nb_pack_u64(&w, ids[i]);
    return w.code;
}

static int collect_texts(struct nb_features_coder *c, const uint64_t *ids,
                         const struct nb_string *texts, size_t count)
{
    struct nb_packer w = {.out = &c->raw};
    c->raw.length = 0;
    for (size_t i = 0; i < count; i++) {
        nb_pack_u8(&w, (uint8_t)nb_feature_field(ids[i]));
        nb_pack_string(&w, texts[i]);
    }
    return w.code;
}

/* Appends the compressed texts; *worth says whether they are shorter than as they are. */
static int compress(struct nb_features_coder *c, struct nb_buffer *out, bool *worth)
{
    size_t bound = ZSTD_compressBound(c->raw.length);
    if (c->compressor == NULL)
        c->compressor = ZSTD_createCCtx();
    if (c->compressor == NULL || nb_buffer_reserve(out, bound) != 0)
        return NB_NO_MEMORY;
    size_t size = ZSTD_compressCCtx(c->compressor, out->bytes + out->length, bound, c->raw.bytes,
                                    c->raw.length, LEVEL);
    if (ZSTD_isError(size))
        return NB_NO_MEMORY;
    *worth = size < c->raw.length;
    if (*worth)
        out->length += size;
    return 0;
}

int nb_features_encode(struct nb_features_coder *coder, const uint64_t *ids,
                       const struct nb_string *texts, size_t count, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    size_t start = out->length;
    bool worth = false;
    assert(count > 0);
    if (texts == NULL)
        return write_ids(ids, count, out);
    if (collect_texts(coder, ids, texts, count) != 0)
        return NB_NO_MEMORY;
    if (coder->raw.length >= LEAST) {
        nb_pack_u8(&w, CODED_COMPRESSED);
        nb_pack_varint(&w, coder->raw.length);
        if (w.code != 0 || compress(coder, out, &worth) != 0)
            return NB_NO_MEMORY;
    }
    if (worth)
        return 0;
    out->length = start;
    nb_pack_u8(&w, CODED_TEXTS);
    nb_pack_bytes(&w, coder->raw.bytes, coder->raw.length);
    return w.code;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int corrupt(struct nb_error *error)
{
    return nb_error_set(error, NB_CORRUPT,
                        "the store is damaged: the new features of an entry do not read back");
}

static int make_room(struct nb_features_coder *c, size_t count)
{
    if (count <= c->room)
        return 0;
    free(c->ids);
    free(c->texts);
    c->ids = malloc(count * sizeof *c->ids);
    c->texts = malloc(count * sizeof *c->texts);
    c->room = c->ids == NULL || c->texts == NULL ? 0 : count;
    return c->room == 0 ? NB_NO_MEMORY : 0;
}

/* The texts as they are: `r` reads them from where they lie afterwards. */
static int decompress(struct nb_features_coder *c, struct nb_unpacker *r, struct nb_error *error)
{
    size_t length = (size_t)nb_unpack_bounded(r, RAW_MOST);
    c->raw.length = 0;
    if (c->decompressor == NULL)
        c->decompressor = ZSTD_createDCtx();
    if (c->decompressor == NULL || nb_buffer_reserve(&c->raw, length + 1) != 0)
        return nb_error_no_memory(error);
    size_t size =
        ZSTD_decompressDCtx(c->decompressor, c->raw.bytes, length, r->at, (size_t)(r->end - r->at));
    if (ZSTD_isError(size) || size != length)
        return corrupt(error);
    *r = nb_unpacker_of(c->raw.bytes, length);
    return 0;
}

int nb_features_decode(struct nb_features_coder *coder, struct nb_string stored, size_t count,
                       const struct nb_key *key, const uint64_t **ids,
                       const struct nb_string **texts, struct nb_error *error)
{
    struct nb_unpacker r = nb_unpacker_of(stored.bytes, stored.length);
    unsigned coding = nb_unpack_u8(&r);
    /* Every feature takes two bytes at least, so that a damaged count asks for no memory. */
    int rc = coding > CODED_COMPRESSED ? corrupt(error) : 0;
    if (rc == 0 && coding == CODED_COMPRESSED)
        rc = decompress(coder, &r, error);
    if (rc == 0 && count > (size_t)(r.end - r.at))
        rc = corrupt(error);
    if (rc == 0 && make_room(coder, count) != 0)
        rc = nb_error_no_memory(error);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < count; i++) {
        if (coding == CODED_IDS) {
            coder->ids[i] = nb_unpack_u64(&r);
            continue;
        }
        unsigned field = nb_unpack_u8(&r);
        coder->texts[i] = nb_unpack_string(&r);
        if (field >= NB_FIELDS)
            return corrupt(error);
        coder->ids[i] = nb_feature_id(
            (enum nb_field)field, nb_key_hash(key, coder->texts[i].bytes, coder->texts[i].length));
    }
    *ids = coder->ids;
    *texts = coding == CODED_IDS ? NULL : coder->texts;
    return nb_unpacker_done(&r) ? 0 : corrupt(error);
}
