/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "server/http/access.h"
#include "tests/unit/run.h"

static char train[] = "train-token-0123456789 ,train-token-2-123456789";
static char admin[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad,"
                      "admin-token-0123456789";
static char classify[] = "classify-token-0123456789,admin-token-0123456789";
static char trusted[] = "127.0.0.1, 192.0.2.0/25 2001:db8::/33,0.0.0.1/32";
static char nothing[] = "", no_rate[] = "0";
static char nowhere[] = "/no/such/folder";

static struct nb_string text(const char *s)
{
    return (struct nb_string){s, strlen(s)};
}

static struct nb_config config_of(char *a, char *b, char *c, char *d)
{
    return (struct nb_config){.tokens_classify = a,
                              .tokens_train = b,
                              .tokens_admin = c,
                              .tokens_trusted = d,
                              .tokens_file = nothing,
                              .data = nowhere,
                              .proxies = nothing,
                              .socket_users = nothing,
                              .rate_classify = no_rate,
                              .rate_train = no_rate,
                              .rate_failures = no_rate,
                              .tls_client_ca = nothing};
}

static struct nb_access *access_for(const struct nb_config *config)
{
    struct nb_access *access = NULL;
    struct nb_error error = {0};
    ck_assert_msg(nb_access_new(config, &access, &error) == 0, "%s", error.text);
    return access;
}

static struct nb_access *access_of(char *networks)
{
    struct nb_config config = config_of(classify, train, admin, networks);
    struct nb_access *access = access_for(&config);
    ck_assert(nb_access_asks(access));
    return access;
}

/* Returns the grant for a request whose address is not proven. */
static struct nb_grant grant_of(const struct nb_access *access, struct nb_string token)
{
    struct nb_peer nobody = {.is_proven = false};
    return nb_access_grant(access, &nobody, token, false);
}

static enum nb_role role_of(const struct nb_access *access, struct nb_string token)
{
    return grant_of(access, token).role;
}

START_TEST(without_tokens_nobody_is_asked)
{
    static const struct {
        bool is_insecure, is_forwarded;
        enum nb_role role;
    } table[] = {{false, false, NB_ROLE_ADMIN},
                 {true, false, NB_ROLE_ADMIN},
                 {true, true, NB_ROLE_ADMIN},
                 {false, true, NB_ROLE_NONE}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct nb_config config = config_of(nothing, nothing, nothing, trusted);
        config.insecure = table[i].is_insecure;
        struct nb_access *access = access_for(&config);
        struct nb_peer peer = {.is_forwarded = table[i].is_forwarded};
        struct nb_grant grant = nb_access_grant(access, &peer, text("any"), false);
        ck_assert(!nb_access_asks(access));
        ck_assert_msg(grant.role == table[i].role && grant.is_by_address, "case %zu", i);
        ck_assert_str_eq(grant.name, "");
        nb_access_free(&access);
    }
}
END_TEST

START_TEST(a_token_has_its_role)
{
    struct nb_access *a = access_of(nothing);
    ck_assert_int_eq(role_of(a, text("classify-token-0123456789")), NB_ROLE_CLASSIFY);
    ck_assert_int_eq(role_of(a, text("train-token-0123456789")), NB_ROLE_TRAIN);
    ck_assert_int_eq(role_of(a, text("train-token-2-123456789")), NB_ROLE_TRAIN);
    /* A token in two lists has the greater role. */
    ck_assert_int_eq(role_of(a, text("admin-token-0123456789")), NB_ROLE_ADMIN);
    static const char *const wrong[] = {"", "train-token-012345678", "train-token-01234567890",
                                        "Train-token-0123456789", ","};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(role_of(a, text(wrong[i])) == NB_ROLE_NONE, "%s", wrong[i]);
    nb_access_free(&a);
}
END_TEST

START_TEST(a_hash_stands_for_its_token)
{
    /* The example "abc" of FIPS 180-4, whose hash is published. */
    char abc[] = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct nb_config config = config_of(nothing, nothing, abc, nothing);
    struct nb_access *access = access_for(&config);
    ck_assert_int_eq(role_of(access, text("abc")), NB_ROLE_ADMIN);
    ck_assert_int_eq(role_of(access, text("abd")), NB_ROLE_NONE);
    ck_assert_int_eq(role_of(access, text(abc)), NB_ROLE_NONE); /* the hash itself is not a token */
    nb_access_free(&access);
}
END_TEST

START_TEST(a_token_may_have_a_name)
{
    static const struct {
        const char *token, *name;
        enum nb_role role;
    } table[] = {{"a-token-0123456789", "alice", NB_ROLE_TRAIN},
                 {"abc", "bob@example.org", NB_ROLE_TRAIN},
                 {"padded+0123456789==", "", NB_ROLE_TRAIN},
                 {"no/name=a-token-0123456789", "", NB_ROLE_TRAIN},
                 {"alice=a-token-0123456789", "", NB_ROLE_NONE},
                 {"padded+0123456789", "", NB_ROLE_NONE}};
    char list[] = "alice=a-token-0123456789, padded+0123456789==, no/name=a-token-0123456789,"
                  "bob@example.org=sha256:"
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    struct nb_config config = config_of(nothing, list, nothing, nothing);
    struct nb_access *access = access_for(&config);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct nb_grant grant = grant_of(access, text(table[i].token));
        ck_assert_int_eq(grant.role, table[i].role);
        ck_assert_str_eq(grant.name, table[i].name);
        ck_assert(!grant.is_by_address);
    }
    nb_access_free(&access);
}
END_TEST

