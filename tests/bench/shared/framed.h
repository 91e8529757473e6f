/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw mails in one file, for benchmarks: before each a line with its length in bytes, in decimal,
 * and before that its label and a space if it has one. `corpus` writes such files without labels,
 * and load.c reads them. One thread.
 */
#ifndef BENCH_FRAMED_H
#define BENCH_FRAMED_H

#include "core/engine/engine.h"

struct bench_mail {
    struct nb_string label; /* of length 0: it has none */
    struct nb_document document;
};

/* All zero before bench_mails_read. Labels and documents lie in `bytes`. */
struct bench_mails {
    struct nb_buffer bytes;
    struct bench_mail *mails;
    size_t count;
};

/* Says `what` and the code on standard error and exits with 1, unless `rc` is 0. */
void bench_require(int rc, const char *what);

/* Reads the file `path`, in which there is at least one mail. Exits with 1 if it cannot be read or
 * is framed otherwise. The caller calls bench_mails_deinit. */
void bench_mails_read(struct bench_mails *mails, const char *path);

/* Frees what it holds. */
void bench_mails_deinit(struct bench_mails *mails);

#endif
