/* SPDX-License-Identifier: Apache-2.0
 *
 * The assembler includes the files as they are (.incbin), which gcc and clang both support. Paths
 * are relative to the top of the tree, where make runs.
 */
#include "server/console/assets.h"

#define FILES(SCRIPT, OTHER)                                                                       \
    OTHER(index, "index.html", "text/html; charset=utf-8")                                         \
    OTHER(style, "style.css", "text/css; charset=utf-8")                                           \
    OTHER(icon, "icon.svg", "image/svg+xml")                                                       \
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
    SCRIPT(quality_charts)                                                                         \
    SCRIPT(quality_threshold)                                                                      \
    SCRIPT(router)                                                                                 \
    SCRIPT(sender)                                                                                 \
    SCRIPT(signin)                                                                                 \
    SCRIPT(theme)                                                                                  \
    SCRIPT(train)                                                                                  \
    SCRIPT(try)                                                                                    \
    SCRIPT(verdict)                                                                                \
    SCRIPT(words)

/* ---- the bytes -------------------------------------------------------------------------------
 */

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

/* ---- the table -------------------------------------------------------------------------------
 */

#define ROW_OTHER(name, file, type) {file, type, nb_asset_##name##_begin, nb_asset_##name##_end},
#define ROW_SCRIPT(name) ROW_OTHER(name, #name ".js", "text/javascript; charset=utf-8")

static const struct nb_asset ASSETS[] = {FILES(ROW_SCRIPT, ROW_OTHER)};

const struct nb_asset *nb_asset_find(struct nb_string name)
{
    for (size_t i = 0; i < sizeof ASSETS / sizeof ASSETS[0]; i++) {
        if (nb_string_same(name, nb_string_of(ASSETS[i].name)))
            return &ASSETS[i];
    }
    return NULL;
}
