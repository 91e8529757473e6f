/* SPDX-License-Identifier: Apache-2.0
 *
 * Raw mails in one file, for benchmarks. A line before each mail has its length in bytes, in
 * decimal; if the mail has a label, the line begins with the label and a space. `corpus` writes
 * such files without labels, and load.c reads them. One thread.
 */
#ifndef BENCH_FRAMED_H
#define BENCH_FRAMED_H

#include "core/engine/engine.h"

struct bench_mail {
    struct nb_string label; /* of length 0 if the mail has no label */
    struct nb_document document;
};

/* All zero before bench_mails_read. Labels and documents point into `bytes`. */
struct bench_mails {
    struct nb_buffer bytes;
    struct bench_mail *mails;
    size_t count;
};

/* Unless `rc` is 0, prints `what` and the code on standard error and exits with 1. */
void bench_require(int rc, const char *what);

/* Reads the file `path`, which must have at least one mail. Exits with 1 if the file cannot be read
 * or has another form. bench_mails_deinit is needed afterwards. */
void bench_mails_read(struct bench_mails *mails, const char *path);

/* Frees the mails. */
void bench_mails_deinit(struct bench_mails *mails);

#endif
