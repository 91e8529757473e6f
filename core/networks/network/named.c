/* SPDX-License-Identifier: Apache-2.0 */
#include "core/networks/network/named.h"

#include <assert.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/names.h"
#include "core/model/model_transaction.h"
#include "core/model/relayed.h"

enum { VERSION = 1, TRANSACTION_BYTES = 16 << 20, PAGE_BYTES = 8192 };

static const char PREFIX[] = "named/";
static const char *const KINDS[] = {"network"};

const char *nb_named_kind(struct nb_string kind)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (nb_string_equals(kind, KINDS[i]))
            return KINDS[i];
    return NULL;
}

void nb_named_deinit(struct nb_named *named)
{
    nb_buffer_deinit(&named->source);
    nb_buffer_deinit(&named->value);
}

/* ---- keys and stored form -------------------------------------------------------------------- */

static void add(struct nb_store_key *key, const char *bytes, size_t length)
{
    assert(key->length + length <= sizeof key->bytes);
    memcpy(key->bytes + key->length, bytes, length);
    key->length += length;
}

static struct nb_store_key key_of_kind(const char *kind)
{
    struct nb_store_key key = {.length = 0};
    add(&key, PREFIX, sizeof PREFIX - 1);
    add(&key, kind, strlen(kind));
    add(&key, "/", 1);
    return key;
}

static struct nb_store_key key_of(const struct nb_named_key *name)
{
    struct nb_store_key key = key_of_kind(name->kind);
    add(&key, name->name.bytes, name->name.length);
    return key;
}

static int write_stored(int64_t time, struct nb_string value, struct nb_string source,
                        struct nb_buffer *out)
{
    struct nb_packer p = {.out = out};
    out->length = 0;
    nb_pack_u8(&p, VERSION);
    nb_pack_u64(&p, (uint64_t)time);
    nb_pack_string(&p, source);
    nb_pack_bytes(&p, value.bytes, value.length);
    return p.code;
}

static int damaged(const struct nb_named_key *name, struct nb_error *error)
{
    return nb_error_set(error, NB_DAMAGED,
                        "the %s '%.*s' is damaged: its stored bytes do not read back; put it "
                        "again, or delete it",
                        name->kind, (int)name->name.length, name->name.bytes);
}

static int not_found(const struct nb_named_key *name, struct nb_error *error)
{
    int rc = nb_error_set(error, NB_NOT_FOUND, "there is no %s '%.*s'", name->kind,
                          (int)name->name.length, name->name.bytes);
    return nb_error_about(error, rc, "network_not_found", NULL);
}

static int read_stored(const struct nb_named_key *name, struct nb_string stored,
                       struct nb_named *named, struct nb_error *error)
{
    struct nb_unpacker u = nb_unpacker_of(stored.bytes, stored.length);
    uint8_t version = nb_unpack_u8(&u);
    *named = (struct nb_named){.time = (int64_t)nb_unpack_u64(&u)};
    struct nb_string source = nb_unpack_string(&u);
    if (!u.failed && version > VERSION)
        return nb_error_set(error, NB_VERSION, "the %s '%.*s' was stored by a newer bayesd",
                            name->kind, (int)name->name.length, name->name.bytes);
    if (u.failed || version == 0)
        return damaged(name, error);
    if (nb_buffer_append(&named->source, source.bytes, source.length) == 0 &&
        nb_buffer_append(&named->value, u.at, (size_t)(u.end - u.at)) == 0)
        return 0;
    nb_named_deinit(named);
    return nb_error_no_memory(error);
}

/* ---- changes, on the writer's thread --------------------------------------------------------- */

struct change {
    struct nb_store_key key;
    bool is_delete;
    struct nb_string value, source; /* value and source of a put */
    struct nb_buffer stored;        /* owned: the stored form of a put */
    bool only_new;
    bool was_there;
    const struct nb_named_key *name;
};

