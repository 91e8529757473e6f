/* SPDX-License-Identifier: Apache-2.0 */
#include "server/request/access.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "core/base/number.h"

enum { TOKEN_LEAST = 16, HASH_BYTES = crypto_hash_sha256_BYTES, ADDRESS_BYTES = 16 };

static const char HASHED[] = "sha256:";

struct token {
    unsigned char hash[HASH_BYTES];
    char name[NB_ACCESS_NAME]; /* "" when it has none */
    enum nb_role role;
};

struct network {
    unsigned char address[ADDRESS_BYTES]; /* IPv4 as IPv6 has it: ::ffff:192.0.2.1 */
    unsigned bits;
};

struct nb_access {
    struct token *tokens; /* owned */
    size_t token_count;
    struct network *networks; /* owned */
    size_t network_count;
};

/* ---- reading the options -----------------------------------------------------------------------
 */

/* Takes the next item off a list that is separated by commas or blanks. */
static bool next_item(const char **list, struct nb_string *item)
{
    *list += strspn(*list, ", \t");
    *item = (struct nb_string){*list, strcspn(*list, ", \t")};
    *list += item->length;
    return item->length > 0;
}

static size_t count_items(const char *list)
{
    struct nb_string item;
    size_t count = 0;
    while (next_item(&list, &item))
        count++;
    return count;
}

static int read_token(struct nb_string text, struct token *token)
{
    size_t prefix = sizeof HASHED - 1, length = 0;
    const char *end;
    if (!nb_string_starts(text, HASHED)) {
        (void)crypto_hash_sha256(token->hash, (const unsigned char *)text.bytes, text.length);
        return text.length >= TOKEN_LEAST ? 0 : NB_INVALID;
    }
    int rc = sodium_hex2bin(token->hash, sizeof token->hash, text.bytes + prefix,
                            text.length - prefix, NULL, &length, &end);
    return rc == 0 && length == HASH_BYTES && end == text.bytes + text.length ? 0 : NB_INVALID;
}

/* Takes the name off "NAME=TOKEN". What is behind a "=" at a token's own end is too short for a
 * token: such an item has no name. */
static void take_name(struct nb_string *item, struct token *token)
{
    static const char NAME[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@";
    const char *equals = memchr(item->bytes, '=', item->length);
    size_t length = equals != NULL ? (size_t)(equals - item->bytes) : 0;
    if (length == 0 || length >= sizeof token->name || item->length - length - 1 < TOKEN_LEAST ||
        strspn(item->bytes, NAME) != length)
        return;
    memcpy(token->name, item->bytes, length);
    *item = nb_string_from(*item, length + 1);
}

static int read_tokens(struct nb_access *access, const char *list, const char *key,
                       enum nb_role role, struct nb_error *error)
{
    struct nb_string item;
    for (size_t i = 1; next_item(&list, &item); i++) {
        struct token *token = &access->tokens[access->token_count++];
        token->role = role;
        take_name(&item, token);
        if (read_token(item, token) != 0)
            return nb_error_set(error, NB_INVALID,
                                "[tokens] %s: token %zu must have at least %d characters, or be "
                                "sha256: and the 64 hexadecimal digits of its SHA-256",
                                key, i, TOKEN_LEAST);
    }
    return 0;
}

/* An address as IPv6. Returns how many bits it has of its own, 0 for none. */
static unsigned read_address(const char *text, unsigned char address[ADDRESS_BYTES])
{
    static const unsigned char MAPPED[12] = {[10] = 0xff, [11] = 0xff}; /* RFC 4291, 2.5.5.2 */
    if (inet_pton(AF_INET6, text, address) == 1)
        return 128;
    memcpy(address, MAPPED, sizeof MAPPED);
    return inet_pton(AF_INET, text, address + sizeof MAPPED) == 1 ? 32 : 0;
}

static int read_network(struct nb_string item, struct network *network)
{
    char text[INET6_ADDRSTRLEN + 4];
    if (item.length >= sizeof text)
        return NB_INVALID;
    memcpy(text, item.bytes, item.length);
    text[item.length] = '\0';
    char *slash = strchr(text, '/');
    if (slash != NULL)
        *slash++ = '\0';
    unsigned own = read_address(text, network->address);
    uint64_t bits = own;
    if (slash != NULL && !nb_number_read_whole(nb_string_of(slash), &bits))
        return NB_INVALID;
    if (own == 0 || bits > own)
        return NB_INVALID;
    network->bits = 128 - own + (unsigned)bits;
    return 0;
}

static int read_networks(struct nb_access *access, const char *list, struct nb_error *error)
{
    struct nb_string item;
    while (next_item(&list, &item)) {
        if (read_network(item, &access->networks[access->network_count++]) != 0)
            return nb_error_set(error, NB_INVALID,
                                "[tokens] trusted: '%.*s' is neither an address nor a network such "
                                "as 192.0.2.0/24 or 2001:db8::/32",
                                (int)(item.length < 64 ? item.length : 64), item.bytes);
    }
    return 0;
}

int nb_access_new(const struct nb_config *config, struct nb_access **access, struct nb_error *error)
{
    const struct {
        const char *key, *list;
        enum nb_role role;
    } roles[] = {{"classify", config->tokens_classify, NB_ROLE_CLASSIFY},
                 {"train", config->tokens_train, NB_ROLE_TRAIN},
                 {"admin", config->tokens_admin, NB_ROLE_ADMIN}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        count += count_items(roles[i].list);
    *access = NULL;
    struct nb_access *made = calloc(1, sizeof *made);
    if (made == NULL)
        return nb_error_no_memory(error);
    made->tokens = calloc(count + 1, sizeof *made->tokens);
    made->networks = calloc(count_items(config->tokens_trusted) + 1, sizeof *made->networks);
    int rc = made->tokens != NULL && made->networks != NULL ? 0 : nb_error_no_memory(error);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0] && rc == 0; i++)
        rc = read_tokens(made, roles[i].list, roles[i].key, roles[i].role, error);
    if (rc == 0)
        rc = read_networks(made, config->tokens_trusted, error);
    if (rc != 0 || count == 0)
        nb_access_free(&made);
    *access = made;
    return rc;
}

