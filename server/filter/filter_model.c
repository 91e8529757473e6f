/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_model.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/base/ascii.h"
#include "core/engine/engine.h"
#include "server/filter/filter_action.h"
#include "server/filter/filter_labels.h"
#include "server/filter/filter_mail.h"

/* Puts `value`, in lower case, in the place of `mark` in `format`. */
static int put_name(const char *format, const char *mark, struct nb_string value,
                    const char *option, char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *place = strstr(format, mark);
    size_t before = (size_t)(place - format);
    /* One byte more than fits tells that it is too long. */
    char name[NB_FILTER_MODEL + 1];
    int length = snprintf(name, sizeof name, "%.*s%.*s%s", (int)before, format,
                          (int)(value.length < sizeof name ? value.length : sizeof name),
                          value.bytes, place + strlen(mark));
    for (size_t i = before; i < before + value.length && i < sizeof name; i++)
        name[i] = nb_ascii_lower(name[i]);
    if (nb_check_model_name((struct nb_string){name, strlen(name)}, error) != 0)
        return nb_error_set(error, NB_UNUSABLE,
                            "the user's address makes no name of a model ([filter] %s)", option);
    memcpy(model, name, (size_t)length + 1);
    return 0;
}

int nb_filter_model(const struct nb_config *config, struct nb_string user,
                    char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_model;
    user = nb_filter_without_angles(user);
    if (strstr(format, "%u") == NULL || user.length == 0) {
        (void)snprintf(model, NB_FILTER_MODEL, "%s", config->filter_model); /* 128 bytes at most */
        return 0;
    }
    return put_name(format, "%u", user, "user_model", model, error);
}

int nb_filter_parent(const struct nb_config *config, struct nb_string user,
                     char model[NB_FILTER_MODEL], struct nb_error *error)
{
    const char *format = config->filter_user_parent;
    user = nb_filter_without_angles(user);
    const char *at = user.length > 0 ? memrchr(user.bytes, '@', user.length) : NULL;
    bool has_domain = at != NULL && at + 1 < user.bytes + user.length;
    if (strstr(format, "%d") == NULL || !has_domain) {
        bool is_common = strstr(format, "%d") != NULL;
        (void)snprintf(model, NB_FILTER_MODEL, "%s", is_common ? config->filter_model : format);
        return nb_check_model_name(nb_string_of(model), error);
    }
    struct nb_string domain = nb_string_from(user, (size_t)(at + 1 - user.bytes));
    return put_name(format, "%d", domain, "user_parent", model, error);
}

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
