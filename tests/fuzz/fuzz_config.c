/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a configuration file: refused, or listed in a form that reads back the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The listing; freed by the caller. */
static char *printed(const struct nb_config *config, size_t *length)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    if (out == NULL || nb_config_print(config, false, out) != 0 || fclose(out) != 0)
        abort();
    return text;
}

static void check_round_trip(const struct nb_config *config)
{
    struct nb_config again;
    struct nb_error error;
    size_t length = 0, length_again = 0;
    char *text = printed(config, &length);
    if (nb_config_init(&again, &error) != 0 ||
        nb_config_parse(&again, text, length, "listing", &error) != 0)
        abort();
    char *text_again = printed(&again, &length_again);
    if (length != length_again || memcmp(text, text_again, length) != 0)
        abort();
    free(text);
    free(text_again);
    nb_config_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nb_config config;
    struct nb_error error = {0};
    if (nb_config_init(&config, &error) != 0)
        abort();
    if (nb_config_parse(&config, (const char *)data, size, "fuzz", &error) == 0)
        check_round_trip(&config);
    else if (error.code != NB_INVALID || strncmp(error.text, "fuzz:", 5) != 0)
        abort();
    nb_config_deinit(&config);
    return 0;
}
