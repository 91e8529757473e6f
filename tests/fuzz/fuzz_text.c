/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a text: the first byte chooses the fields, the second the budget. The ids follow
 * from the texts.
 */
#include "core/base/feature.h"
#include "tokenizer/document.h"
#include "tokenizer/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nb_key key;
    static struct nb_bag bag;
    static const unsigned char secret[NB_KEY_BYTES] = {17};
    if (size < 2 || nb_text_setup() != 0)
        return 0;
    nb_key_restore(&key, secret);
    const struct nb_tokenizer_settings settings = {.fields = data[0] == 0 ? 1u << NB_FIELD_BODY
                                                                          : (1u << NB_FIELDS) - 1};
    struct nb_tokenizer_limits limits = NB_TOKENIZER_LIMITS_DEFAULT;
    if (data[1] < 128)
        limits.tokens = data[1];
    const struct nb_document document = {
        .kind = NB_DOCUMENT_TEXT, .bytes = (const char *)data + 2, .length = size - 2};
    if (nb_document_tokenize(&document, &key, &settings, &limits, &bag) != 0)
        __builtin_trap();
    uint64_t counted = 0;
    for (size_t i = 0; i < bag.size; i++) {
        if (bag.features[i].id !=
            nb_feature_id_like(bag.features[i].id,
                               nb_feature_hash(&key, bag.texts[i].bytes, bag.texts[i].length)))
            __builtin_trap();
        counted += bag.features[i].count;
    }
    if (counted > limits.tokens || bag.positions > counted)
        __builtin_trap();
    return 0;
}
