/* SPDX-License-Identifier: Apache-2.0
 *
 * The options of the daemon: the struct of their values, and the one table behind the configuration
 * file, the environment, the command line, --print-config, the example file and the tests. The
 * table is read-only; any thread.
 */
#ifndef NB_CONFIG_OPTION_TABLE_H
#define NB_CONFIG_OPTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of all options, from the defaults, the file, the environment and the command line.
 * Strings are owned. */
struct nb_config {
    /* [server] */
    char *listen;                     /* ADDRESS:PORT, [IPv6]:PORT; port 0 takes a free one */
    char *socket;                     /* path of a Unix socket; empty: none */
    int socket_mode;                  /* 0: owner, 1: group, 2: all */
    char *socket_users;               /* users who may check and learn mail there without a token */
    bool insecure;                    /* allow an address that is not loopback without tokens */
    char *hosts;                      /* names that a Host may have, separated by commas */
    char *proxies;                    /* addresses and networks whose X-Forwarded-For is believed */
    uint64_t threads;                 /* 0: one per core */
    uint64_t work_threads;            /* for long work, and the same number for loading models: 2 */
    uint64_t connections;             /* 1,000 */
    uint64_t connections_reserved;    /* of them for this machine, 50 */
    uint64_t connections_per_address; /* 200; 0: no limit */
    char *rate_classify;              /* "10/second", "600/minute" or "0" */
    char *rate_train;
    char *rate_failures;
    uint64_t timeout;         /* seconds without progress, 30 */
    uint64_t head_seconds;    /* for a head, 20 */
    uint64_t body_rate;       /* bytes per second, 500 */
    uint64_t request_seconds; /* for a whole request, 3,600 */
    uint64_t body_bytes;      /* 64 MiB after decompression */
    uint64_t line_bytes;      /* NDJSON line, 16 MiB */
    uint64_t unpack_ratio;    /* of compressed NDJSON, 200 */
    uint64_t batch_documents; /* 10,000 */
    uint64_t classify_models; /* of one call, 100 */
    uint64_t listing_rows;    /* explain and vocabulary, 10,000 */
    uint64_t listing_cells;   /* tokens times labels of a vocabulary, 1,000,000 */
    uint64_t spool_memory;    /* bytes of a long reply kept in memory before a file, 1 MiB */
    uint64_t body_memory;     /* of all incoming bodies, 96 MiB */
    uint64_t reply_memory;    /* of all replies that wait for their clients, 64 MiB */
    uint64_t spool_bytes;     /* of all temporary files together, 1 GiB */
    char *spool_directory;    /* for unlinked temporary files; empty: tmp in the data directory */
    uint64_t queue_changes;   /* waiting changes above which train answers 503, 100,000 */
    uint64_t stop_seconds;    /* how long a stop waits for running requests, 8 */
    /* [tokens], lists */
    char *tokens_classify;
    char *tokens_train;
    char *tokens_admin;
    char *tokens_trusted; /* addresses and networks */
    char *tokens_file;    /* of more tokens; empty: `tokens` in the data directory */
    /* [tls] */
    char *tls_listen; /* ADDRESS:PORT; empty: none */
    bool tls_only;
    char *tls_certificate, *tls_key; /* paths */
    char *tls_priorities;
    char *tls_client_ca; /* path; empty: none */
    int tls_client_role; /* 0: classify, 1: train, 2: admin */
    /* [store] */
    char *data;        /* directory */
    uint64_t map_size; /* bytes; 0: as large as the store can ever need */
    uint64_t journal;  /* 1 MiB; 0: none */
    uint64_t memory;   /* bytes of loaded models, 0: no limit */
    uint64_t disk;     /* 0 */
    bool keep_words;
    uint64_t replay_features;    /* 20,000,000 */
    uint64_t group_documents;    /* 1,024 */
    uint64_t backups;            /* 2; at the same time */
    uint64_t backup_seconds;     /* 3,600 */
    uint64_t superseded_seconds; /* 604,800 */
    /* [http] */
    char *http_origins; /* of pages that may use the daemon, separated by commas */
    /* [networks] */
    uint64_t network_table_cells;  /* probabilities of one network, 100,000 */
    uint64_t network_factor_cells; /* numbers in memory for one answer, 4,000,000 */
    uint64_t network_learn_values; /* rows times columns, 10,000,000 */
    uint64_t network_tests;        /* of independence, for one network, 100,000 */
    /* [models] */
    bool auto_create;
    uint64_t labels;               /* per model, 10,000 */
    uint64_t models;               /* 100,000 */
    char *quarantine;              /* sources */
    uint64_t quarantine_documents; /* of one model, 10,000 */
    uint64_t quarantine_bytes;     /* 64 MiB */
    uint64_t cluster_memory;       /* of all clusterings, 512 MiB */
    uint64_t next_documents;       /* judged by one request for the next ones to label, 1000 */
    /* [tokenizer] */
    uint64_t tokens; /* 100,000 */
    uint64_t mail_bytes;
    uint64_t mail_parts;
    uint64_t mail_depth;
    uint64_t header_bytes;
    uint64_t work; /* units for each byte */
    /* [filter] */
    char *filter_model;
    char *filter_user_model;  /* "%u" is the user's address; empty: no models of users */
    char *filter_user_map;    /* file that maps several names to one user; or empty */
    char *filter_user_parent; /* of users' models; "%d" is the domain of the address; or empty */
    int filter_several_users; /* 0: mildest, 1: each */
    char *filter_spam_label;  /* one, or several separated by commas */
    char *filter_ham_label;
    double filter_unsure; /* probabilities of spam */
    double filter_add_header;
    double filter_rewrite_subject;
    double filter_reject;
    char *filter_label_actions;         /* "phishing=reject, ..." */
    double filter_required_score;       /* at filter_reject */
    double filter_spamd_required_score; /* at filter_add_header */
    char *filter_subject;               /* "%s" is the mail's own */
    uint64_t filter_evidence;           /* tokens named in a symbol */
    bool filter_test_patterns;          /* rspamd's variants of GTUBE too */
    /* [nodes] */
    char *nodes_database;  /* conninfo of libpq; empty: a single daemon without nodes */
    char *nodes_databases; /* of single streams: "3=URI 7=URI" */
    uint64_t nodes_streams;
    char *nodes_key_file; /* path */
    char *nodes_name, *nodes_url;
    char *nodes_follow; /* numbers of streams; empty: all */
    char *nodes_peers;  /* addresses of other nodes; empty: nothing is cut */
    char *nodes_peer_token_file, *nodes_tls_ca, *nodes_tls_certificate, *nodes_tls_key; /* paths */
    uint64_t nodes_keep_seconds, nodes_member_seconds; /* an hour, a day */
    uint64_t nodes_digest_seconds;                     /* a day; 0: never */
    uint64_t nodes_patience;                           /* 15, in seconds */
    bool nodes_queue;
    uint64_t nodes_queue_bytes, nodes_queue_entries; /* 64M, 100000 */
    /* [log] */
    int log_level;     /* enum nb_log_level: error, warning, info, debug */
    int log_format;    /* 0: text, 1: json */
    bool log_verdicts; /* one event for each verdict */
};

