/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_config.h"

#include <string.h>

#include "config/config.h"
#include "core/engine/engine.h"
#include "server/filter/filter_action.h"
#include "server/filter/filter_labels.h"
#include "server/filter/filter_model.h"

int nb_filter_check_config(const struct nb_config *config, struct nb_error *error)
{
    char model[NB_FILTER_MODEL];
    struct nb_error why = {0};
    if (nb_check_model_name(nb_string_of(config->filter_model), &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] model: %s", why.text);
    int rc = nb_filter_check_labels(config, error);
    if (rc == 0)
        rc = nb_filter_check_label_actions(config, error);
    if (rc != 0)
        return rc;
    if (config->filter_add_header <= 0.5 || config->filter_reject <= 0.5)
        return nb_error_set(error, NB_INVALID,
                            "[filter] add_header and reject must be above 0.5, where scores are 0");
    if (config->filter_unsure > config->filter_add_header)
        return nb_error_set(error, NB_INVALID,
                            "[filter] unsure is the lower end of a band that ends at add_header; "
                            "it must not be above it");
    if (config->filter_user_parent[0] != '\0' &&
        nb_filter_parent(config, (struct nb_string){"user@example.org", 16}, model, &why) != 0)
        return nb_error_set(error, NB_INVALID, "[filter] user_parent: %s", why.text);
    if (config->filter_user_model[0] == '\0')
        return 0;
    if (strstr(config->filter_user_model, "%u") == NULL)
        return nb_error_set(error, NB_INVALID,
                            "[filter] user_model must hold %%u, where the user's address goes");
    return nb_filter_model(config, (struct nb_string){"user@example.org", 16}, model, error);
}
