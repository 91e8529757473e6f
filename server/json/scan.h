/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader of documents and batches and of nothing else: their strings are most of what the daemon
 * reads, and a general parser takes ten times as long for them. It either has understood all of the
 * text as jansson would, or returns false: then jansson is asked, for the error or for what is
 * rarer. Pure functions; any thread.
 */
#ifndef NB_SERVER_JSON_SCAN_H
#define NB_SERVER_JSON_SCAN_H

#include <stdbool.h>

#include "core/base/buffer.h"

enum nb_document_member {
    NB_MEMBER_TEXT,
    NB_MEMBER_MAIL,
    NB_MEMBER_MAIL_BASE64,
    NB_MEMBER_LABEL,
    NB_MEMBER_ID,
    NB_MEMBER_SOURCE,
    NB_MEMBERS
};

extern const char *const nb_scan_members[NB_MEMBERS]; /* their names */

/* A document object as it lies in the text: each member's string between its quotes, or
 * the digits of a label or an id that is a whole number. */
struct nb_flat_document {
    struct nb_string raw[NB_MEMBERS];
    unsigned given;   /* bits 1u << enum nb_document_member */
    unsigned escaped; /* those whose string holds a backslash */
};

/* A document object. `*at` is moved behind what was read. */
bool nb_scan_document(const char **at, const char *end, struct nb_flat_document *document);
/* Nothing but white space is left. */
bool nb_scan_end(const char *at, const char *end);
/* The beginning of a batch, up to and with '['. */
bool nb_scan_batch_open(const char **at, const char *end);
/* After a document (`first`: before the first): 1 when another follows, 0 after "]}", else -1. */
int nb_scan_batch_next(const char **at, const char *end, bool first);

/* Writes the string that `raw` stands for to `to`, which has room for raw.length bytes: an escape
 * is never shorter than what it means. `raw` has been scanned. Returns the length. */
size_t nb_scan_unescape(struct nb_string raw, char *to);

#endif
