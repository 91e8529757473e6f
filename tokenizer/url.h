/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts features of URLs and hosts in links and headers. Any thread; a tokenizing belongs to one.
 */
#ifndef NB_TOKENIZER_URL_H
#define NB_TOKENIZER_URL_H

#include "tokenizer/bag_private.h"

/* Counts the parts of one URL in NB_FIELD_URL. Only "http://...", "//host..." and "mailto:..." have
 * parts; other URLs, relative ones among them, have none. The parts are: the host,
 * "url:www.example.com", and its 1 to 4 last labels, "url:example.com" and "url:com"; for an IPv4
 * address its prefixes, "url:10.1."; the port, "url:port=8080"; "url:@" for a user before the host,
 * as in "http://bank.example@10.1.2.3/"; and at most 20 words of path and query, "url:/login". %XX
 * is decoded. Returns 0 or NB_NO_MEMORY. */
int nb_tokenize_url(struct nb_tokenizing *t, const char *url, size_t length);

/* Counts a host in `field`: the whole and its 1 to 4 last labels, or the /8, /16, /24 and /32
 * prefixes of an IPv4 address. The text of each feature begins with `prefix` ("received:"). Returns
 * 0 or NB_NO_MEMORY. */
int nb_tokenize_host(struct nb_tokenizing *t, enum nb_field field, const char *prefix,
                     struct nb_string host);

/* Whether a string is an IPv4 address, "1.2.3.4". */
bool nb_is_ipv4(struct nb_string s);

/* Whether a string is a host name with a dot in it. */
bool nb_is_host(struct nb_string s);

#endif
