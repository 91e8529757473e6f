/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints the configuration as a file, with or without the help texts. Hides passwords and tokens in
 * URLs; the tokens of clients are hashes by then.
 */
#include "config/config.h"

#include <string.h>

#include "config/value.h"

#define COMMENT_COLUMNS 79

/* Appends text as comment lines, broken between words. */
static int append_comment(const char *text, struct nb_buffer *out)
{
    size_t column = 0;
    int rc = 0;
    while (*text != '\0' && rc == 0) {
        size_t word = strcspn(text, " ");
        bool breaks = column > 0 && column + 1 + word > COMMENT_COLUMNS;
        const char *before = column == 0 ? "# " : breaks ? "\n# " : " ";
        rc = nb_buffer_printf(out, "%s%.*s", before, (int)word, text);
        column = column == 0 || breaks ? 2 + word : column + 1 + word;
        text += word;
        text += strspn(text, " ");
    }
    return rc == 0 ? nb_buffer_puts(out, "\n") : rc;
}

static int append_help(const struct nb_option *option, struct nb_buffer *out)
{
    int rc = nb_buffer_puts(out, "\n");
    if (rc == 0)
        rc = append_comment(option->help, out);
    if (rc == 0 && !nb_value_is_text(option)) {
        rc = nb_buffer_puts(out, "# Values: ");
        if (rc == 0)
            rc = nb_value_range(option, out);
        if (rc == 0)
            rc = nb_buffer_puts(out, "\n");
    }
    if (rc == 0 && option->change == NB_RESTART)
        rc = nb_buffer_puts(out, "# A change needs a restart.\n");
    return rc;
}

/* Appends a URL with "***" in place of its secret: the text after the user's name, or the whole
 * text before the host, which is then a token. */
static int append_url(struct nb_string url, struct nb_buffer *out)
{
    static const char PASSWORD[] = "password="; /* as in a conninfo of libpq */
    const char *password = memmem(url.bytes, url.length, PASSWORD, sizeof PASSWORD - 1);
    if (password != NULL) {
        struct nb_string head = {url.bytes, (size_t)(password - url.bytes)};
        int rc = append_url(head, out);
        return rc != 0 ? rc : nb_buffer_printf(out, "%s***", PASSWORD);
    }
    const char *scheme = memmem(url.bytes, url.length, "://", 3);
    const char *user = scheme == NULL ? url.bytes : scheme + 3;
    const char *host = memrchr(url.bytes, '@', url.length);
    if (host == NULL || host < user)
        return nb_buffer_append(out, url.bytes, url.length);
    const char *colon = memchr(user, ':', (size_t)(host - user));
    const char *secret = colon == NULL ? user : colon + 1;
    return nb_buffer_printf(out, "%.*s***%.*s", (int)(secret - url.bytes), url.bytes,
                            (int)(url.bytes + url.length - host), host);
}

/* Like append_url for a list, with its separators unchanged. */
static int append_urls(const char *list, struct nb_buffer *out)
{
    int rc = 0;
    while (*list != '\0' && rc == 0) {
        size_t length = strcspn(list, ", "), space = strspn(list + length, ", ");
        rc = append_url((struct nb_string){list, length}, out);
        if (rc == 0)
            rc = nb_buffer_append(out, list + length, space);
        list += length + space;
    }
    return rc;
}

static int append_option(const struct nb_config *config, const struct nb_option *option, bool help,
                         struct nb_buffer *out)
{
    struct nb_buffer value = {0};
    int rc = help ? append_help(option, out) : 0;
    if (rc == 0)
        rc = nb_value_print(config, option, &value);
    if (rc == 0)
        rc = nb_buffer_append(&value, "", 1);
    if (rc == 0) {
        bool is_default = strcmp(value.bytes, option->default_text) == 0;
        rc = nb_buffer_printf(out, "%s%s =%s", help && is_default ? "#" : "", option->key,
                              value.length > 1 ? " " : "");
    }
    if (rc == 0)
        rc = option->type == NB_OPTION_SECRET ? append_urls(value.bytes, out)
                                              : nb_buffer_puts(out, value.bytes);
    if (rc == 0)
        rc = nb_buffer_puts(out, "\n");
    nb_buffer_deinit(&value);
    return rc;
}

static int append_all(const struct nb_config *config, bool help, struct nb_buffer *out)
{
    size_t count;
    const struct nb_option *options = nb_option_table(&count);
    int rc = 0;
    if (help)
        rc = nb_buffer_puts(out, "# Settings of bayesd. A line that begins with # is a comment; "
                                 "what is commented\n"
                                 "# out below is the default. Sizes take K, M, G and T (1024 "
                                 "each). Every option\n"
                                 "# can also be given as BAYESD_GROUP_KEY in the environment, "
                                 "which wins over\n"
                                 "# this file. Check a change with: bayesd --config FILE "
                                 "--check-config\n"
                                 "# Then have it read: systemctl reload bayesd\n\n");
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (i == 0 || strcmp(options[i].group, options[i - 1].group) != 0)
            rc = nb_buffer_printf(out, "%s[%s]\n", i == 0 ? "" : "\n", options[i].group);
        if (rc == 0)
            rc = append_option(config, &options[i], help, out);
    }
    return rc;
}

int nb_config_print(const struct nb_config *config, bool help, FILE *out)
{
    struct nb_buffer text = {0};
    int rc = append_all(config, help, &text);
    if (rc == 0 && fwrite(text.bytes, 1, text.length, out) != text.length)
        rc = NB_IO;
    if (rc == 0 && fflush(out) != 0)
        rc = NB_IO;
    nb_buffer_deinit(&text);
    return rc;
}
