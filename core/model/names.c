/* SPDX-License-Identifier: Apache-2.0 */
#include "core/model/names.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/string.h"
#include "core/ledger/change.h"

enum { LABEL_MOST = 64, ID_MOST = 256 };

static bool is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

int nb_check_model_name(struct nb_string name, struct nb_error *error)
{
    bool good =
        name.length >= 1 && name.length <= NB_MODEL_NAME_MOST && is_alphanumeric(*name.bytes);
    for (size_t i = 1; good && i < name.length; i++)
        good = is_alphanumeric(name.bytes[i]) || strchr("._@+-", name.bytes[i]) != NULL;
    for (size_t i = 0; good && i < name.length; i++)
        good = name.bytes[i] != '\0';
    if (good)
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE,
                       "a model's name is 1 to %d letters, digits and . _ @ + - and begins with "
                       "a letter or digit",
                       NB_MODEL_NAME_MOST);
    return nb_error_about(error, NB_UNUSABLE, NULL, "model");
}

int nb_check_label(struct nb_string label, struct nb_error *error)
{
    if (label.length >= 1 && label.length <= LABEL_MOST && nb_utf8_is_valid(label) &&
        !nb_utf8_has_control(label))
        return 0;
    if (label.length >= 1 && label.length <= LABEL_MOST)
        (void)nb_error_set(error, NB_UNUSABLE,
                           "`label` is UTF-8 without control characters; this one %s",
                           nb_utf8_is_valid(label) ? "has some" : "is not UTF-8");
    else
        (void)nb_error_set(error, NB_UNUSABLE,
                           "`label` is 1 to %d bytes of UTF-8 without control characters, not %zu",
                           LABEL_MOST, label.length);
    return nb_error_about(error, NB_UNUSABLE, NULL, "label");
}

int nb_check_id(struct nb_string id, struct nb_error *error)
{
    if (id.length >= 1 && id.length <= ID_MOST && nb_utf8_is_valid(id))
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE, "`id` is 1 to %d bytes of UTF-8, not %zu%s", ID_MOST,
                       id.length,
                       id.length >= 1 && id.length <= ID_MOST ? " that are not UTF-8" : "");
    return nb_error_about(error, NB_UNUSABLE, NULL, "id");
}

int nb_check_source(struct nb_string source, struct nb_error *error)
{
    if (source.length <= NB_SOURCE_MOST && nb_utf8_is_valid(source) && !nb_utf8_has_control(source))
        return 0;
    (void)nb_error_set(error, NB_UNUSABLE,
                       "`source` is at most %d bytes of UTF-8 without control characters",
                       NB_SOURCE_MOST);
    return nb_error_about(error, NB_UNUSABLE, NULL, "source");
}
