/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ledger/quarantine_entries.h"

enum { MOVED_MOST = 128 << 20 }; /* bytes that one transaction moves */
enum { UNTRAIN = 1, TRUNCATED = 2, FLAGS = 3 };

int nb_quarantined_add(struct nb_buffer *features, const struct nb_quarantined_feature *feature)
{
    struct nb_packer p = {.out = features};
    nb_pack_u64(&p, feature->id);
    nb_pack_varint(&p, feature->count);
    nb_pack_string(&p, feature->text);
    return p.code;
}

int nb_quarantined_write(const struct nb_quarantined *q, struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    nb_pack_u8(&p, (uint8_t)((q->untrain ? UNTRAIN : 0) | (q->truncated ? TRUNCATED : 0)));
    nb_pack_u64(&p, (uint64_t)q->time);
    nb_pack_string(&p, q->source);
    nb_pack_string(&p, q->label);
    nb_pack_varint(&p, q->fields);
    nb_pack_varint(&p, q->positions);
    nb_pack_bytes(&p, q->features.bytes, q->features.length);
    return p.code;
}

struct nb_quarantined_feature nb_quarantined_next(struct nb_unpacker *u)
{
    struct nb_quarantined_feature feature = {.id = nb_unpack_u64(u)};
    feature.count = (uint32_t)nb_unpack_bounded(u, UINT32_MAX);
    feature.text = nb_unpack_string(u);
    return feature;
}

int nb_quarantined_read(struct nb_quarantined *q, struct nb_string stored, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t flags = nb_unpack_u8(&u);
    *q = (struct nb_quarantined){.untrain = (flags & UNTRAIN) != 0,
                                 .truncated = (flags & TRUNCATED) != 0};
    q->time = (int64_t)nb_unpack_u64(&u);
    q->source = nb_unpack_string(&u);
    q->label = nb_unpack_string(&u);
    q->fields = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    q->positions = nb_unpack_varint(&u);
    q->features = (struct nb_string){(const char *)u.at, (size_t)(u.end - u.at)};
    bool good = !u.failed && (flags & ~FLAGS) == 0;
    for (; good && u.at < u.end && !u.failed; q->feature_count++)
        good = nb_quarantined_next(&u).count > 0;
    if (good && !u.failed && (!q->untrain || q->feature_count == 0))
        return 0;
    return nb_error_set(error, NB_CORRUPT, "a change in the quarantine does not read back");
}

/* ---- the table ------------------------------------------------------------------------------- */

int nb_quarantine_sums(const struct nb_view *view, uint32_t model, struct nb_quarantine_sums *sums,
                       struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_string value;
    *sums = (struct nb_quarantine_sums){.documents = 0};
    int rc = nb_store_get(view, NB_TABLE_WAITING, nb_store_key_string(&key), &value, error);
    if (rc != 0)
        return rc == NB_NOT_FOUND ? 0 : rc;
    struct nb_unpacker u = nb_unpacker_of(value.bytes, value.length);
    sums->documents = nb_unpack_varint(&u);
    sums->bytes = nb_unpack_varint(&u);
    if (nb_unpacker_done(&u) && sums->documents > 0)
        return 0;
    return nb_error_set(error, NB_CORRUPT, "the sums of a quarantine do not read back");
}

static int put_sums(const struct nb_view *view, uint32_t model,
                    const struct nb_quarantine_sums *sums, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    struct nb_buffer stored = {0};
    struct nb_packer p = {.out = &stored};
    if (sums->documents == 0)
        return nb_store_delete(view, NB_TABLE_WAITING, nb_store_key_string(&key), error);
    nb_pack_varint(&p, sums->documents);
    nb_pack_varint(&p, sums->bytes);
    int rc = p.code != 0 ? nb_error_no_memory(error)
                         : nb_store_put(view, NB_TABLE_WAITING, nb_store_key_string(&key),
                                        (struct nb_string){stored.bytes, stored.length}, error);
    nb_buffer_deinit(&stored);
    return rc;
}

/* Subtracts from the sums, which may be too small if changes were lost, but not below 0. */
static void subtract(struct nb_quarantine_sums *sums, uint64_t documents, uint64_t bytes)
{
    sums->documents -= documents < sums->documents ? documents : sums->documents;
    sums->bytes -= bytes < sums->bytes ? bytes : sums->bytes;
}

int nb_quarantine_sums_without(const struct nb_view *view, uint32_t model, struct nb_string id,
                               struct nb_quarantine_sums *sums, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_quarantine_sums(view, model, sums, error);
    if (rc != 0)
        return rc;
    rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc == 0 || rc == NB_CORRUPT)
        subtract(sums, 1, rc == 0 ? value.length : 0);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

/* Subtracts removed changes from the sums. */
static int count_removed(const struct nb_view *view, uint32_t model, uint64_t documents,
                         uint64_t bytes, struct nb_error *error)
{
    struct nb_quarantine_sums sums;
    int rc = nb_quarantine_sums(view, model, &sums, error);
    if (rc == NB_CORRUPT || (rc == 0 && sums.documents == 0))
        return 0;
    if (rc != 0)
        return rc;
    subtract(&sums, documents, bytes);
    return put_sums(view, model, &sums, error);
}