static struct nb_peer peer_at(const char *address)
{
    struct nb_peer peer = {.is_proven = true};
    ck_assert_msg(nb_address_read(text(address), &peer.address) != 0, "%s", address);
    return peer;
}

static bool trusts(const struct nb_access *access, const struct nb_peer *peer)
{
    struct nb_grant grant = nb_access_grant(access, peer, text(""), true);
    ck_assert(grant.role == NB_ROLE_TRAIN || grant.role == NB_ROLE_NONE);
    ck_assert(grant.is_by_address == (grant.role == NB_ROLE_TRAIN));
    return grant.role == NB_ROLE_TRAIN;
}

START_TEST(trusted_addresses_are_for_mail_alone)
{
    struct nb_access *a = access_of(trusted);
    struct nb_peer inside = peer_at("192.0.2.127"), outside = peer_at("192.0.2.128");
    ck_assert(trusts(a, &inside) && !trusts(a, &outside));
    ck_assert_int_eq(nb_access_grant(a, &inside, text(""), false).role, NB_ROLE_NONE);
    /* A proxy forwarded the request, and the client behind it is unknown. */
    inside.is_forwarded = true;
    inside.is_proven = false;
    ck_assert(!trusts(a, &inside));
    nb_access_free(&a);
}
END_TEST

START_TEST(a_token_and_an_address_give_the_greater_role)
{
    struct nb_access *a = access_of(trusted);
    struct nb_peer inside = peer_at("127.0.0.1");
    struct nb_grant grant = nb_access_grant(a, &inside, text("classify-token-0123456789"), true);
    ck_assert(grant.role == NB_ROLE_TRAIN && grant.is_by_address);
    grant = nb_access_grant(a, &inside, text("admin-token-0123456789"), true);
    ck_assert(grant.role == NB_ROLE_ADMIN && !grant.is_by_address);
    grant = nb_access_grant(a, &inside, text("nobody-has-this-one"), true);
    ck_assert(grant.role == NB_ROLE_TRAIN && grant.is_by_address);
    nb_access_free(&a);
}
END_TEST

START_TEST(users_of_the_unix_socket)
{
    char some[] = "root, 1001", all[] = "*";
    static const struct {
        bool has_all, has_user;
        uid_t user;
        bool is_trusted;
    } table[] = {{false, true, 0, true},   {false, true, 1001, true},   {false, true, 1002, false},
                 {true, true, 1002, true}, {false, true, 65534, false}, {true, true, 65534, true},
                 {false, false, 0, false}, {true, false, 0, false}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct nb_config config = config_of(nothing, nothing, admin, trusted);
        config.socket_users = table[i].has_all ? all : some;
        struct nb_access *a = access_for(&config);
        struct nb_peer peer = {.address = {.kind = NB_ADDRESS_FILE},
                               .is_proven = true,
                               .has_user = table[i].has_user,
                               .user = table[i].user};
        ck_assert_msg(trusts(a, &peer) == table[i].is_trusted, "case %zu", i);
        peer.is_proven = false;
        ck_assert_msg(!trusts(a, &peer), "case %zu, through a proxy", i);
        nb_access_free(&a);
    }
    struct nb_access *a = access_of(trusted);
    struct nb_peer root = {
        .address = {.kind = NB_ADDRESS_FILE}, .is_proven = true, .has_user = true};
    ck_assert(!trusts(a, &root)); /* no users are listed */
    nb_access_free(&a);
}
END_TEST

