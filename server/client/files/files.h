/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents read from files: single mails and texts, mbox, Maildir and Maildir++, folders, CSV,
 * TSV, NDJSON, index files, standard input. Memory is needed for one document at a time, whatever
 * the size of a file. One thread.
 */
#ifndef NB_SERVER_CLIENT_FILES_FILES_H
#define NB_SERVER_CLIENT_FILES_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/string.h"
#include "server/client/base/flags.h"
#include "tokenizer/charset.h"

struct json_t;

/* One document on its way from a file to the daemon. Any thread; what an item points to belongs to
 * the reader that made it. */
enum {
    NB_ITEM_MOST = NB_MAIL_BYTES /* bytes */
};

/* How an evaluation uses the document, where an index file says so. */
enum nb_item_part { NB_ITEM_ANY, NB_ITEM_TRAIN, NB_ITEM_TEST };

struct nb_item {
    bool is_mail;
    bool has_no_content; /* only values */
    struct nb_string content;
    struct nb_string values; /* of named fields, a JSON object; empty: none */
    struct nb_string label;  /* empty: none */
    struct nb_string id;     /* empty: the daemon makes one from the content */
    struct nb_string row;    /* row of a table, as CSV, if the options ask for it; empty: none */
    bool is_one_of_many;     /* a row or line of a file; others may have what it lacks */
    const char *name;        /* for messages: the file, and the place in it */
    enum nb_item_part part;
};

/* Options of every command that reads documents; embedded in the command's own. */
struct nb_files_options {
    const char *label;           /* of documents that have none of their own; or NULL */
    const char *format;          /* NULL: found from the name and the beginning of a file */
    const char *columns;         /* of CSV, TSV and JSON lines; NULL: found from the first line */
    const char *charset;         /* of texts and tables; NULL: found from their bytes */
    const struct json_t *fields; /* borrowed: kinds of the model's fields by name; or NULL */
    struct nb_flag_list folders; /* NAME=LABEL of Maildir++ folders */
    bool is_text, is_mail;       /* the kind of a document if the format leaves it open */
    bool by_folder;              /* the first folder below a path is the label */
    bool is_recursive;           /* all folders of a Maildir++ */
    bool keeps_rows;             /* items from a table carry their row */
    /* A row of a table without an id gets the id "SOURCE:ROW": repeated rows count, and the same
     * table again changes nothing. The source is `row_source`, and rows are then counted over all
     * files, in *rows; or, if it is NULL, a hash of the file. Without `rows` there are no such
     * ids. */
    const char *row_source;
    uint64_t *rows;
};

/* clang-format off */
/* Rows of a command's table of flags; struct nb_command_options has a member `files`. */
#define NB_FILES_FLAGS                                                                             \
    NB_TEXT("format", 'f', files.format), NB_TEXT("charset", 0, files.charset),                    \
    NB_TEXT("columns", 0, files.columns), NB_SWITCH("text", 0, files.is_text),                     \
    NB_SWITCH("mail", 0, files.is_mail)
#define NB_FILES_LABEL_FLAGS                                                                       \
    NB_TEXT("label", 'l', files.label), NB_SWITCH("by-folder", 0, files.by_folder),                \
    NB_LIST("folder", 0, files.folders), NB_SWITCH("recursive", 'r', files.is_recursive)
/* clang-format on */

/* The written form of a table, so that it can be written again in the same form. */
struct nb_table_form {
    bool is_known; /* set by the first table */
    char separator;
    bool is_quoted; /* cells may be in quotes; not in TSV */
    const char *line_end;
    bool has_mark; /* the table begins with a byte order mark */
    char charset[NB_CHARSET_NAME];
    char preface[8]; /* the line before the header that names the separator; or empty */
};

enum nb_file_news {
    NB_FILE_UNREAD,  /* a file that cannot be read, and why */
    NB_FILE_REFUSED, /* a row or line of a file that is not a document, and why */
    NB_FILE_REMARK   /* a remark that the user may want to read */
};

/* The source of documents and the callbacks that receive them. Read-only while they are read. */
struct nb_files {
    const struct nb_files_options *options; /* borrowed */
    /* Called with each document; a code below 0 ends the reading. What the item points to is valid
     * during the call. */
    int (*take)(void *user, const struct nb_item *item, struct nb_error *error);
    /* Called with what is to be said about a file; the reading goes on. */
    void (*tell)(void *user, enum nb_file_news news, const char *name, const char *what);
    /* With `keeps_rows`: called with the header of a table, in its form; NULL: not called. */
    int (*head)(void *user, struct nb_string row, struct nb_error *error);
    struct nb_table_form *form; /* set by the first table that is read; NULL: rows are CSV */
    void *user;
};

/* Walks over paths, folders and mailboxes, down to single files. One thread. */
/* Reads the documents of all paths in their order, or of standard input without a path. The entries
 * of a folder are sorted by the bytes of their names. LABEL=PATH gives a label to the documents
 * below PATH, unless a file has that whole name. Returns 0, what `take` returned, NB_NO_MEMORY or
 * NB_CLIENT_USAGE. `error` must not be NULL. */
int nb_files_read(const struct nb_files *files, char *const *paths, size_t count,
                  struct nb_error *error);

/* Returns the total bytes of all files under the paths; 0 when unknown (standard input, an
 * index). */
uint64_t nb_files_bytes(const struct nb_files_options *options, char *const *paths, size_t count);

#endif
