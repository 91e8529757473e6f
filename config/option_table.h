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

enum { NB_CONFIG_FORMER = 512 };

/* The values of all options, from the defaults, the file, the environment and the command line.
 * Strings are owned. Numbers at the end of a comment are defaults. */
struct nb_config {
    /* [server] */
    char *listen;                     /* ADDRESS:PORT, [IPv6]:PORT; port 0 takes a free one */
    char *socket;                     /* path of a Unix socket; empty: none */
    int socket_mode;                  /* who may use the socket: 0: owner, 1: group, 2: all */
    char *socket_users;               /* users who may check and learn mail there without a token */
    bool insecure;                    /* serve other machines without any tokens */
    char *hosts;                      /* names allowed in the field Host, separated by commas */
    char *proxies;                    /* addresses and networks whose X-Forwarded-For is believed */
    uint64_t threads;                 /* 0: one per core */
    uint64_t work_threads;            /* for long work; as many others load models; 2 */
    uint64_t connections;             /* at the same time, 1,000 */
    uint64_t connections_reserved;    /* connections kept for clients on this machine, 50 */
    uint64_t connections_per_address; /* of one client address; 0: no limit; 200 */
    char *rate_classify; /* documents of a client: "10/second", "600/minute" or "0" (no limit) */
    char *rate_train;
    char *rate_failures;
    uint64_t timeout;         /* seconds without progress, 30 */
    uint64_t head_seconds;    /* for the head of a request, 20 */
    uint64_t body_rate;       /* least bytes per second of a body, 500 */
    uint64_t request_seconds; /* for a whole request, 3,600 */
    uint64_t body_bytes;      /* most bytes of a body after decompression, 64 MiB */
    uint64_t line_bytes;      /* most bytes of an NDJSON line, 16 MiB */
    uint64_t unpack_ratio;    /* most expansion of compressed NDJSON, 200 */
    uint64_t batch_documents; /* most documents of a batch or mbox, 10,000 */
    uint64_t classify_models; /* most models that one call may name, 100 */
    uint64_t listing_rows;    /* most rows of an explanation or a listing, 10,000 */
    uint64_t listing_cells;   /* most tokens times labels of a vocabulary, 1,000,000 */
    uint64_t spool_memory;    /* bytes of a long reply kept in memory before a file, 1 MiB */
    uint64_t body_memory;     /* bytes of all incoming bodies together, 96 MiB */
    uint64_t reply_memory;    /* bytes of all replies that wait for their clients, 64 MiB */
    uint64_t spool_bytes;     /* of all temporary files together, 1 GiB */
    char *spool_directory;    /* for unlinked temporary files; empty: tmp in the data directory */
    uint64_t queue_changes;   /* waiting changes above which train answers 503, 100,000 */
    uint64_t stop_seconds;    /* how long a stop waits for running requests, 8 */
    /* [tokens]: lists separated by commas */
    char *tokens_classify;
    char *tokens_train;
    char *tokens_admin;
    char *tokens_trusted; /* addresses and networks whose mail software needs no token */
    char *tokens_file;    /* file of more tokens; empty: `tokens` in the data directory */
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
    uint64_t journal;  /* bytes of small changes kept in the journal; 0: no journal; 1 MiB */
    uint64_t memory;   /* bytes of loaded models, 0: no limit */
    uint64_t disk;     /* bytes that the store may use, 0: no limit */
    bool keep_words;
    uint64_t replay_features; /* features that a start after a crash may read again, 20,000,000 */
    uint64_t group_documents; /* most changes that share one write to the disk, 1,024 */
    uint64_t backups;         /* at the same time, 2 */
    uint64_t backup_seconds;  /* most seconds of a backup or an export, 3,600 */
    uint64_t superseded_seconds; /* how long former labels of documents are kept, 604,800 */
    /* [http] */
    char *http_origins; /* origins of pages that may use the daemon, separated by commas */
    /* [networks] */
    uint64_t network_table_cells;  /* most probabilities of one network, 100,000 */
    uint64_t network_factor_cells; /* most numbers in memory for one answer, 4,000,000 */
    uint64_t network_learn_values; /* most rows times columns, 10,000,000 */
    uint64_t network_tests;        /* most tests of independence to learn one network, 100,000 */
    /* [models] */
    bool auto_create;
    uint64_t labels;  /* most labels of one model, 10,000 */
    uint64_t models;  /* most models, 100,000 */
    char *quarantine; /* sources whose changes wait in the quarantine, separated by commas */
    uint64_t quarantine_documents; /* most changes in the quarantine of one model, 10,000 */
    uint64_t quarantine_bytes;     /* most bytes of these changes, 64 MiB */
    uint64_t cluster_memory;       /* bytes of all clusterings together, 512 MiB */
    uint64_t next_documents;       /* documents judged to find the next ones to label, 1,000 */
    /* [tokenizer] */
    uint64_t tokens; /* most tokens of one document, 100,000 */
    uint64_t mail_bytes;
    uint64_t mail_parts;
    uint64_t mail_depth;
    uint64_t header_bytes;
    uint64_t work; /* most units of work for each byte of a document, 32 */
    /* [filter] */
    char *filter_model;
    char *filter_user_model; /* "%u" is the user's address; empty: no models of users */
    char *filter_user_map;   /* file that maps several names to one user; empty: none */
    char *
        filter_user_parent; /* parent of users' models; "%d" is the address's domain; empty: none */
    int filter_several_users; /* verdict for several users: 0: the mildest, 1: one for each */
    char *filter_spam_labels; /* one label, or several separated by commas */
    char *filter_ham_label;
    double filter_unsure; /* this and the next three: probabilities of spam */
    double filter_add_header;
    double filter_rewrite_subject;
    double filter_reject;
    char *filter_label_actions;         /* "phishing=reject, ..." */
    double filter_required_score;       /* score at the probability filter_reject */
    double filter_spamd_required_score; /* score at the probability filter_add_header */
    char *filter_subject;               /* the new Subject of spam; "%s" is the mail's own */
    uint64_t filter_evidence;           /* most tokens named in each symbol */
    bool filter_test_patterns;          /* accept rspamd's variants of GTUBE too */
    /* [nodes] */
    char *nodes_database;  /* conninfo of libpq; empty: a single daemon without nodes */
    char *nodes_databases; /* other databases of single streams: "3=URI 7=URI" */
    uint64_t nodes_streams;
    char *nodes_key_file; /* path */
    char *nodes_name, *nodes_url;
    char *nodes_follow; /* numbers of streams; empty: all */
    char *nodes_peers;  /* addresses of other nodes; empty: this node deletes no old changes */
    char *nodes_peer_token_file, *nodes_tls_ca, *nodes_tls_certificate, *nodes_tls_key; /* paths */
    uint64_t nodes_keep_seconds, nodes_member_seconds; /* 3,600 and 86,400 */
    uint64_t nodes_digest_seconds; /* between comparisons of digests; 0: never; 86,400 */
    uint64_t nodes_patience;       /* seconds that a client waits for its change, 15 */
    bool nodes_queue;
    uint64_t nodes_queue_bytes, nodes_queue_entries; /* at most, 64 MiB and 100,000 */
    /* [events] */
    char *events_url;                   /* empty: none are sent */
    char *events_secret_file;           /* path */
    char *events_types;                 /* separated by commas */
    char *events_tls_ca;                /* path */
    uint64_t events_timeout;            /* seconds for one attempt, 5 */
    uint64_t events_retries;            /* attempts after the first one, 8 */
    uint64_t events_retry_seconds;      /* before the second attempt, 5 */
    uint64_t events_retry_seconds_most; /* the longest pause, 900 */
    uint64_t events_queue;              /* most events that wait, 1,000 */
    uint64_t events_unsure_per_minute;  /* most of unsure verdicts, 60 */
    double events_drift;
    uint64_t events_suspects;
    uint64_t events_look_seconds; /* between two looks at the models, 10 */
    /* [log] */
    int log_level;     /* enum nb_log_level: error, warning, info, debug */
    int log_format;    /* 0: text, 1: json */
    bool log_verdicts; /* one event for each verdict */
    /* No option: the former names that were read, for a warning. */
    char former[NB_CONFIG_FORMER];
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
    size_t offset; /* of the member in struct nb_config */
    uint64_t minimum, maximum;
    const char *const *names; /* NB_OPTION_ENUM, NULL-terminated */
    const char *default_text; /* as it would be written in the file */
    const char *help;         /* one or two sentences, for the example file and the manual */
    enum nb_option_change change;
};

/* The table, in the order in which files and listings show it; sets *count. */
const struct nb_option *nb_option_table(size_t *count);

/* A name that an option had in an earlier version. It is read for ever, with a warning. */
struct nb_former_option {
    const char *group, *key; /* the former name, which no option has any more */
    const char *now_group, *now_key;
};
/* The former names; sets *count. */
const struct nb_former_option *nb_option_former_table(size_t *count);

#endif