static int write_change(struct nb_engine *engine, struct nb_view *view, void *argument,
                        struct nb_error *error)
{
    struct change *c = argument;
    struct nb_string key = nb_store_key_string(&c->key);
    if (c->is_delete)
        return nb_store_delete(view, NB_TABLE_META, key, error);
    if (write_stored(nb_stream_states_time(engine), c->value, c->source, &c->stored) != 0)
        return nb_error_no_memory(error);
    return nb_store_put(view, NB_TABLE_META, key, nb_buffer_string(&c->stored), error);
}

/* Only the writer writes: a value that exists now also exists in the transaction. */
static int look(struct nb_engine *engine, struct change *c, struct nb_error *error)
{
    struct nb_view view;
    struct nb_string value;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_get(&view, NB_TABLE_META, nb_store_key_string(&c->key), &value, error);
    nb_store_snapshot_end(&view);
    c->was_there = rc != NB_NOT_FOUND;
    return rc == NB_NOT_FOUND || rc == NB_CORRUPT ? 0 : rc;
}

static int change_task(struct nb_engine *engine, void *argument, struct nb_error *error)
{
    struct change *c = argument;
    int rc = look(engine, c, error);
    if (rc == 0 && c->is_delete && !c->was_there)
        return not_found(c->name, error);
    if (rc == 0 && c->only_new && c->was_there)
        return nb_error_about(error,
                              nb_error_set(error, NB_CONFLICT, "the %s '%.*s' exists",
                                           c->name->kind, (int)c->name->name.length,
                                           c->name->name.bytes),
                              "already_exists", NULL);
    return rc != 0 ? rc
                   : nb_transaction(engine, c->value.length + PAGE_BYTES, write_change, c, error);
}

int nb_named_put(struct nb_engine *engine, const struct nb_named_key *name, struct nb_string value,
                 bool only_new, struct nb_string source, bool *created, struct nb_error *error)
{
    struct change change = {
        .key = key_of(name), .value = value, .source = source, .only_new = only_new, .name = name};
    int rc = nb_check_source(source, error);
    if (rc == 0 && nb_relay_is_wanted(engine)) {
        struct nb_relayed_change relayed_change = {.kind = NB_RELAYED_CHANGE_PUT_NAMED,
                                                   .model = name->name,
                                                   .source = source,
                                                   .from = nb_string_of(name->kind),
                                                   .settings = value,
                                                   .only_new = only_new};
        struct nb_relayed_change_done done;
        rc = nb_relay_ask(engine, &relayed_change, &done, error);
        if (rc == 0)
            *created = done.created;
        return rc;
    }
    if (rc == 0)
        rc = nb_writer_run(engine, change_task, &change, error);
    nb_buffer_deinit(&change.stored);
    if (rc == 0)
        *created = !change.was_there;
    return rc;
}

int nb_named_delete(struct nb_engine *engine, const struct nb_named_key *name,
                    struct nb_error *error)
{
    struct change change = {.key = key_of(name), .is_delete = true, .name = name};
    if (nb_relay_is_wanted(engine)) {
        struct nb_relayed_change relayed_change = {.kind = NB_RELAYED_CHANGE_DELETE_NAMED,
                                                   .model = name->name,
                                                   .from = nb_string_of(name->kind)};
        return nb_relay_ask(engine, &relayed_change, NULL, error);
    }
    return nb_writer_run(engine, change_task, &change, error);
}

/* ---- reading --------------------------------------------------------------------------------- */

int nb_named_get(struct nb_engine *engine, const struct nb_named_key *name, struct nb_named *named,
                 struct nb_error *error)
{
    struct nb_store_key key = key_of(name);
    struct nb_view view;
    struct nb_string value;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_get(&view, NB_TABLE_META, nb_store_key_string(&key), &value, error);
    if (rc == 0)
        rc = read_stored(name, value, named, error);
    else if (rc == NB_NOT_FOUND)
        rc = not_found(name, error);
    else if (rc == NB_CORRUPT)
        rc = damaged(name, error);
    nb_store_snapshot_end(&view);
    return rc;
}

struct listing {
    struct nb_store_key prefix;
    struct nb_string after;
    nb_named_visit *visit;
    void *user;
};

static bool begins(struct nb_string key, const void *prefix, size_t length)
{
    return key.length > length && memcmp(key.bytes, prefix, length) == 0;
}