void nb_access_free(struct nb_access **access)
{
    if (*access == NULL)
        return;
    free((*access)->tokens);
    free((*access)->networks);
    free(*access);
    *access = NULL;
}

/* ---- asking ------------------------------------------------------------------------------------
 */

enum nb_role nb_access_role(const struct nb_access *access, struct nb_string token,
                            const char **name)
{
    unsigned char hash[HASH_BYTES];
    enum nb_role role = NB_ROLE_NONE;
    *name = "";
    (void)crypto_hash_sha256(hash, (const unsigned char *)token.bytes, token.length);
    /* All tokens are compared, each in constant time: the duration tells nothing. */
    for (size_t i = 0; i < access->token_count; i++) {
        const struct token *one = &access->tokens[i];
        bool is_same = sodium_memcmp(one->hash, hash, sizeof hash) == 0;
        if (is_same && one->role > role) {
            role = one->role;
            *name = one->name;
        }
    }
    return token.length > 0 ? role : NB_ROLE_NONE;
}

static bool is_inside(const struct network *network, const unsigned char address[ADDRESS_BYTES])
{
    unsigned bytes = network->bits / 8, rest = network->bits % 8;
    unsigned char mask = (unsigned char)(0xff00 >> rest);
    return memcmp(network->address, address, bytes) == 0 &&
           (rest == 0 || ((network->address[bytes] ^ address[bytes]) & mask) == 0);
}

bool nb_access_trusts(const struct nb_access *access, const struct sockaddr *address)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char bytes[ADDRESS_BYTES];
    if (address == NULL)
        return false;
    if (address->sa_family == AF_UNIX)
        return true; /* the mode of the socket decides who may connect */
    const void *own =
        address->sa_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
            : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
    if (inet_ntop(address->sa_family, own, text, sizeof text) == NULL ||
        read_address(text, bytes) == 0)
        return false;
    for (size_t i = 0; i < access->network_count; i++) {
        if (is_inside(&access->networks[i], bytes))
            return true;
    }
    return false;
}

struct nb_string nb_access_bearer(struct nb_string authorization)
{
    static const char SCHEME[] = "Bearer ";
    size_t length = sizeof SCHEME - 1;
    if (authorization.length <= length || !nb_string_starts_nocase(authorization, SCHEME))
        return (struct nb_string){NULL, 0};
    return nb_string_trim_start(nb_string_from(authorization, length), " ");
}
