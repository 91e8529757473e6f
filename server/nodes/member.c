/* SPDX-License-Identifier: Apache-2.0
 *
 * Written form: a byte for the format, 1; varints: place in the stream, version of the tokenizer,
 * version of applying, kinds of operations. An older program ends here. Strings: the URL, the
 * program's version; what it was given: a varint, the place, and its chain, 8 bytes. With several
 * streams the first is meant; then a varint says how many there are besides, and of each there are
 * the place, and what it was given. A node that follows a part of the models tells both in any
 * case, and then its patterns, a string. So does one that knows the digest of its store, with
 * patterns that may be empty, and then of each stream the place of the digest, a varint, and half
 * of it, 8 bytes. What follows is passed over.
 */
#include "server/nodes/member.h"

#include <string.h>

#include "core/base/pack.h"

enum { FORMAT = 1 };
static const uint64_t ROUND = UINT64_C(5000000000), ROUND_OF_EACH = 40000000;

void nb_member_name(char name[NB_MEMBER_NAME_MOST + 1], struct nb_string text)
{
    size_t length = text.length < NB_MEMBER_NAME_MOST ? text.length : NB_MEMBER_NAME_MOST;
    for (size_t i = 0; i < length; i++) {
        char c = text.bytes[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name[i] = c == '_' || good ? c : '-';
    }
    name[length] = '\0';
}

static void pack_chained(struct nb_packer *w, const struct nb_chained *at)
{
    nb_pack_varint(w, at->position);
    nb_pack_u64(w, at->chain);
}

static void unpack_chained(struct nb_unpacker *u, struct nb_chained *at)
{
    at->position = nb_unpack_varint(u);
    at->chain = nb_unpack_u64(u);
}

static bool has_digests(const struct nb_member *m)
{
    for (unsigned i = 0; i < m->streams; i++)
        if (m->places[i].digested.position != 0)
            return true;
    return false;
}

int nb_member_write(const struct nb_member *m, struct nb_buffer *out)
{
    struct nb_packer w = {.out = out};
    nb_pack_u8(&w, FORMAT);
    nb_pack_varint(&w, m->places[0].applied);
    nb_pack_varint(&w, m->tokenizer);
    nb_pack_varint(&w, m->apply);
    nb_pack_varint(&w, m->kinds);
    nb_pack_string(&w, nb_string_of(m->url));
    nb_pack_string(&w, nb_string_of(m->version));
    pack_chained(&w, &m->places[0].told);
    bool compares = has_digests(m), is_of_all = m->follow[0] == '\0' && !compares;
    if (m->streams > 1 || !is_of_all)
        nb_pack_varint(&w, m->streams - 1);
    for (unsigned i = 1; i < m->streams; i++) {
        nb_pack_varint(&w, m->places[i].applied);
        pack_chained(&w, &m->places[i].told);
    }
    if (!is_of_all)
        nb_pack_string(&w, nb_string_of(m->follow));
    for (unsigned i = 0; compares && i < m->streams; i++)
        pack_chained(&w, &m->places[i].digested);
    return w.code;
}

/* What others have written is shown to people: printable ASCII that fits, or nothing. */
static void read_text(struct nb_unpacker *u, char *to, size_t most)
{
    struct nb_string text = nb_unpack_string(u);
    bool good = !u->failed && text.length <= most;
    for (size_t i = 0; good && i < text.length; i++)
        good = text.bytes[i] > ' ' && text.bytes[i] <= '~';
    to[0] = '\0';
    if (!good || text.length == 0)
        return;
    memcpy(to, text.bytes, text.length);
    to[text.length] = '\0';
}

/* They are not there, or something else is: then there are none. */
static void read_digests(struct nb_unpacker *u, struct nb_member *m)
{
    struct nb_unpacker here = *u;
    for (unsigned i = 0; i < m->streams; i++)
        unpack_chained(&here, &m->places[i].digested);
    for (unsigned i = 0; here.failed && i < m->streams; i++)
        m->places[i].digested = (struct nb_chained){.position = 0};
}

static void read_more(struct nb_unpacker *u, struct nb_member *m)
{
    read_text(u, m->url, NB_MEMBER_URL_MOST);
    if (strncmp(m->url, "http://", 7) != 0 && strncmp(m->url, "https://", 8) != 0)
        m->url[0] = '\0';
    read_text(u, m->version, NB_MEMBER_VERSION_MOST);
    unpack_chained(u, &m->places[0].told);
    if (u->failed || nb_unpacker_done(u))
        return;
    m->streams += (unsigned)nb_unpack_bounded(u, NB_STREAMS_MOST - 1);
    for (unsigned i = 1; i < m->streams; i++) {
        m->places[i].applied = nb_unpack_varint(u);
        unpack_chained(u, &m->places[i].told);
    }
    if (u->failed || nb_unpacker_done(u))
        return;
    read_text(u, m->follow, NB_FOLLOW_MOST);
    read_digests(u, m);
}

bool nb_member_read(struct nb_member *m, struct nb_string written)
{
    struct nb_unpacker u = nb_unpacker_of(written.bytes, written.length);
    uint8_t format = nb_unpack_u8(&u);
    m->places[0].applied = nb_unpack_varint(&u);
    m->tokenizer = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    m->apply = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    m->kinds = (uint32_t)nb_unpack_bounded(&u, UINT32_MAX);
    m->url[0] = m->version[0] = m->follow[0] = '\0';
    m->places[0].told = (struct nb_chained){.position = 0};
    for (unsigned i = 0; i < NB_STREAMS_MOST; i++)
        m->places[i].digested = (struct nb_chained){.position = 0};
    m->streams = 1;
    if (!u.failed && !nb_unpacker_done(&u))
        read_more(&u, m);
    return !u.failed && format == FORMAT;
}

int nb_member_same(struct nb_chained own, struct nb_chained its, int before)
{
    if (own.position == 0 || its.position == 0)
        return -1;
    return own.position != its.position ? before : own.chain == its.chain;
}

int nb_member_same_of_all(const int8_t *same, unsigned streams)
{
    int all = -1;
    for (unsigned i = 0; i < streams; i++)
        all = all == 0 || same[i] < 0 ? all : same[i];
    return all;
}

uint64_t nb_members_round(size_t count)
{
    uint64_t all = count * ROUND_OF_EACH;
    return all > ROUND ? all : ROUND;
}

uint64_t nb_member_applied(const struct nb_member *m)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < m->streams; i++)
        sum += m->places[i].applied;
    return sum;
}

