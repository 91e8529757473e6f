/* SPDX-License-Identifier: Apache-2.0
 *
 * All options of the daemon. To add one: add a member to struct nb_config and a row here, and run
 * `make config/bayesd.conf`.
 */
#include "config/option_table.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

/* PATH_MAX of Linux without its NUL. */
#define PATH_BYTES 4095

/* libmicrohttpd and the kernel count descriptors in an int; no machine serves more connections. */
#define MOST_CONNECTIONS 1000000

/* The limits of nb_check_model_name and nb_check_label. */
#define MODEL_BYTES 128
#define LABEL_BYTES 64

/* Most bytes of a rate such as 1000000000/minute. */
#define RATE_BYTES 32

/* Most bytes of a list of tokens: enough for a few hundred. */
#define LIST_BYTES 16384

#define AT(member) offsetof(struct nb_config, member)

static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};

static const char *const several_users[] = {"mildest", "each", NULL};
static const char *const log_formats[] = {"text", "json", NULL};

static const char *const socket_modes[] = {"owner", "group", "all", NULL};

static const char *const client_roles[] = {"classify", "train", "admin", NULL};

static const struct nb_option options[] = {
    {"server", "listen", NB_OPTION_ADDRESS, AT(listen), 1, 64, NULL, "127.0.0.1:8763",
     "Where to listen: ADDRESS:PORT or [IPv6]:PORT, the address in digits. Port 0 takes a free "
     "port, which the line \"bayesd: ready on ...\" names.",
     NB_RESTART},
    {"server", "socket", NB_OPTION_STRING, AT(socket), 0, 107, NULL, "",
     "Path of a Unix socket that is served, too, with the same protocols. Empty: none.",
     NB_RESTART},
    {"server", "socket_mode", NB_OPTION_ENUM, AT(socket_mode), 0, 2, socket_modes, "group",
     "Who may use the socket: owner, group or all.", NB_RESTART},
    {"server", "socket_users", NB_OPTION_STRING, AT(socket_users), 0, LIST_BYTES, NULL, "",
     "Users of this machine, by name or number and separated by commas, who may check and learn "
     "mail over the Unix socket without a token; * stands for everybody who can connect to it. "
     "Without any tokens this option has no effect. In a service with PrivateUsers=yes the daemon "
     "sees the numbers of root and of itself only.",
     NB_LIVE},
    {"server", "insecure", NB_OPTION_BOOL, AT(insecure), 0, 1, NULL, "no",
     "Serve other machines without any tokens: on an address that is not loopback, or through a "
     "reverse proxy. There is no authentication then: everybody who can reach the port can train "
     "and delete models.",
     NB_LIVE},
    {"server", "hosts", NB_OPTION_STRING, AT(hosts), 0, PATH_BYTES, NULL, "",
     "Host names, separated by commas, that the Host field of a request without a token may have, "
     "in addition to addresses and localhost; * allows any. Other names are refused, because a web "
     "page whose name resolves to this machine could use the daemon through a browser on a machine "
     "that needs no token. A request with a token may have any Host.",
     NB_LIVE},
    {"server", "proxies", NB_OPTION_STRING, AT(proxies), 0, LIST_BYTES, NULL, "",
     "Addresses and networks of reverse proxies, separated by commas, whose X-Forwarded-For is "
     "believed: a request that comes from one of them counts as coming from the last address there "
     "that is not itself in this list. The proxy must append the address of its client, also when "
     "the client sends such a field. A request that has passed any other proxy (one with "
     "Forwarded, X-Forwarded-For or Via) proves nothing by its address.",
     NB_LIVE},
    {"server", "threads", NB_OPTION_COUNT, AT(threads), 0, 1024, NULL, "0",
     "Threads that serve requests. 0 takes one per processor core.", NB_RESTART},
    {"server", "work_threads", NB_OPTION_COUNT, AT(work_threads), 1, 64, NULL, "2",
     "Threads for long work: exports, imports, evaluations, vocabularies, deletions. The same "
     "number of further threads loads models into memory. Work that finds no free thread waits, "
     "without delaying other requests.",
     NB_RESTART},
    {"server", "connections", NB_OPTION_COUNT, AT(connections), 1, MOST_CONNECTIONS, NULL, "1000",
     "Connections at the same time; further ones are answered with 503 and closed. Each needs a "
     "file descriptor: raise LimitNOFILE of the service, too.",
     NB_RESTART},
    {"server", "connections_reserved", NB_OPTION_COUNT, AT(connections_reserved), 0,
     MOST_CONNECTIONS, NULL, "50",
     "How many of them, up to half, are kept for clients on this machine: on loopback or the Unix "
     "socket. Beyond all, 16 more may ask for /healthz and /readyz on loopback.",
     NB_RESTART},
    {"server", "connections_per_address", NB_OPTION_COUNT, AT(connections_per_address), 0,
     MOST_CONNECTIONS, NULL, "200",
     "Connections at the same time from one client address, or one IPv6 network of 64 bits; "
     "further ones are answered with 429 and closed. Clients on this machine and the addresses "
     "under proxies have no such limit. 0 means no limit for anybody.",
     NB_LIVE},
    {"server", "rate_classify", NB_OPTION_STRING, AT(rate_classify), 1, RATE_BYTES, NULL, "0",
     "Documents that one client may send to be classified or tokenized, as 10/second, 600/minute "
     "or "
     "1000/hour; 0 means no limit. Each token and each address may send as many; as many may also "
     "come at once. More are answered with 429 and Retry-After (mail software is told to try again "
     "later). The documents of one batch or stream may be ahead of the rate by a minute.",
     NB_LIVE},
    {"server", "rate_train", NB_OPTION_STRING, AT(rate_train), 1, RATE_BYTES, NULL, "0",
     "The same for documents to be learned or forgotten.", NB_LIVE},
    {"server", "rate_failures", NB_OPTION_STRING, AT(rate_failures), 1, RATE_BYTES, NULL,
     "10/minute",
     "Unknown tokens that one address may show; then its tokens are answered with 429 and "
     "Retry-After, except those that bayesd --new-token made and those that were shown from there "
     "before. 0 means no limit.",
     NB_LIVE},
    {"server", "timeout", NB_OPTION_COUNT, AT(timeout), 1, 86400, NULL, "30",
     "Seconds without progress after which a connection is closed, also if it is idle.",
     NB_RESTART},
    {"server", "head_seconds", NB_OPTION_COUNT, AT(head_seconds), 1, 86400, NULL, "20",
     "Seconds that the head of an HTTP request may take from its first byte; then it is answered "
     "with 408. On a connection that has had a request before, the time that it may be idle "
     "(timeout) is added.",
     NB_LIVE},
    {"server", "body_rate", NB_OPTION_BYTES, AT(body_rate), 0, GIB, NULL, "500",
     "Bytes per second that the body of a request must bring on average, measured over each "
     "timeout; otherwise it is answered with 408. The time that the daemon itself needs does not "
     "count. 0 means that any byte is progress.",
     NB_LIVE},
    {"server", "request_seconds", NB_OPTION_COUNT, AT(request_seconds), 1, 604800, NULL, "3600",
     "Seconds that a request may take in all, from its head to the last byte of the reply. Work "
     "that the daemon has begun is not broken off.",
     NB_LIVE},
    {"server", "body_bytes", NB_OPTION_BYTES, AT(body_bytes), KIB, 64 * GIB, NULL, "64M",
     "Bytes of a request body after decompression; a larger body is answered with 413. NDJSON is "
     "read line by line and is limited by line_bytes and unpack_ratio only.",
     NB_LIVE},
    {"server", "line_bytes", NB_OPTION_BYTES, AT(line_bytes), KIB, 4 * GIB, NULL, "16M",
     "Bytes of one line of NDJSON, which is one document.", NB_LIVE},
    {"server", "unpack_ratio", NB_OPTION_COUNT, AT(unpack_ratio), 2, 1000000, NULL, "200",
     "Compressed NDJSON may unpack to so many times its own size, and line_bytes more; beyond that "
     "it is answered with 413. Texts and dumps unpack to some ten times their size.",
     NB_LIVE},
    {"server", "batch_documents", NB_OPTION_COUNT, AT(batch_documents), 1, 10000000, NULL, "10000",
     "Documents of one {\"documents\": [...]} or one mbox; more are answered with 413.", NB_LIVE},
    {"server", "classify_models", NB_OPTION_COUNT, AT(classify_models), 1, 1000, NULL, "100",
     "Models that one call of /v1/classify may name; more are answered with 413.", NB_LIVE},
    {"server", "listing_rows", NB_OPTION_COUNT, AT(listing_rows), 1, 10000000, NULL, "10000",
     "Rows that ?explain=, ?limit= and ?length= may request: tokens, or models of one page.",
     NB_LIVE},
    {"server", "listing_cells", NB_OPTION_COUNT, AT(listing_cells), 1, 1000000000, NULL, "1000000",
     "Tokens times labels that one vocabulary may list; the listing ends before the token that "
     "exceeds it.",
     NB_LIVE},
    {"server", "spool_memory", NB_OPTION_BYTES, AT(spool_memory), 4 * KIB, GIB, NULL, "1M",
     "Bytes of a long reply that are kept in memory; the rest is kept in a temporary file.",
     NB_LIVE},
    {"server", "body_memory", NB_OPTION_BYTES, AT(body_memory), MIB, TIB, NULL, "96M",
     "Memory of all request bodies together that are being received or worked on. When it is used "
     "up, further ones are answered with 503. A body of body_bytes that is alone always fits.",
     NB_LIVE},
    {"server", "reply_memory", NB_OPTION_BYTES, AT(reply_memory), MIB, TIB, NULL, "64M",
     "Memory of all replies together that clients have not read yet: mails that are returned "
     "(SPAMC PROCESS), listings, the beginnings of long replies. When it is used up, long replies "
     "go to temporary files at once, and others of more than 64 KiB are answered with 503.",
     NB_LIVE},
    {"server", "spool_bytes", NB_OPTION_BYTES, AT(spool_bytes), MIB, 16 * TIB, NULL, "1G",
     "Bytes of all these temporary files together. A reply that needs more is answered with 503.",
     NB_LIVE},
    {"server", "spool_directory", NB_OPTION_STRING, AT(spool_directory), 0, PATH_BYTES, NULL, "",
     "Directory of the temporary files, which have no name and are removed with their connection; "
     "it is created if it is missing. Empty: tmp in the data directory. On a file system of its "
     "own, long replies cannot take the place of what is learned.",
     NB_RESTART},
    {"server", "queue_changes", NB_OPTION_COUNT, AT(queue_changes), 1, 100000000, NULL, "100000",
     "Changes that may wait to be written. If more are waiting, train and untrain are answered "
     "with 503 and Retry-After.",
     NB_LIVE},
    {"server", "stop_seconds", NB_OPTION_COUNT, AT(stop_seconds), 0, 3600, NULL, "8",
     "Seconds that a stop waits for running requests. What was acknowledged is on disk in any "
     "case.",
     NB_LIVE},

    {"tokens", "classify", NB_OPTION_SECRET, AT(tokens_classify), 0, LIST_BYTES, NULL, "",
     "Tokens of clients that may classify and read, separated by commas: each of at least 16 "
     "characters, or sha256: and the hexadecimal SHA-256 of a token, as printed by \"printf %s "
     "TOKEN | sha256sum\". As soon as there is any token, every request except /healthz needs one: "
     "as Authorization: Bearer TOKEN, or as the password of a client of rspamd. NAME=TOKEN gives "
     "the token a name, which is the source of changes made with it.",
     NB_LIVE},
    {"tokens", "train", NB_OPTION_SECRET, AT(tokens_train), 0, LIST_BYTES, NULL, "",
     "Tokens of clients that may also train and untrain.", NB_LIVE},
    {"tokens", "admin", NB_OPTION_SECRET, AT(tokens_admin), 0, LIST_BYTES, NULL, "",
     "Tokens of clients that may do everything: also create, change, delete, export and import "
     "models.",
     NB_LIVE},
    {"tokens", "trusted", NB_OPTION_STRING, AT(tokens_trusted), 0, LIST_BYTES, NULL, "",
     "Addresses and networks (127.0.0.1, 192.0.2.0/24), separated by commas, from which mail "
     "software may check and learn mail without a token, by the rspamd and SpamAssassin protocols. "
     "Most clients of these protocols cannot show a token. It does not hold for requests that came "
     "through a proxy, unless [server] proxies names it. Without any tokens this option has no "
     "effect.",
     NB_LIVE},
    {"tokens", "file", NB_OPTION_STRING, AT(tokens_file), 0, PATH_BYTES, NULL, "",
     "File of further tokens, which bayesd --new-token and --revoke-token write. Empty: the file "
     "`tokens` in the data directory, if there is one. Where there is such a file, every request "
     "needs a token, also when the file has none. It is read at the start and with the "
     "configuration.",
     NB_LIVE},

    {"tls", "listen", NB_OPTION_STRING, AT(tls_listen), 0, 64, NULL, "",
     "Where HTTP over TLS is served: ADDRESS:PORT or [IPv6]:PORT. Only HTTP: clients of the "
     "line protocols (spamc, RSPAMC) use the port of [server] or the Unix socket. "
     "Empty: nowhere.",
     NB_RESTART},
    {"tls", "only", NB_OPTION_BOOL, AT(tls_only), 0, 1, NULL, "no",
     "The port of [server] listen speaks TLS, and nothing is served without it but the Unix "
     "socket.",
     NB_RESTART},
    {"tls", "certificate", NB_OPTION_STRING, AT(tls_certificate), 0, PATH_BYTES, NULL, "",
     "File of the certificate, in PEM, followed by those that lead to its authority.", NB_LIVE},
    {"tls", "key", NB_OPTION_STRING, AT(tls_key), 0, PATH_BYTES, NULL, "",
     "File of its private key, in PEM, which the daemon's user must be able to read.", NB_LIVE},
    {"tls", "priorities", NB_OPTION_STRING, AT(tls_priorities), 1, 1024, NULL,
     "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2",
     "Versions and algorithms, as a priority string of GnuTLS.", NB_LIVE},
    {"tls", "client_ca", NB_OPTION_STRING, AT(tls_client_ca), 0, PATH_BYTES, NULL, "",
     "File of authorities, in PEM. A client that shows a certificate of one of them has the role "
     "client_role without a token; its common name is the source of its changes. No client has to "
     "show one. Every other request needs a token then. Empty: none is asked for.",
     NB_LIVE},
    {"tls", "client_role", NB_OPTION_ENUM, AT(tls_client_role), 0, 2, client_roles, "classify",
     "The role of such clients: classify, train or admin.", NB_LIVE},

    {"store", "data", NB_OPTION_STRING, AT(data), 1, PATH_BYTES, NULL, "/var/lib/bayesd",
     "Directory of the models; it is created if it is missing. Only one daemon at a time may use "
     "it. It must be on a local file system: memory-mapped files and locks do not work over NFS.",
     NB_RESTART},
    {"store", "map_size", NB_OPTION_BYTES, AT(map_size), 0, 16 * TIB, NULL, "0",
     "Address space that the store begins with; it grows by itself. 0 reserves up to 1 TiB, as "
     "much as the process may have, so that it never has to grow. Address space is neither memory "
     "nor disk in use.",
     NB_RESTART},
    {"store", "journal", NB_OPTION_BYTES, AT(journal), 0, 256 * MIB, NULL, "1M",
     "Bytes of small changes that are kept in the file journal of the directory until the store's "
     "own file gets them, all at once. Learning documents one by one writes a sixth of what it "
     "does without a journal (0).",
     NB_RESTART},
    {"store", "memory", NB_OPTION_BYTES, AT(memory), 0, 16 * TIB, NULL, "0",
     "Bytes that loaded models may take. Above that, the models that were not used for longest "
     "leave memory until they are needed again. 0 means no limit.",
     NB_RESTART},
    {"store", "disk", NB_OPTION_BYTES, AT(disk), 0, 16 * TIB, NULL, "0",
     "Bytes that the store may use. Above that, the oldest documents of all models are taken out "
     "again, until it uses a sixteenth less. The file itself does not get smaller: what becomes "
     "free is used again. 0 means no limit.",
     NB_RESTART},
    {"store", "keep_words", NB_OPTION_BOOL, AT(keep_words), 0, 1, NULL, "yes",
     "Keep the text of every word with its counts, for listings of the vocabulary. Without it the "
     "store holds keyed hashes of words only, and listings show these.",
     NB_RESTART},
    {"store", "replay_features", NB_OPTION_COUNT, AT(replay_features), 1000,
     (uint64_t)1000 * 1000 * 1000 * 1000, NULL, "20000000",
     "Counted features that a start after a crash may have to read again, of all models together. "
     "A "
     "smaller number makes the start faster, and learning writes more.",
     NB_RESTART},
    {"store", "group_documents", NB_OPTION_COUNT, AT(group_documents), 1, 1000000, NULL, "1024",
     "Changes that may share one write to the disk. Only changes that are waiting already are "
     "written together; none waits for others.",
     NB_RESTART},
    {"store", "backups", NB_OPTION_COUNT, AT(backups), 1, 64, NULL, "2",
     "Backups that may be sent at the same time; more are answered with 503.", NB_LIVE},
    {"store", "backup_seconds", NB_OPTION_COUNT, AT(backup_seconds), 1, 604800, NULL, "3600",
     "Seconds that a backup or an export may take. While it is sent the store keeps the data as "
     "they were when it began, and grows by about what is written meanwhile. After this time the "
     "next change ends it, before its end mark.",
     NB_LIVE},
    {"store", "superseded_seconds", NB_OPTION_COUNT, AT(superseded_seconds), 0, 315360000, NULL,
     "604800",
     "Seconds that the store keeps the label, source and time that a document had before its label "
     "was changed, so that an undo can bring them back. At most eight such states of a document "
     "are kept; they go when it is untrained or gets other content. 0: they go after some seconds "
     "without work.",
     NB_LIVE},

    {"http", "origins", NB_OPTION_STRING, AT(http_origins), 0, LIST_BYTES, NULL, "",
     "Origins of web pages that may use the daemon from a browser, separated by commas, as in "
     "https://app.example.org, http://localhost:3000; * stands for any. Such a page must show a "
     "token (Authorization: Bearer TOKEN): neither its address, a certificate nor a cookie gives "
     "it a role, so that there must be [tokens]. Empty: requests of pages of other sites are "
     "refused.",
     NB_LIVE},

    {"networks", "table_cells", NB_OPTION_COUNT, AT(network_table_cells), 1, 10000000, NULL,
     "100000", "Probabilities in all tables of one network; more are answered with 413.", NB_LIVE},
    {"networks", "factor_cells", NB_OPTION_COUNT, AT(network_factor_cells), 1, 1000000000, NULL,
     "4000000",
     "Numbers (8 bytes each) that one answer of a network may have in memory at a time; an answer "
     "that needs more, or 64 times as many products, is refused with 413. A test of independence "
     "that would count more combinations is not made.",
     NB_LIVE},
    {"networks", "learn_values", NB_OPTION_COUNT, AT(network_learn_values), 1, 4000000000, NULL,
     "10000000",
     "Values, rows times columns, that a network is learned from, or that samples of it may have; "
     "each takes a byte. More are answered with 413.",
     NB_LIVE},
    {"networks", "tests", NB_OPTION_COUNT, AT(network_tests), 1, 1000000000, NULL, "100000",
     "Tests of independence that learning one network may take; beyond that it is answered with "
     "413.",
     NB_LIVE},
    {"models", "auto_create", NB_OPTION_BOOL, AT(auto_create), 0, 1, NULL, "yes",
     "Create a model with the default settings when the first document is trained into it. With "
     "\"no\" such a request is answered with 404, and PUT /v1/models/NAME creates models.",
     NB_RESTART},
    {"models", "labels", NB_OPTION_COUNT, AT(labels), 1, 1000000, NULL, "10000",
     "Labels that one model may have.", NB_RESTART},
    {"models", "models", NB_OPTION_COUNT, AT(models), 1, 100000000, NULL, "100000",
     "Models that the store may have.", NB_RESTART},
    {"models", "quarantine", NB_OPTION_STRING, AT(quarantine), 0, LIST_BYTES, NULL, "",
     "Sources without trust, separated by commas: names of tokens, doors (http, rspamd, spamc) for "
     "requests without a named token, or sources that documents give. What they train and untrain "
     "waits in the quarantine of the model until an administrator applies or drops it.",
     NB_LIVE},
    {"models", "quarantine_documents", NB_OPTION_COUNT, AT(quarantine_documents), 1, 10000000, NULL,
     "10000", "Changes that may wait in the quarantine of one model; more are answered with 413.",
     NB_RESTART},
    {"models", "quarantine_bytes", NB_OPTION_BYTES, AT(quarantine_bytes), KIB, TIB, NULL, "64M",
     "Bytes that they may take together.", NB_RESTART},
    {"models", "cluster_memory", NB_OPTION_BYTES, AT(cluster_memory), MIB, TIB, NULL, "512M",
     "Memory of all requests together that look for clusters. One that needs more is answered with "
     "413; if it would fit alone, with 503.",
     NB_LIVE},
    {"models", "next_documents", NB_OPTION_COUNT, AT(next_documents), 1, 1000000, NULL, "1000",
     "Documents that one request for those to label next judges: so many verdicts of the history "
     "without a label, those that were least sure, and so many stored documents without one. A "
     "mail takes 0.2 ms.",
     NB_LIVE},

    {"tokenizer", "tokens", NB_OPTION_COUNT, AT(tokens), 1, 100000000, NULL, "100000",
     "Tokens of one document that are counted. As with all limits of this group, the rest is left "
     "out, and the reply says \"truncated\": true.",
     NB_RESTART},
    {"tokenizer", "mail_bytes", NB_OPTION_BYTES, AT(mail_bytes), KIB, GIB, NULL, "4M",
     "Bytes of one mail that are read.", NB_RESTART},
    {"tokenizer", "mail_parts", NB_OPTION_COUNT, AT(mail_parts), 1, 1000000, NULL, "1000",
     "MIME parts of one mail that are read.", NB_RESTART},
    {"tokenizer", "mail_depth", NB_OPTION_COUNT, AT(mail_depth), 1, 1000, NULL, "32",
     "Depth to which nested multiparts and messages are opened.", NB_RESTART},
    {"tokenizer", "header_bytes", NB_OPTION_BYTES, AT(header_bytes), KIB, GIB, NULL, "1M",
     "Bytes of the header of one mail that are read.", NB_RESTART},
    {"tokenizer", "work", NB_OPTION_COUNT, AT(work), 8, 1000000, NULL, "32",
     "Work that one document may take, in units for each of its bytes, or of 65536 bytes if it has "
     "fewer; a unit takes 1 to 15 ns of processor time. Documents that are not made to cost much "
     "take 5 to 15. Units are counted and not measured, so the same document always has the same "
     "features.",
     NB_RESTART},

    {"filter", "model", NB_OPTION_STRING, AT(filter_model), 1, MODEL_BYTES, NULL, "mail",
     "The model that clients of the rspamd and SpamAssassin protocols use to check and learn "
     "mail.",
     NB_LIVE},
    {"filter", "user_model", NB_OPTION_STRING, AT(filter_user_model), 0, MODEL_BYTES, NULL, "",
     "Models of users: a name in which %u stands for the address that the client gives "
     "(Deliver-To, User), in lower case, as in \"mail-%u\". Mail of a user is learned by the model "
     "of that user, and classified by it as soon as it is ready; until then by the common model, "
     "unless that has learned nothing. "
     "Mail to several users has the mildest verdict of their models. "
     "Empty: there are no models of users.",
     NB_LIVE},
    {"filter", "user_map", NB_OPTION_STRING, AT(filter_user_map), 0, PATH_BYTES, NULL, "",
     "File that says which of the names that clients give are the same user, so that what a login "
     "name teaches is what an address asks. A line is a name and its user: \"bob@example.org "
     "gbob\"; "
     "\"@example.org %l\" for all names of a domain, with the part before @ in the place of %l; "
     "\"@ %l@example.org\" for all names without a domain. A name with an extension (bob+lists) is "
     "looked up with it and without it. It is read at the start and with the configuration. Empty: "
     "every name is a user.",
     NB_LIVE},
    {"filter", "user_parent", NB_OPTION_STRING, AT(filter_user_parent), 0, MODEL_BYTES, NULL, "",
     "The parent of a user's model when the first mail that the user has learned makes it (with "
     "auto_create): the name of a model, such as that of `model`. The user's verdicts then begin "
     "as the parent's, and no model takes another's place. %d stands for the domain of the "
     "address, as in \"mail-%d\": such a model of a domain is made as well, with that of `model` "
     "as its parent. A model that exists keeps the parent that it has. Empty: none.",
     NB_LIVE},
    {"filter", "several_users", NB_OPTION_ENUM, AT(filter_several_users), 0, 1, several_users,
     "mildest",
     "What mail to users with models of their own is told: mildest, one header field with the "
     "mildest verdict of all; or each, beside it a field for each user, X-Bayes-Status- and the "
     "name of the model of that user. The recipients of a mail then read of each other, also of "
     "blind copies.",
     NB_LIVE},
    {"filter", "spam_labels", NB_OPTION_STRING, AT(filter_spam_labels), 1, 1200, NULL, "spam",
     "The label of spam in these models, or several, separated by commas, as in \"spam, "
     "phishing\": spam is what has any of them, against all other labels. Spam is learned under "
     "the first.",
     NB_LIVE},
    {"filter", "ham_label", NB_OPTION_STRING, AT(filter_ham_label), 1, LABEL_BYTES, NULL, "ham",
     "The label of ham in these models.", NB_LIVE},
    {"filter", "unsure", NB_OPTION_NUMBER, AT(filter_unsure), 0, 1, NULL, "0.3",
     "Probability of spam from which a mail is called unsure, not ham; up to add_header.", NB_LIVE},
    {"filter", "add_header", NB_OPTION_NUMBER, AT(filter_add_header), 0, 1, NULL, "0.9",
     "Probability of spam, above 0.5, from which a mail is called spam and the action is \"add "
     "header\": the mail server marks the mail.",
     NB_LIVE},
    {"filter", "rewrite_subject", NB_OPTION_NUMBER, AT(filter_rewrite_subject), 0, 1, NULL, "1",
     "Probability of spam from which the action is \"rewrite subject\". 1 means never, here and "
     "for reject.",
     NB_LIVE},
    {"filter", "reject", NB_OPTION_NUMBER, AT(filter_reject), 0, 1, NULL, "0.9999",
     "Probability of spam, above 0.5, from which the action is \"reject\".", NB_LIVE},
    {"filter", "label_actions", NB_OPTION_STRING, AT(filter_label_actions), 0, 1600, NULL, "",
     "Actions of single labels of spam, separated by commas, as in \"phishing=reject\": a mail "
     "that is spam has the action of its likeliest label, if that is named here, instead of the "
     "one by the probability.",
     NB_LIVE},
    {"filter", "required_score", NB_OPTION_NUMBER, AT(filter_required_score), 1, 1000, NULL, "15",
     "The score that a mail has at the probability reject, for clients of the rspamd protocol. The "
     "scale is linear in the log-odds, with 0 at even odds.",
     NB_LIVE},
    {"filter", "spamd_required_score", NB_OPTION_NUMBER, AT(filter_spamd_required_score), 1, 1000,
     NULL, "5",
     "The score that a mail has at the probability add_header, for clients of the SpamAssassin "
     "protocol, which has one threshold only.",
     NB_LIVE},
    {"filter", "subject", NB_OPTION_STRING, AT(filter_subject), 1, 200, NULL, "***SPAM*** %s",
     "The Subject of a mail with the action \"rewrite subject\"; %s stands for the Subject of the "
     "mail.",
     NB_LIVE},
    {"filter", "evidence", NB_OPTION_COUNT, AT(filter_evidence), 0, 16, NULL, "3",
     "Tokens that are named in each symbol. Each part of the mail that has much evidence (Subject, "
     "links, addresses ...) has a symbol. 0 gives the verdict without these symbols, and is "
     "faster.",
     NB_LIVE},
    {"filter", "test_patterns", NB_OPTION_BOOL, AT(filter_test_patterns), 0, 1, NULL, "no",
     "Let a mail choose its action by one of rspamd's variants of the GTUBE test text: YJS* for "
     "add header, ZJS* for rewrite subject, AJS* for no action. For tests only: with AJS* any "
     "spammer gets past the filter. GTUBE itself (XJS*) is always rejected.",
     NB_LIVE},

    {"nodes", "database", NB_OPTION_SECRET, AT(nodes_database), 0, LIST_BYTES, NULL, "",
     "PostgreSQL database whose tables have the changes that several bayesd share, as libpq takes "
     "it: postgresql://USER@HOST/NAME, or host=... dbname=... Empty: this one is alone.",
     NB_RESTART},
    {"nodes", "databases", NB_OPTION_SECRET, AT(nodes_databases), 0, LIST_BYTES, NULL, "",
     "Other databases of single streams, as NUMBER=postgresql://... separated by blanks. In a file "
     "a line database.3 = postgresql://... adds that of stream 3.",
     NB_RESTART},
    {"nodes", "streams", NB_OPTION_COUNT, AT(nodes_streams), 1, 64, NULL, "1",
     "Over so many streams the models are spread, by their names. It is the same on all nodes and "
     "stays as it was when the tables were made (bayesd --nodes-init).",
     NB_RESTART},
    {"nodes", "key_file", NB_OPTION_STRING, AT(nodes_key_file), 0, PATH_BYTES, NULL, "",
     "File with the key that all nodes have: 64 hexadecimal digits (openssl rand -hex 32). A store "
     "is made with it.",
     NB_RESTART},
    {"nodes", "name", NB_OPTION_STRING, AT(nodes_name), 0, 64, NULL, "",
     "Name of this node among the others, of letters, digits, '-' and '_'. Empty: the name of the "
     "machine and the port of [server] listen.",
     NB_RESTART},
    {"nodes", "url", NB_OPTION_STRING, AT(nodes_url), 0, 255, NULL, "",
     "Address at which administrators reach this node, http://HOST:PORT or https://. It tells the "
     "others, so that bayesc nodes status and check find all nodes by asking one. Empty: they do "
     "not find this one.",
     NB_RESTART},
    {"nodes", "follow", NB_OPTION_STRING, AT(nodes_follow), 0, 255, NULL, "",
     "Streams that this node follows, by their numbers: 0,4-7. Requests for models of others are "
     "answered with 421, and the addresses of nodes that have them (url). Empty: all streams.",
     NB_RESTART},
    {"nodes", "peers", NB_OPTION_STRING, AT(nodes_peers), 0, LIST_BYTES, NULL, "",
     "Addresses of other nodes (http://HOST:PORT or https://), separated by commas. With them the "
     "tables are cut: changes that all known nodes have go, and a node that needs one of these "
     "takes the store of another. Empty: this node cuts nothing.",
     NB_RESTART},
    {"nodes", "peer_token_file", NB_OPTION_STRING, AT(nodes_peer_token_file), 0, PATH_BYTES, NULL,
     "",
     "File whose first line is an access token of the role admin at the other nodes: this one asks "
     "for their store with it (--join). Empty: without a token.",
     NB_RESTART},
    {"nodes", "tls_ca", NB_OPTION_STRING, AT(nodes_tls_ca), 0, PATH_BYTES, NULL, "",
     "File of authorities, in PEM, of which other nodes show a certificate whose store is asked "
     "for with https://. Empty: the authorities of this machine.",
     NB_RESTART},
    {"nodes", "tls_certificate", NB_OPTION_STRING, AT(nodes_tls_certificate), 0, PATH_BYTES, NULL,
     "", "File of a certificate, in PEM, that is shown to them. Empty: none.", NB_RESTART},
    {"nodes", "tls_key", NB_OPTION_STRING, AT(nodes_tls_key), 0, PATH_BYTES, NULL, "",
     "File of its private key, in PEM.", NB_RESTART},
    {"nodes", "keep_seconds", NB_OPTION_COUNT, AT(nodes_keep_seconds), 1, 31536000, NULL, "3600",
     "Seconds for which a change stays in the tables at least, also when all known nodes have it.",
     NB_RESTART},
    {"nodes", "member_seconds", NB_OPTION_COUNT, AT(nodes_member_seconds), 1, 2592000, NULL,
     "86400",
     "Seconds without a word of a node after which the others do not wait for it any more.",
     NB_RESTART},
    {"nodes", "digest_seconds", NB_OPTION_COUNT, AT(nodes_digest_seconds), 0, 2592000, NULL,
     "86400",
     "Seconds after which nodes compare what they have learned. Each reads its store for it and "
     "makes no changes meanwhile: for a second at 30 million features of documents, and for two at "
     "most, after which it leaves it. 0: never.",
     NB_RESTART},
    {"nodes", "patience", NB_OPTION_COUNT, AT(nodes_patience), 1, 3600, NULL, "15",
     "Seconds that a client waits until its change is in the database and on this node's disk, and "
     "that a request waits for ?after=NUMBER; then it is answered with 503.",
     NB_RESTART},
    {"nodes", "queue", NB_OPTION_BOOL, AT(nodes_queue), 0, 1, NULL, "no",
     "While the database is away, keep what is trained and untrained in this node's store, answer "
     "\"status\": \"queued\", and publish it later in its order. No: it is answered with 503.",
     NB_RESTART},
    {"nodes", "queue_bytes", NB_OPTION_BYTES, AT(nodes_queue_bytes), 1024, TIB, NULL, "64M",
     "Bytes that may be kept so in each stream; a mail takes about 7 KB. What comes then is "
     "answered with 503.",
     NB_RESTART},
    {"nodes", "queue_entries", NB_OPTION_COUNT, AT(nodes_queue_entries), 1, 1000000000, NULL,
     "100000", "Changes that may be kept so in each stream.", NB_RESTART},

    {"events", "url", NB_OPTION_SECRET, AT(events_url), 0, 1024, NULL, "",
     "Where events are posted as JSON, http://... or https://...: somebody should look at "
     "something. "
     "Redirects are not followed. Empty: there are no events.",
     NB_RESTART},
    {"events", "secret_file", NB_OPTION_STRING, AT(events_secret_file), 0, PATH_BYTES, NULL, "",
     "File whose first line is the secret that signs the events, and that the receiver checks them "
     "with: whsec_ and 24 to 64 random bytes in base64, as echo whsec_$(openssl rand -base64 32) "
     "makes it.",
     NB_RESTART},
    {"events", "types", NB_OPTION_STRING, AT(events_types), 0, LIST_BYTES, NULL,
     "verdict.unsure, model.drift, model.quarantine, model.suspects",
     "Events that are sent, separated by commas.", NB_RESTART},
    {"events", "tls_ca", NB_OPTION_STRING, AT(events_tls_ca), 0, PATH_BYTES, NULL, "",
     "File of authorities, in PEM, that the receiver's certificate is checked with. Empty: the "
     "authorities of this machine.",
     NB_RESTART},
    {"events", "timeout", NB_OPTION_COUNT, AT(events_timeout), 1, 30, NULL, "5",
     "Seconds after which an attempt has failed. When the daemon stops, events that wait are sent "
     "for as long at most.",
     NB_RESTART},
    {"events", "retries", NB_OPTION_COUNT, AT(events_retries), 0, 100, NULL, "8",
     "How often an event is sent again that the receiver has not answered with 2xx.", NB_RESTART},
    {"events", "retry_seconds", NB_OPTION_COUNT, AT(events_retry_seconds), 1, 86400, NULL, "5",
     "Seconds before an event is sent again; each further pause is twice as long.", NB_RESTART},
    {"events", "retry_seconds_most", NB_OPTION_COUNT, AT(events_retry_seconds_most), 1, 86400, NULL,
     "900", "The longest pause, in seconds.", NB_RESTART},
    {"events", "queue", NB_OPTION_COUNT, AT(events_queue), 1, 100000, NULL, "1000",
     "Events that wait in memory at most; one more drops the oldest.", NB_RESTART},
    {"events", "unsure_per_minute", NB_OPTION_COUNT, AT(events_unsure_per_minute), 1, 1000000, NULL,
     "60", "Events about unsure verdicts in a minute at most; further ones are left out.",
     NB_RESTART},
    {"events", "drift", NB_OPTION_NUMBER, AT(events_drift), 0, 1, NULL, "0.25",
     "Drift of a model (GET /v1/models/{model}) above which there is an event.", NB_RESTART},
    {"events", "suspects", NB_OPTION_COUNT, AT(events_suspects), 0, 1000000000, NULL, "10",
     "Labels that are probably wrong (likely of GET /v1/models/{model}/suspects) above which there "
     "is an event, when somebody has asked for them.",
     NB_RESTART},
    {"events", "look_seconds", NB_OPTION_COUNT, AT(events_look_seconds), 1, 86400, NULL, "10",
     "Seconds between two looks at drift, suspects and quarantines.", NB_RESTART},

    {"log", "level", NB_OPTION_ENUM, AT(log_level), 0, 3, log_levels, "info",
     "What is logged to standard error: messages of this level and of the levels before it: error, "
     "warning, info, debug.",
     NB_LIVE},
    {"log", "format", NB_OPTION_ENUM, AT(log_format), 0, 1, log_formats, "text",
     "How lines look: text (what happened, then key=value) or json (an object on each line, with "
     "time, level, message and the same keys).",
     NB_LIVE},
    {"log", "verdicts", NB_OPTION_BOOL, AT(log_verdicts), 0, 1, NULL, "no",
     "Log one line for each verdict, at level info: Message-ID or id, model, verdict, probability, "
     "score, action, microseconds, client and protocol; never a word of the mail. In the journal "
     "each of them is a field BAYESD_... of the entry.",
     NB_LIVE},
};

const struct nb_option *nb_option_table(size_t *count)
{
    *count = sizeof options / sizeof options[0];
    return options;
}

const struct nb_former_option *nb_option_former_table(size_t *count)
{
    static const struct nb_former_option FORMER[] = {
        {"filter", "spam_label", "filter", "spam_labels"},
    };
    *count = sizeof FORMER / sizeof *FORMER;
    return FORMER;
}
