/* SPDX-License-Identifier: Apache-2.0
 *
 * A code for the short texts of features (core/ledger/coding/features.h): each byte becomes 1 to 12
 * bits. How many depends on the byte and on what kind of byte is before it, and is the same for all
 * texts. So there is no table to be made and stored for each of them, which takes most of the time
 * of zstd for 1 KB.
 *
 * Stored form: the bits of the codes, from the lowest bit of each byte on. Codes of a kind are
 * given in the order of their lengths, and of bytes of the same length (Huffman's code in canonical
 * form, Salomon, Data Compression, 2.8.5). Behind the last code are zeros.
 */
#ifndef NB_CORE_LEDGER_CODING_TEXT_CODE_H
#define NB_CORE_LEDGER_CODING_TEXT_CODE_H

#include <stdbool.h>

#include "core/base/buffer.h"

/* Its tables, 45 KB; never changed once they are made. Any thread. */
struct nb_text_code;

/* NULL: out of memory. */
struct nb_text_code *nb_text_code_new(void);
void nb_text_code_free(struct nb_text_code **code);

/* Appends the bytes in the code. Returns 0 or NB_NO_MEMORY. */
int nb_text_code_write(const struct nb_text_code *code, struct nb_string bytes,
                       struct nb_buffer *out);
/* Reads `length` bytes to `to`. Returns false if `stored` is not what they were written as. */
bool nb_text_code_read(const struct nb_text_code *code, struct nb_string stored, char *to,
                       size_t length);

#endif