enum nb_option_type {
    NB_OPTION_BOOL,   /* yes/no, true/false, on/off, 1/0 */
    NB_OPTION_COUNT,  /* whole number in minimum..maximum */
    NB_OPTION_BYTES,  /* whole number with optional K, M, G, T (1024) */
    NB_OPTION_NUMBER, /* number in minimum..maximum, with an optional fraction: a double */
    NB_OPTION_STRING, /* minimum..maximum bytes of UTF-8 without control characters */
    NB_OPTION_ENUM,
    NB_OPTION_ADDRESS, /* string: ADDRESS:PORT or [IPv6]:PORT, the address in digits */
    NB_OPTION_SECRET   /* string that no message shows; a listing without passwords in URLs */
};

/* When a changed value takes effect. */
enum nb_option_change {
    NB_RESTART, /* at the next start: the option is used only then (sockets, threads, the store) */
    NB_LIVE     /* when the daemon reads its configuration again (SIGHUP) */
};

struct nb_option {
    const char *group, *key;
    enum nb_option_type type;
    size_t offset; /* into struct nb_config */
    uint64_t minimum, maximum;
    const char *const *names; /* NB_OPTION_ENUM, NULL-terminated */
    const char *default_text; /* as it would stand in the file */
    const char *help;         /* one or two sentences, for the example file and the manual */
    enum nb_option_change change;
};

/* The table, in the order in which files and listings show it; sets *count. */
const struct nb_option *nb_option_table(size_t *count);

#endif
