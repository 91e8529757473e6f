/* SPDX-License-Identifier: Apache-2.0 */
#include "server/console/console_page.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/key.h"
#include "server/http/admission.h"
#include "server/http/http_answer.h"
#include "server/http/request.h"

/* The assembler includes the files as they are (.incbin), which gcc and clang both support. Paths
 * are relative to the top of the tree, where make runs. */
#define FILES(SCRIPT, OTHER)                                                                       \
    OTHER(index, "index.html", "text/html; charset=utf-8")                                         \
    OTHER(style, "style.css", "text/css; charset=utf-8")                                           \
    OTHER(icon, "icon.svg", "image/svg+xml")                                                       \
    SCRIPT(access)                                                                                 \
    SCRIPT(api)                                                                                    \
    SCRIPT(bars)                                                                                   \
    SCRIPT(chart)                                                                                  \
    SCRIPT(columns)                                                                                \
    SCRIPT(concerns)                                                                               \
    SCRIPT(csv)                                                                                    \
    SCRIPT(dom)                                                                                    \
    SCRIPT(drop)                                                                                   \
    SCRIPT(evidence)                                                                               \
    SCRIPT(field_values)                                                                           \
    SCRIPT(files)                                                                                  \
    SCRIPT(format)                                                                                 \
    SCRIPT(history)                                                                                \
    SCRIPT(mail)                                                                                   \
    SCRIPT(main)                                                                                   \
    SCRIPT(metrics)                                                                                \
    SCRIPT(model)                                                                                  \
    SCRIPT(model_copies)                                                                           \
    SCRIPT(model_labels)                                                                           \
    SCRIPT(model_list)                                                                             \
    SCRIPT(model_quarantine)                                                                       \
    SCRIPT(model_sample)                                                                           \
    SCRIPT(model_settings)                                                                         \
    SCRIPT(model_sources)                                                                          \
    SCRIPT(model_trial)                                                                            \
    SCRIPT(models)                                                                                 \
    SCRIPT(near_label)                                                                             \
    SCRIPT(next)                                                                                   \
    SCRIPT(next_gain)                                                                              \
    SCRIPT(overview)                                                                               \
    SCRIPT(quality)                                                                                \
    SCRIPT(quality_challenger)                                                                     \
    SCRIPT(quality_charts)                                                                         \
    SCRIPT(quality_labels)                                                                         \
    SCRIPT(quality_threshold)                                                                      \
    SCRIPT(router)                                                                                 \
    SCRIPT(sender)                                                                                 \
    SCRIPT(signin)                                                                                 \
    SCRIPT(suspects)                                                                               \
    SCRIPT(theme)                                                                                  \
    SCRIPT(train)                                                                                  \
    SCRIPT(try)                                                                                    \
    SCRIPT(verdict)                                                                                \
    SCRIPT(words)

/* ---- the bytes ------------------------------------------------------------------------------- */

#define EMBED(name, file)                                                                          \
    __asm__(".section .rodata\n"                                                                   \
            ".global nb_asset_" #name "_begin\n"                                                   \
            ".hidden nb_asset_" #name "_begin\n"                                                   \
            "nb_asset_" #name "_begin:\n"                                                          \
            ".incbin \"server/console/web/" file "\"\n"                                            \
            ".global nb_asset_" #name "_end\n"                                                     \
            ".hidden nb_asset_" #name "_end\n"                                                     \
            "nb_asset_" #name "_end:\n"                                                            \
            ".byte 0\n"                                                                            \
            ".previous\n");                                                                        \
    extern const char nb_asset_##name##_begin[] __attribute__((visibility("hidden")));             \
    extern const char nb_asset_##name##_end[] __attribute__((visibility("hidden")));
#define EMBED_SCRIPT(name) EMBED(name, #name ".js")
#define EMBED_OTHER(name, file, type) EMBED(name, file)

FILES(EMBED_SCRIPT, EMBED_OTHER)

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW_OTHER(name, file, type) {file, type, nb_asset_##name##_begin, nb_asset_##name##_end},
#define ROW_SCRIPT(name) ROW_OTHER(name, #name ".js", "text/javascript; charset=utf-8")

static const struct nb_asset ASSETS[] = {FILES(ROW_SCRIPT, ROW_OTHER)};

/* Returns the file with this name, or NULL. */
static const struct nb_asset *asset_find(struct nb_string name)
{
    for (size_t i = 0; i < sizeof ASSETS / sizeof ASSETS[0]; i++) {
        if (nb_string_same(name, nb_string_of(ASSETS[i].name)))
            return &ASSETS[i];
    }
    return NULL;
}

/* The content security policy: scripts and styles come only from files of this server, not from
 * the page itself; no text becomes markup or a script (trusted types); nothing goes to another
 * server. */
static const char POLICY[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'";

/* Sets the entity tag. The same bytes have the same tag in every process; the key is no secret. */
static void set_tag(struct nb_reply *reply, const struct nb_asset *asset)
{
    static const struct nb_key key = {.bytes = {0}};
    char id[NB_CONTENT_ID_LENGTH + 1];
    static_assert(sizeof reply->tag >= sizeof id + 2, "two quotes more");
    nb_key_content_id(&key, 0, asset->begin, (size_t)(asset->end - asset->begin), id);
    (void)snprintf(reply->tag, sizeof reply->tag, "\"%s\"", id); /* the tag fits */
}

/* Returns whether If-None-Match has the tag. RFC 9110, 13.1.2: a list of tags, weak or not, or "*".
 * Another tag never contains this one, whose quotes are part of it. */
static bool has_it(const struct nb_request *request, const char *tag)
{
    struct nb_string known = nb_request_field(request, "If-None-Match");
    if (known.length == 0)
        return false;
    return nb_string_same(nb_string_trim(known), nb_string_of("*")) ||
           memmem(known.bytes, known.length, tag, strlen(tag)) != NULL;
}

static int reply_asset(struct nb_request *request, const struct nb_asset *asset,
                       struct nb_error *error)
{
    struct nb_reply *reply = &request->reply;
    size_t length = (size_t)(asset->end - asset->begin);
    set_tag(reply, asset);
    bool is_known = has_it(request, reply->tag);
    if (!is_known && nb_buffer_append(&reply->body, asset->begin, length) != 0) {
        reply->tag[0] = '\0';
        return nb_error_no_memory(error);
    }
    reply->policy = POLICY;
    return is_known ? nb_reply_with(request, 304, NULL) : nb_reply_with(request, 200, asset->type);
}

int nb_route_page(struct nb_request *request, struct nb_error *error)
{
    const struct nb_asset *index = asset_find(nb_string_of("index.html"));
    assert(index != NULL);
    return reply_asset(request, index, error);
}

int nb_route_asset(struct nb_request *request, struct nb_error *error)
{
    const struct nb_asset *asset = asset_find(request->model); /* the path's only parameter */
    if (asset == NULL)
        return nb_error_set(error, NB_NOT_FOUND, "the console has no file of this name");
    return reply_asset(request, asset, error);
}
