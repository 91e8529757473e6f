/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/http/access.h"
#include "tests/unit/run.h"

static struct nb_networks networks_of(const char *list)
{
    struct nb_networks networks;
    struct nb_error error = {0};
    ck_assert_msg(nb_networks_read(&networks, list, "[tokens] trusted", &error) == 0, "%s",
                  error.text);
    return networks;
}

/* ---- addresses ------------------------------------------------------------------------------- */

union peer_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un file;
};

static union peer_address socket_address(const char *text)
{
    union peer_address a = {.v6 = {.sin6_family = AF_INET6}};
    if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) == 1)
        return a;
    a.v4.sin_family = AF_INET;
    ck_assert_int_eq(inet_pton(AF_INET, text, &a.v4.sin_addr), 1);
    return a;
}

static struct nb_address address_of(const char *text)
{
    union peer_address a = socket_address(text);
    return nb_address_of(&a.any);
}

START_TEST(addresses_are_printed_as_they_are_read)
{
    static const struct {
        const char *text, *printed;
    } table[] = {
        {"192.0.2.1", "192.0.2.1"},
        {"::ffff:192.0.2.1", "192.0.2.1"},
        {"2001:db8::1", "2001:db8::1"},
        {"::1", "::1"},
        {"2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct nb_address read = {NB_ADDRESS_UNKNOWN, {0}}, peer = address_of(table[i].text);
        char text[NB_ADDRESS_TEXT];
        ck_assert_uint_ne(nb_address_read(nb_string_of(table[i].text), &read), 0);
        ck_assert(read.kind == NB_ADDRESS_IP && memcmp(&read, &peer, sizeof read) == 0);
        nb_address_print(&read, text);
        ck_assert_str_eq(text, table[i].printed);
    }
    static const char *const none[] = {"",       "192.0.2", "192.0.2.1 ", "192.0.2.256",
                                       "::1%lo", "[::1]",   "localhost",  "1.2.3.4.5"};
    struct nb_address read;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_msg(nb_address_read(nb_string_of(none[i]), &read) == 0, "%s", none[i]);
    ck_assert_uint_eq(nb_address_read((struct nb_string){"127.0.0.1\0x", 11}, &read), 0);
}
END_TEST

START_TEST(addresses_that_are_no_ip_address)
{
    union peer_address file = {.file = {.sun_family = AF_UNIX}};
    struct nb_address unknown = nb_address_of(NULL), unix_socket = nb_address_of(&file.any);
    char text[NB_ADDRESS_TEXT];
    nb_address_print(&unknown, text);
    ck_assert_str_eq(text, "-");
    nb_address_print(&unix_socket, text);
    ck_assert_str_eq(text, "socket");
    ck_assert(!nb_address_is_local(&unknown) && nb_address_is_local(&unix_socket));
}
END_TEST

START_TEST(addresses_of_this_machine)
{
    static const char *const local[] = {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"};
    static const char *const others[] = {"128.0.0.1", "192.0.2.1", "::2", "7f00::1", "2001:db8::1"};
    for (size_t i = 0; i < sizeof local / sizeof local[0]; i++) {
        struct nb_address address = address_of(local[i]);
        ck_assert_msg(nb_address_is_local(&address), "%s", local[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct nb_address address = address_of(others[i]);
        ck_assert_msg(!nb_address_is_local(&address), "%s", others[i]);
    }
}
END_TEST

START_TEST(networks_have_their_addresses)
{
    static const char *const inside[] = {"127.0.0.1",      "192.0.2.0", "192.0.2.127",
                                         "2001:db8::1",    "0.0.0.1",   "::ffff:192.0.2.5",
                                         "2001:db8:7fff::"};
    static const char *const outside[] = {"127.0.0.2",   "192.0.2.128", "192.0.3.1",      "0.0.0.2",
                                          "2001:db9::1", "::1",         "2001:db8:8000::"};
    struct nb_networks networks = networks_of("127.0.0.1, 192.0.2.0/25 2001:db8::/33,0.0.0.1/32");
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        struct nb_address address = address_of(inside[i]);
        ck_assert_msg(nb_networks_have(&networks, &address), "%s", inside[i]);
    }
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        struct nb_address address = address_of(outside[i]);
        ck_assert_msg(!nb_networks_have(&networks, &address), "%s", outside[i]);
    }
    nb_networks_deinit(&networks);
    networks = networks_of("0.0.0.0/0, ::/0");
    struct nb_address unknown = nb_address_of(NULL);
    ck_assert(!nb_networks_have(&networks, &unknown));
    nb_networks_deinit(&networks);
    networks = networks_of("0.0.0.0/0");
    struct nb_address v4 = address_of("8.8.8.8"), v6 = address_of("2001:db8::1");
    ck_assert(nb_networks_have(&networks, &v4) && !nb_networks_have(&networks, &v6));
    nb_networks_deinit(&networks);
}
END_TEST

/* ---- proxies --------------------------------------------------------------------------------- */

/* 127.0.0.1 and 192.0.2.0/24 are trusted proxies. */
static const struct {
    const char *peer;
    const char *chain[3]; /* values of the fields X-Forwarded-For */
    const char *address;  /* address of the client */
    bool is_proven;
} chains[] = {
    /* The peer is not a trusted proxy. */
    {"198.51.100.7", {"203.0.113.5"}, "198.51.100.7", false},
    {"198.51.100.7", {"127.0.0.1"}, "198.51.100.7", false},
    {"198.51.100.7", {NULL}, "198.51.100.7", true},
    {"127.0.0.1", {NULL}, "127.0.0.1", true},
    /* The peer is a trusted proxy. */
    {"127.0.0.1", {"203.0.113.5"}, "203.0.113.5", true},
    {"127.0.0.1", {" 203.0.113.5 "}, "203.0.113.5", true},
    {"127.0.0.1", {"2001:db8::5"}, "2001:db8::5", true},
    {"127.0.0.1", {"[2001:db8::5]"}, "2001:db8::5", true},
    {"127.0.0.1", {"[2001:db8::5]:4711"}, "2001:db8::5", true},
    {"127.0.0.1", {"203.0.113.5:4711"}, "203.0.113.5", true},
    /* Entries to the left of the client's address were sent by the client. */
    {"127.0.0.1", {"10.0.0.1, 203.0.113.5"}, "203.0.113.5", true},
    {"127.0.0.1", {"127.0.0.1", "203.0.113.5"}, "203.0.113.5", true},
    {"127.0.0.1", {"127.0.0.1, 203.0.113.5", "192.0.2.9"}, "203.0.113.5", true},
    /* Several proxies. */
    {"127.0.0.1", {"10.0.0.1, 203.0.113.5, 192.0.2.8,192.0.2.9"}, "203.0.113.5", true},
    {"192.0.2.1", {"203.0.113.5", "192.0.2.8", "192.0.2.9"}, "203.0.113.5", true},
    {"127.0.0.1", {"192.0.2.8"}, "192.0.2.8", true},
    /* The client is unknown: the last known proxy counts for logs and limits. */
    {"127.0.0.1", {"unknown"}, "127.0.0.1", false},
    {"127.0.0.1", {""}, "127.0.0.1", false},
    {"127.0.0.1", {"203.0.113.5", ""}, "127.0.0.1", false},
    {"127.0.0.1", {"203.0.113.5,"}, "127.0.0.1", false},
    {"127.0.0.1", {"203.0.113.5, , 192.0.2.9"}, "192.0.2.9", false},
    {"127.0.0.1", {"unknown, 192.0.2.9"}, "192.0.2.9", false},
    {"127.0.0.1", {"203.0.113.5 192.0.2.9"}, "127.0.0.1", false},
    {"127.0.0.1", {"[203.0.113.5]"}, "127.0.0.1", false},
    {"127.0.0.1", {"[2001:db8::5"}, "127.0.0.1", false},
    {"127.0.0.1", {"::1::"}, "127.0.0.1", false},
    {"127.0.0.1", {"203.0.113.5\t, evil.example"}, "127.0.0.1", false},
};

static struct nb_peer peer_from(const char *peer, const struct nb_forwarding *forwarding)
{
    struct nb_networks proxies = networks_of("127.0.0.1, 192.0.2.0/24");
    union peer_address address = socket_address(peer);
    struct nb_sender sender = {
        .address = nb_address_of(&address.any), .socket = -1, .forwarding = *forwarding};
    struct nb_peer found = nb_peer_of(&sender, &proxies);
    nb_networks_deinit(&proxies);
    return found;
}

static void check_address(const struct nb_peer *peer, const char *want, int i)
{
    char text[NB_ADDRESS_TEXT];
    nb_address_print(&peer->address, text);
    ck_assert_msg(strcmp(text, want) == 0, "case %d: %s", i, text);
}

START_TEST(the_client_behind_each_chain)
{
    struct nb_forwarding forwarding = {.is_there = false};
    for (size_t i = 0; i < 3 && chains[_i].chain[i] != NULL; i++)
        nb_forwarding_add(&forwarding, nb_string_of(chains[_i].chain[i]));
    struct nb_peer peer = peer_from(chains[_i].peer, &forwarding);
    check_address(&peer, chains[_i].address, _i);
    ck_assert_msg(peer.is_proven == chains[_i].is_proven, "case %d", _i);
    ck_assert_msg(peer.is_forwarded == (chains[_i].chain[0] != NULL), "case %d", _i);
    ck_assert(!peer.has_user);
}
END_TEST

START_TEST(other_fields_of_proxies_prove_nothing)
{
    struct nb_forwarding via = {.is_there = true};
    struct nb_peer peer = peer_from("127.0.0.1", &via);
    ck_assert(peer.is_forwarded && !peer.is_proven);
    check_address(&peer, "127.0.0.1", 0);
}
END_TEST

START_TEST(more_fields_than_are_kept)
{
    struct nb_forwarding forwarding = {.is_there = false};
    for (int i = 0; i < 100; i++)
        nb_forwarding_add(&forwarding, nb_string_of("203.0.113.5"));
    nb_forwarding_add(&forwarding, nb_string_of("203.0.113.9"));
    struct nb_peer peer = peer_from("127.0.0.1", &forwarding);
    check_address(&peer, "203.0.113.9", 0);
    ck_assert(peer.is_proven);
    for (int i = 0; i < NB_FORWARDED_MOST; i++)
        nb_forwarding_add(&forwarding, nb_string_of("192.0.2.1"));
    peer = peer_from("127.0.0.1", &forwarding);
    ck_assert(!peer.is_proven); /* the address of the client was not kept */
}
END_TEST

/* ---- Unix sockets ---------------------------------------------------------------------------- */

START_TEST(the_user_behind_a_unix_socket)
{
    int pair[2];
    union peer_address file = {.file = {.sun_family = AF_UNIX}};
    struct nb_networks none = {NULL, 0};
    struct nb_sender sender = {.address = nb_address_of(&file.any)};
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    sender.socket = pair[0];
    struct nb_peer peer = nb_peer_of(&sender, &none);
    ck_assert(peer.has_user && peer.is_proven && peer.user == geteuid());
    sender.forwarding.is_there = true;
    peer = nb_peer_of(&sender, &none);
    ck_assert(peer.is_forwarded && !peer.is_proven);
    close(pair[0]);
    close(pair[1]);
    sender = (struct nb_sender){.address = nb_address_of(&file.any), .socket = -1};
    peer = nb_peer_of(&sender, &none);
    ck_assert(!peer.has_user);
}
END_TEST

START_TEST(users_that_are_listed)
{
    struct nb_users users;
    struct nb_error error = {0};
    ck_assert_int_eq(nb_users_read(&users, "root, 7 4294967294", "[x] users", &error), 0);
    ck_assert(nb_users_have(&users, 0) && nb_users_have(&users, 7));
    ck_assert(nb_users_have(&users, 4294967294) && !nb_users_have(&users, 8));
    nb_users_deinit(&users);
    ck_assert_int_eq(nb_users_read(&users, "7, *", "[x] users", &error), 0);
    ck_assert(nb_users_have(&users, 8));
    nb_users_deinit(&users);
    ck_assert_int_eq(nb_users_read(&users, "", "[x] users", &error), 0);
    ck_assert(!nb_users_have(&users, 0));
    nb_users_deinit(&users);
}
END_TEST

START_TEST(users_that_are_nobody)
{
    static const struct {
        const char *list, *error;
    } cases[] = {{"no-such, root", "[x] users: this machine has no user 'no-such'"},
                 {"root, 4294967295", "[x] users: this machine has no user '4294967295'"},
                 {"the-name-of-a-user-that-this-machine-cannot-have-as-it-is-so-long, 7",
                  "[x] users: this machine has no user "
                  "'the-name-of-a-user-that-this-machine-cannot-have-as-it-is-so-lon'"},
                 {"65534",
                  "[x] users: '65534' is what every user looks like whom the daemon's name space "
                  "does not know; name another user, or * for everybody"}};
    struct nb_users users;
    struct nb_error error;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(nb_users_read(&users, cases[i].list, "[x] users", &error), NB_INVALID);
        ck_assert_str_eq(error.text, cases[i].error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer");
    TCase *tests = tcase_create("peer");
    tcase_add_test(tests, addresses_are_printed_as_they_are_read);
    tcase_add_test(tests, addresses_that_are_no_ip_address);
    tcase_add_test(tests, addresses_of_this_machine);
    tcase_add_test(tests, networks_have_their_addresses);
    tcase_add_loop_test(tests, the_client_behind_each_chain, 0,
                        (int)(sizeof chains / sizeof chains[0]));
    tcase_add_test(tests, other_fields_of_proxies_prove_nothing);
    tcase_add_test(tests, more_fields_than_are_kept);
    tcase_add_test(tests, the_user_behind_a_unix_socket);
    tcase_add_test(tests, users_that_are_listed);
    tcase_add_test(tests, users_that_are_nobody);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
