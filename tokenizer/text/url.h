/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of URLs and hosts as features, from links and from headers. Any thread; one tokenizing at a
 * time.
 */
#ifndef NB_TOKENIZER_TEXT_URL_H
#define NB_TOKENIZER_TEXT_URL_H

#include "tokenizer/bag/tokenizing.h"

/* Counts in NB_FIELD_URL the parts of one URL ("http://...", "//host...", "mailto:..."; others,
 * like relative ones, have none): "url:www.example.com" and the 1 to 4 last labels of the host
 * ("url:example.com", "url:com"), of an IPv4 address its prefixes ("url:10.1."), "url:port=8080",
 * "url:@" for a user before the host (the trick "http://bank.example@10.1.2.3/"), up to 20 words of
 * the path and the query ("url:/login"), %XX decoded. Returns 0 or NB_NO_MEMORY. */
int nb_tokenize_url(struct nb_tokenizing *t, const char *url, size_t length);

/* Counts a host in `field`: whole, its 1 to 4 last labels, or the /8, /16, /24 and /32 prefixes of
 * an IPv4 address; each after `prefix` ("received:"). Returns 0 or NB_NO_MEMORY. */
int nb_tokenize_host(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     struct nb_string host);

/* Whether a string is an IPv4 address, "1.2.3.4". */
bool nb_is_ipv4(struct nb_string s);

/* Whether a string is a host name with a point in it. */
bool nb_is_host(struct nb_string s);

#endif
