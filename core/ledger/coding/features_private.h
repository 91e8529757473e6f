/* SPDX-License-Identifier: Apache-2.0
 *
 * What writing and reading the texts of features share. For core/ledger/coding/features_*.c alone.
 */
#ifndef NB_CORE_LEDGER_CODING_FEATURES_PRIVATE_H
#define NB_CORE_LEDGER_CODING_FEATURES_PRIVATE_H

#include <zstd.h>

#include "core/base/feature.h"
#include "core/ledger/coding/features.h"
#include "core/ledger/coding/text_code.h"

enum { CODED_IDS = 0, CODED_TEXTS = 1, CODED_COMPRESSED = 2, CODED_SHORT = 3 };

enum {
    SHORT_MOST = 32 << 10, /* more bytes repeat each other so much that zstd is worth its time */
    RAW_MOST =
        256 << 20 /* of one entry's texts, which the limits of the tokenizer keep far below */
};

/* Added to the field of a feature: what its text is stored without, and whether a mark ends it. */
enum { WITHOUT_NAME = 32, MARKED = 128, FIELD = WITHOUT_NAME - 1 };
_Static_assert((int)NB_FIELD_VALUE < (int)WITHOUT_NAME && (int)NB_FIELDS <= (int)NB_FIELD_VALUE,
               "a field leaves room for what is added to it");

/* What is behind a text: another feature; or what follows the text's tail in the next text, which
 * is of the same field. */
enum { MARK_END = 0, MARK_GOES_ON = 1 };

/* In front of the text of a value of an attribute: its part, the low byte first. */
enum { PART_BYTES = 2, IS_NUMBER = 0x8000 };
_Static_assert((int)NB_PARTS_MOST <= (int)IS_NUMBER, "a part has a bit to spare");

/* A longer tail is never left out: a damaged store cannot make texts grow without a bound. */
enum { TAIL_MOST = 255 };

struct nb_features_coder {
    struct nb_text_code *code;
    ZSTD_CCtx *compressor;
    ZSTD_DCtx *decompressor;
    struct nb_string names[NB_FIELDS]; /* of the fields; the same for all coders */
    struct nb_buffer raw;              /* as stored, not compressed */
    struct nb_buffer whole;            /* texts that were read, one after the other */
    uint64_t *ids;
    struct nb_string *texts;
    size_t room; /* of `ids` and `texts` */
};

/* How the text after this one may begin. Both are without names. */
struct nb_string nb_features_tail(unsigned field, struct nb_string text);

#endif