START_TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *train, *trusted, *word;
    } cases[] = {
        {"good-token-0123456789,short", "", "token 2"},
        {"sha256:12", "", "64 hexadecimal"},
        {"sha256:zz7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "", "train"},
        {"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015adff", "", "train"},
        {"good-token-0123456789", "localhost", "'localhost'"},
        {"good-token-0123456789", "192.0.2.0/33", "192.0.2.0/33"},
        {"good-token-0123456789", "192.0.2.0/", "192.0.2.0/"},
        {"good-token-0123456789", "192.0.2.0/-1", "192.0.2.0/-1"},
        {"good-token-0123456789", "::1/129", "::1/129"},
        {"good-token-0123456789", "192.0.2.0/8x", "192.0.2.0/8x"},
        {"good-token-0123456789", "11111111111111111111111111111111111111111111111111111111",
         "111"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char list[128], networks[128];
        strcpy(list, cases[i].train);
        strcpy(networks, cases[i].trusted);
        struct nb_config config = config_of(nothing, list, nothing, networks);
        struct nb_access *access;
        struct nb_error error = {0};
        ck_assert_int_eq(nb_access_new(&config, &access, &error), NB_INVALID);
        ck_assert_ptr_null(access);
        ck_assert_msg(strstr(error.text, cases[i].word) != NULL, "%zu: %s", i, error.text);
        ck_assert_ptr_null(strstr(error.text, "short")); /* never the token itself */
    }
}
END_TEST

START_TEST(users_that_nobody_is)
{
    static const struct {
        const char *users, *word;
    } cases[] = {
        {"root,no-such-user", "no user 'no-such-user'"},
        {"4294967295", "no user '4294967295'"},
        {"nobody", "[server] socket_users: 'nobody'"},
        {"root, 65534", "'65534'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char users[64];
        strcpy(users, cases[i].users);
        struct nb_config config = config_of(nothing, nothing, nothing, nothing);
        config.socket_users = users;
        struct nb_access *access;
        struct nb_error error = {0};
        ck_assert_int_eq(nb_access_new(&config, &access, &error), NB_INVALID);
        ck_assert_ptr_null(access);
        ck_assert_msg(strstr(error.text, cases[i].word) != NULL, "%zu: %s", i, error.text);
    }
}
END_TEST

START_TEST(bearer_tokens)
{
    struct nb_string token = nb_access_bearer(text("Bearer  abc"));
    ck_assert(token.length == 3 && memcmp(token.bytes, "abc", 3) == 0);
    ck_assert_uint_eq(nb_access_bearer(text("bearer abc")).length, 3);
    static const char *const none[] = {"", "Bearer", "Bearer ", "Basic abc", "abc"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_uint_eq(nb_access_bearer(text(none[i])).length, 0);
    ck_assert_uint_eq(nb_access_bearer((struct nb_string){NULL, 0}).length, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("access");
    TCase *tests = tcase_create("access");
    tcase_add_test(tests, without_tokens_nobody_is_asked);
    tcase_add_test(tests, a_token_has_its_role);
    tcase_add_test(tests, a_hash_stands_for_its_token);
    tcase_add_test(tests, a_token_may_have_a_name);
    tcase_add_test(tests, trusted_addresses_are_for_mail_alone);
    tcase_add_test(tests, a_token_and_an_address_give_the_greater_role);
    tcase_add_test(tests, users_of_the_unix_socket);
    tcase_add_test(tests, what_is_wrong_is_named);
    tcase_add_test(tests, users_that_nobody_is);
    tcase_add_test(tests, bearer_tokens);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