/* The key of a damaged value is used as it is if it can be a name. */
static int list_key(void *user, enum nb_table table, struct nb_string key, struct nb_string value,
                    bool sound, struct nb_error *error)
{
    const struct listing *l = user;
    (void)table;
    (void)value;
    (void)error;
    if (!begins(key, l->prefix.bytes, l->prefix.length))
        return 0;
    struct nb_string name = nb_string_from(key, l->prefix.length);
    if (nb_check_model_name(name, NULL) != 0 ||
        (l->after.length > 0 && nb_string_compare(name, l->after) <= 0))
        return 0;
    return l->visit(l->user, name, !sound);
}

int nb_named_list(struct nb_engine *engine, const char *kind, struct nb_string after,
                  nb_named_visit *visit, void *user, struct nb_error *error)
{
    struct listing l = {key_of_kind(kind), after, visit, user};
    struct nb_view view;
    int rc = nb_store_snapshot(engine->store, &view, error);
    if (rc != 0)
        return rc;
    rc = nb_store_inspect(&view, NB_TABLE_META, list_key, &l, error);
    nb_store_snapshot_end(&view);
    return rc;
}

int nb_named_scan(const struct nb_view *view, nb_store_visit *visit, void *user,
                  struct nb_error *error)
{
    const struct nb_string prefix = nb_string_of(PREFIX);
    return nb_store_scan(view, NB_TABLE_META, prefix, prefix.length, visit, user, error);
}

/* ---- a rebuild ------------------------------------------------------------------------------- */

struct copying {
    struct nb_store *to;
    struct nb_view view; /* the open transaction, or ended */
    uint64_t bytes;      /* bytes written by the transaction */
    nb_named_lost *lost;
    void *user;
};

/* Called for an entry with a wrong checksum: the value is damaged, or the key cannot be trusted. */
static void tell_lost(const struct copying *c, struct nb_string key)
{
    struct nb_string rest = nb_string_of("");
    if (begins(key, PREFIX, sizeof PREFIX - 1))
        rest = nb_string_from(key, sizeof PREFIX - 1);
    const char *slash = rest.length > 0 ? memchr(rest.bytes, '/', rest.length) : NULL;
    size_t kind = slash != NULL ? (size_t)(slash - rest.bytes) : 0;
    if (slash == NULL || nb_check_model_name((struct nb_string){rest.bytes, kind}, NULL) != 0 ||
        nb_check_model_name(nb_string_from(rest, kind + 1), NULL) != 0)
        rest.length = 0;
    c->lost(c->user, rest);
}

static int copy(void *user, enum nb_table table, struct nb_string key, struct nb_string value,
                bool sound, struct nb_error *error)
{
    struct copying *c = user;
    int rc = 0;
    if (!sound) {
        tell_lost(c, key);
        return 0;
    }
    if (!begins(key, PREFIX, sizeof PREFIX - 1))
        return 0;
    if (c->view.transaction != NULL && c->bytes + value.length > TRANSACTION_BYTES)
        rc = nb_store_commit(&c->view, error);
    if (rc == 0 && c->view.transaction == NULL) {
        rc = nb_store_begin(c->to, TRANSACTION_BYTES + value.length, &c->view, error);
        c->bytes = 0;
    }
    c->bytes += value.length;
    return rc != 0 ? rc : nb_store_put(&c->view, table, key, value, error);
}

int nb_named_copy(const struct nb_view *from, struct nb_store *to, nb_named_lost *lost, void *user,
                  struct nb_error *error)
{
    struct copying c = {.to = to, .lost = lost, .user = user};
    struct nb_error why;
    int rc = nb_store_inspect(from, NB_TABLE_META, copy, &c, &why);
    if (rc == NB_CORRUPT) { /* its pages are damaged */
        lost(user, nb_string_of(""));
        rc = 0;
    }
    if (rc == 0 && c.view.transaction != NULL)
        rc = nb_store_commit(&c.view, &why);
    nb_store_abort(&c.view);
    return rc != 0 ? nb_error_set(error, rc, "%s", why.text) : 0;
}