int nb_quarantine_remove(const struct nb_view *view, uint32_t model, struct nb_string id,
                         struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    if (rc != 0 && rc != NB_CORRUPT)
        return rc == NB_NOT_FOUND ? 0 : rc;
    uint64_t bytes = rc == 0 ? value.length : 0;
    rc = nb_store_delete(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), error);
    return rc != 0 ? rc : count_removed(view, model, 1, bytes, error);
}

int nb_quarantine_put(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_quarantine_sums sums;
    int rc = nb_quarantine_remove(view, model, id, error);
    if (rc == 0)
        rc = nb_quarantine_sums(view, model, &sums, error);
    if (rc != 0)
        return rc;
    sums.documents++;
    sums.bytes += stored.length;
    rc = put_sums(view, model, &sums, error);
    return rc != 0
               ? rc
               : nb_store_put(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), stored, error);
}

int nb_quarantine_clear(const struct nb_view *view, uint32_t model, size_t most, size_t *deleted,
                        struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(model);
    int rc =
        nb_store_clear(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), most, deleted, error);
    if (rc == 0 && *deleted == most)
        return count_removed(view, model, *deleted, 0, error);
    return rc != 0 ? rc : nb_store_delete(view, NB_TABLE_WAITING, nb_store_key_string(&key), error);
}

/* Counts a change that is in the table, independently of the stored sums. */
static int look(void *user, struct nb_string key, struct nb_string value, struct nb_error *error)
{
    struct nb_quarantine_sums *found = user;
    struct nb_quarantined quarantined;
    (void)key;
    found->documents++;
    found->bytes += value.length;
    return nb_quarantined_read(&quarantined, value, error);
}

struct first {
    struct nb_buffer id, stored;
};

static int take_first(void *user, struct nb_string key, struct nb_string value,
                      struct nb_error *error)
{
    struct first *first = user;
    struct nb_string id = nb_string_from(key, sizeof(uint32_t));
    first->id.length = first->stored.length = 0;
    if (nb_buffer_append(&first->id, id.bytes, id.length) != 0 ||
        nb_buffer_append(&first->stored, value.bytes, value.length) != 0)
        return nb_error_no_memory(error);
    return 1;
}

static int move_all(const struct nb_view *view, uint32_t from, uint32_t to, struct nb_error *error)
{
    struct nb_store_key all = nb_store_key_model(from);
    struct nb_string prefix = nb_store_key_string(&all);
    struct first f = {.id = {NULL, 0, 0}};
    int rc;
    do {
        rc = nb_store_scan(view, NB_TABLE_QUARANTINE, prefix, prefix.length, take_first, &f, error);
        if (rc <= 0)
            break;
        struct nb_store_key old =
            nb_store_key_id(from, (struct nb_string){f.id.bytes, f.id.length});
        struct nb_store_key new = nb_store_key_id(to, (struct nb_string){f.id.bytes, f.id.length});
        rc = nb_store_put(view, NB_TABLE_QUARANTINE, nb_store_key_string(&new),
                          (struct nb_string){f.stored.bytes, f.stored.length}, error);
        if (rc == 0)
            rc = nb_store_delete(view, NB_TABLE_QUARANTINE, nb_store_key_string(&old), error);
    } while (rc == 0);
    nb_buffer_deinit(&f.id);
    nb_buffer_deinit(&f.stored);
    return rc;
}

int nb_quarantine_move(const struct nb_view *view, uint32_t from, uint32_t to, uint64_t *left,
                       struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_model(from);
    struct nb_string prefix = nb_store_key_string(&key);
    struct nb_quarantine_sums found = {.documents = 0};
    struct nb_quarantine_sums sums;
    *left = 0;
    struct nb_error why;
    int rc = nb_store_scan(view, NB_TABLE_QUARANTINE, prefix, prefix.length, look, &found, &why);
    if (rc == NB_CORRUPT || found.bytes > MOVED_MOST) {
        *left = nb_quarantine_sums(view, from, &sums, NULL) == 0 ? sums.documents : found.documents;
        return 0;
    }
    if (rc != 0)
        return nb_error_set(error, rc, "%s", why.text);
    rc = put_sums(view, to, &found, error);
    if (rc == 0)
        rc = nb_store_delete(view, NB_TABLE_WAITING, prefix, error);
    return rc != 0 ? rc : move_all(view, from, to, error);
}

int nb_quarantine_has(const struct nb_view *view, uint32_t model, struct nb_string id,
                      struct nb_string stored, bool *has, struct nb_error *error)
{
    struct nb_store_key key = nb_store_key_id(model, id);
    struct nb_string value;
    int rc = nb_store_get(view, NB_TABLE_QUARANTINE, nb_store_key_string(&key), &value, error);
    *has = rc == 0 && nb_string_same(value, stored);
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}
