/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks through all pages of an LMDB data file before LMDB maps it. LMDB trusts what it reads: a
 * damaged page number, offset or order of keys ends in an assertion, a signal or overwritten data.
 * This walk trusts nothing. It finds every page that is not where it should be, used twice, of the
 * wrong kind, badly filled or out of order, in the trees and in the list of free pages, and numbers
 * that disagree with what was counted. It can find damaged entries of tables by the checksums of
 * their values, and put keys in order (core/store/pages/reorder.h); otherwise it does not check
 * values.
 *
 * Reads with pread: a disk that refuses is an error, not a signal. One thread at a time; the file
 * must not change meanwhile.
 */
#ifndef NB_CORE_STORE_PAGES_PAGES_H
#define NB_CORE_STORE_PAGES_PAGES_H

#include <stdint.h>

#include "core/base/error.h"
#include "core/store/pages/question.h"

/* Checks the whole file, but not the pages of an unknown table. Returns 0; NB_CORRUPT with the
 * first damage: page, table, what is wrong and what to do; NB_IO, NB_NO_MEMORY. The answer is
 * filled in as far as the walk came. */
int nb_pages_check(const struct nb_pages_question *question, struct nb_pages_answer *answer,
                   struct nb_error *error);

/* The number of the last transaction that freed pages, by the list of free pages that begins at
 * `question->meta`: that of the meta page's own transaction, unless it is damaged. 0: the list is
 * empty or cannot be read. */
uint64_t nb_pages_last_transaction(const struct nb_pages_question *question);

#endif
