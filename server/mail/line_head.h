/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of a request in one of the line protocols (line_routes.h): tells it from HTTP and reads
 * it. "VERB SPAMC/1.5", header fields "Name: text", an empty line; lines end with LF or CR LF
 * (spamd/PROTOCOL of SpamAssassin 4). Pure functions; any thread.
 */
#ifndef NB_SERVER_MAIL_LINE_HEAD_H
#define NB_SERVER_MAIL_LINE_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/error.h"

struct nb_line_route;

enum {
    NB_LINE_SNIFF_BYTES = 32, /* the bytes that decide; the longest verb needs 21 */
    /* Most bytes of a head: Exim names every recipient, seldom more than 1,000. */
    NB_LINE_HEAD_BYTES = 128 * 1024
};

enum nb_line_sniff { NB_SNIFF_HTTP, NB_SNIFF_LINE, NB_SNIFF_MORE };

/* Decides the protocol by the first bytes of a connection. As soon as they differ from the
 * beginning of every request of a line protocol, they are HTTP. NB_SNIFF_MORE: more bytes are
 * needed. */
enum nb_line_sniff nb_line_sniff(const char *bytes, size_t length);

/* The part of a head that was read so far. */
struct nb_line_head {
    const struct nb_line_route *route;
    size_t index;     /* of the route in the table */
    unsigned version; /* major * 100 + minor */
    bool has_length;
    uint64_t length; /* Content-length */
    bool is_zlib;    /* the body comes compressed (RFC 1950) */
    size_t first;    /* bytes of the first line, 0 until it is complete */
    size_t scanned;  /* bytes in complete lines */
    size_t searched; /* bytes that were searched for the next line's end in vain */
};

enum { NB_LINE_MORE = 1 };

/* Begins to read a head whose first bytes nb_line_sniff has found to be NB_SNIFF_LINE, and sets the
 * route. */
void nb_line_head_begin(struct nb_line_head *head, struct nb_string bytes);

/* Continues to read the head. `bytes` are all bytes of the request that have arrived. Returns 0
 * when the head is complete, head->scanned bytes long; NB_LINE_MORE; NB_INVALID or NB_TOO_LARGE. */
int nb_line_head_read(struct nb_line_head *head, struct nb_string bytes, struct nb_error *error);

/* Returns the text of the next field of this name, in upper or lower case, in the complete head at
 * the beginning of `bytes`; its bytes are NULL when there is none. *at is 0 for the first field,
 * and is moved on. */
struct nb_string nb_line_head_next(const struct nb_line_head *head, struct nb_string bytes,
                                   const char *name, size_t *at);

/* Returns the text of the first field of this name. */
struct nb_string nb_line_head_field(const struct nb_line_head *head, struct nb_string bytes,
                                    const char *name);

#endif
