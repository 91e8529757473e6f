/* SPDX-License-Identifier: Apache-2.0
 *
 * The amount of work that one document may take. Pure functions; any thread.
 *
 * Work is counted in units and not measured in seconds, so that the same document has the same
 * features on a busy machine as on an idle one. A unit takes 1 to 15 ns. Every stage spends units
 * for each byte that it reads, and extra units where the bytes are not the main cost: opening a
 * charset, a call of iconv, a header field, a part.
 */
#ifndef NB_TOKENIZER_BAG_BAG_WORK_H
#define NB_TOKENIZER_BAG_BAG_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* Units for each byte that is decoded, read as HTML or cut into words; for each byte of a
     * header field and of its parameters, which are compared with each other. Charsets have their
     * own units (tokenizer/charset/charset.h). */
    NB_WORK_DECODE = 1,
    NB_WORK_HTML = 4,
    NB_WORK_WORDS = 4,
    NB_WORK_FIELD = 2,
    NB_WORK_PARAMETERS = 16,
    /* Units for a part of a mail and for a header field. */
    NB_WORK_PART = 256,
    NB_WORK_HEADER = 64,
    /* A shorter document may take as much as one of this many bytes. */
    NB_WORK_LEAST_BYTES = 65536
};

struct nb_bag_work {
    uint64_t left;
    bool is_short; /* the work ran out: something was left out */
};

/* No bound. */
#define NB_WORK_UNBOUNDED ((struct nb_bag_work){.left = UINT64_MAX})

/* The work for a document of `length` bytes, at `per_byte` units for each byte (0: no bound). */
static inline struct nb_bag_work nb_work_of(size_t length, size_t per_byte)
{
    uint64_t bytes = length < NB_WORK_LEAST_BYTES ? NB_WORK_LEAST_BYTES : length;
    if (per_byte == 0 || bytes > UINT64_MAX / per_byte)
        return NB_WORK_UNBOUNDED;
    return (struct nb_bag_work){.left = bytes * per_byte};
}

/* Spends `units`. Returns false if fewer are left; then it spends those that are left. */
static inline bool nb_work_spend(struct nb_bag_work *work, uint64_t units)
{
    if (units <= work->left) {
        work->left -= units;
        return true;
    }
    work->left = 0;
    work->is_short = true;
    return false;
}

/* Spends `units` for each of `bytes` bytes. Returns how many of them may be read. */
static inline size_t nb_work_take(struct nb_bag_work *work, size_t bytes, unsigned units)
{
    uint64_t affordable = work->left / units;
    if (bytes <= affordable) {
        work->left -= (uint64_t)bytes * units;
        return bytes;
    }
    work->left = 0;
    work->is_short = true;
    return (size_t)affordable;
}

#endif
