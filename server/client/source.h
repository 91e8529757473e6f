/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents out of files: single mails and texts, mbox, Maildir and Maildir++, folders, CSV, TSV,
 * NDJSON, index files, standard input. What is read is bounded by one document, not by the file.
 * One thread.
 */
#ifndef NB_CLIENT_SOURCE_H
#define NB_CLIENT_SOURCE_H

#include "server/client/client.h"
#include "server/client/item.h"
#include "server/client/options.h"

enum {
    NB_ITEM_MOST = 40 * 1024 * 1024, /* bytes of a document: in base64 it fits the daemon's body */
    NB_DEPTH_MOST = 64               /* folders within folders */
};

/* Options of every command that reads documents; embedded in the command's own. */
struct nb_source_options {
    const char *label;      /* of all that have none of their own; or NULL */
    const char *format;     /* NULL: found out */
    const char *columns;    /* of CSV and TSV; NULL: the first line says */
    struct nb_list folders; /* NAME=LABEL of Maildir++ folders */
    bool is_text, is_mail;  /* what a document is, where nothing says so */
    bool by_folder;         /* the first folder below a path is the label */
    bool is_recursive;      /* all folders of a Maildir++ */
};

/* The rows of an option table for them: `struct` has a member `source`. */
#define NB_SOURCE_OPTIONS(type)                                                                    \
    {"format",                                                                                     \
     'f',                                                                                          \
     NB_OPTION_TEXT,                                                                               \
     "FORMAT",                                                                                     \
     offsetof(type, source.format),                                                                \
     0,                                                                                            \
     0,                                                                                            \
     "file (one document), mbox, csv, tsv, ndjson or index (a line:\n"                             \
     "LABEL FILE [train|test]); without it, the name and the beginning\nof the file say"},         \
        {"columns",                                                                                \
         0,                                                                                        \
         NB_OPTION_TEXT,                                                                           \
         "NAMES",                                                                                  \
         offsetof(type, source.columns),                                                           \
         0,                                                                                        \
         0,                                                                                        \
         "columns of CSV and TSV without a first line that names them,\n"                          \
         "from text, mail, label, id and - (passed over): label,text,-"},                          \
        {"text",                                                                                   \
         0,                                                                                        \
         NB_OPTION_SWITCH,                                                                         \
         NULL,                                                                                     \
         offsetof(type, source.is_text),                                                           \
         0,                                                                                        \
         0,                                                                                        \
         "files are texts, whatever they look like"},                                              \
    {                                                                                              \
        "mail", 0, NB_OPTION_SWITCH, NULL, offsetof(type, source.is_mail), 0, 0,                   \
            "files are mails, whatever they look like"                                             \
    }

#define NB_SOURCE_LABEL_OPTIONS(type)                                                              \
    {"label",                                                                                      \
     'l',                                                                                          \
     NB_OPTION_TEXT,                                                                               \
     "LABEL",                                                                                      \
     offsetof(type, source.label),                                                                 \
     0,                                                                                            \
     0,                                                                                            \
     "the label of all documents that have none of their own"},                                    \
        {"by-folder",                                                                              \
         0,                                                                                        \
         NB_OPTION_SWITCH,                                                                         \
         NULL,                                                                                     \
         offsetof(type, source.by_folder),                                                         \
         0,                                                                                        \
         0,                                                                                        \
         "the name of the first folder below a PATH is the label"},                                \
        {"folder",                                                                                 \
         0,                                                                                        \
         NB_OPTION_LIST,                                                                           \
         "NAME=LABEL",                                                                             \
         offsetof(type, source.folders),                                                           \
         0,                                                                                        \
         0,                                                                                        \
         "the folder NAME of a Maildir++ has this label; without a label\n"                        \
         "it is passed over; may be repeated"},                                                    \
    {                                                                                              \
        "recursive", 'r', NB_OPTION_SWITCH, NULL, offsetof(type, source.is_recursive), 0, 0,       \
            "with all folders of a Maildir++ but Trash, Drafts and Templates"                      \
    }

#define NB_SOURCE_DETAILS                                                                          \
    "A PATH is a file, a folder with all that is in it, or - for standard input. Found out by\n"   \
    "themselves: a single mail or text, an mbox, a Maildir (cur and new; mails marked as trash\n"  \
    "or draft are passed over), and by their names .csv, .tsv, .ndjson and .jsonl. Files and\n"    \
    "folders whose name begins with a dot are passed over.\n"

struct nb_source {
    const struct nb_source_options *options;
    /* Called with each document; a code below 0 ends the reading. What the item points to is valid
     * during the call. */
    int (*take)(void *user, const struct nb_item *item, struct nb_error *error);
    /* Called with what cannot be read and why; the reading goes on. */
    void (*skip)(void *user, const char *name, const char *reason);
    void *user;
};

/* Reads all paths in order, folders by the bytes of the names in them; without a path, standard
 * input. LABEL=PATH gives a label, unless there is a file of that whole name. Returns 0, what
 * `take` returned, NB_NO_MEMORY or NB_CLIENT_USAGE. */
int nb_source_read(const struct nb_source *source, char *const *paths, size_t count,
                   struct nb_error *error);

/* The bytes of all files under the paths; 0 when that cannot be known (standard input). */
uint64_t nb_source_bytes(const struct nb_source_options *options, char *const *paths, size_t count);

#endif
