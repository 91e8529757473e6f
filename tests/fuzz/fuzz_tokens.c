/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a file of tokens: refused with the line, or printed in a form that reads back the
 * same. The patterns of each token are tried on the names of the others.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match_all(const struct nb_tokens *tokens)
{
    size_t most = tokens->count < 20 ? tokens->count : 20;
    for (size_t i = 0; i < most; i++) {
        const char *patterns = tokens->all[i].models;
        for (size_t k = 0; k < most; k++)
            if (!nb_models_match(patterns, nb_string_of(tokens->all[k].name)) &&
                nb_models_are_all(patterns))
                abort();
    }
}

static void check_round_trip(const struct nb_tokens *tokens)
{
    struct nb_tokens again = {.all = NULL};
    struct nb_buffer text = {0}, text_again = {0};
    if (nb_token_file_print(tokens, &text) != 0 ||
        nb_token_file_parse((struct nb_string){text.bytes, text.length}, "printed", &again, NULL) !=
            0 ||
        nb_token_file_print(&again, &text_again) != 0)
        abort();
    if (text.length != text_again.length ||
        memcmp(text.bytes, text_again.bytes, text.length) != 0 || again.count != tokens->count)
        abort();
    nb_buffer_deinit(&text);
    nb_buffer_deinit(&text_again);
    nb_tokens_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_tokens tokens = {.all = NULL};
    struct nb_error error = {0};
    struct nb_string text = {(const char *)data, size};
    if (nb_token_file_parse(text, "fuzz", &tokens, &error) == 0) {
        check_round_trip(&tokens);
        match_all(&tokens);
    } else if (error.code != NB_INVALID || strncmp(error.text, "fuzz:", 5) != 0) {
        abort();
    }
    nb_tokens_deinit(&tokens);
    return 0;
}
