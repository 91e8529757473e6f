/* SPDX-License-Identifier: Apache-2.0 */
#include "server/filter/filter_model.h"

#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "core/base/ascii.h"
#include "core/engine/engine.h"
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