static bool is_within(const struct nb_member *m, int64_t now, int64_t age)
{
    return now - m->heard <= age;
}

uint64_t nb_members_cut(const struct nb_member *members, size_t count, const char *self,
                        const struct nb_member_ages *ages, unsigned stream)
{
    uint64_t least = UINT64_MAX;
    bool has_self = false, has_other = false;
    for (size_t i = 0; i < count; i++) {
        const struct nb_member *m = &members[i];
        bool is_self = strcmp(m->name, self) == 0;
        if (!is_self && !is_within(m, ages->now, ages->known))
            continue;
        has_self |= is_self;
        has_other |= !is_self && is_within(m, ages->now, ages->alive);
        uint64_t applied = stream < m->streams ? m->places[stream].applied : 0;
        least = applied < least ? applied : least;
    }
    return has_self && has_other && least > 0 ? least - 1 : 0;
}

const struct nb_member *nb_members_oldest(const struct nb_member *members, size_t count,
                                          const struct nb_member_ages *ages)
{
    const struct nb_member *oldest = NULL;
    for (size_t i = 0; i < count; i++)
        if (is_within(&members[i], ages->now, ages->known) &&
            (oldest == NULL || members[i].kinds < oldest->kinds))
            oldest = &members[i];
    return oldest;
}
