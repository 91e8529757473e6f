# bayesd: `make run` to try it, `make check` to test it, `make help` for the rest.
# One file, no recursion into folders; sub-makes only where another flavour is built.
# FLAVOUR: release, debug, asan (address and undefined), tsan, coverage, fuzz, oss (fuzz with the caller's sanitizer).
FLAVOUR ?= release
BUILD ?= build/$(FLAVOUR)
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSUSERSDIR ?= $(PREFIX)/lib/sysusers.d
TMPFILESDIR ?= $(PREFIX)/lib/tmpfiles.d
DOCDIR ?= $(PREFIX)/share/doc/bayesd
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
LISTEN ?= 127.0.0.1:8763
DATA ?= var
FUZZ_SECONDS ?= 20
PKG_CONFIG ?= pkg-config
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
MAKEFLAGS += --no-print-directory

PACKAGES := libmicrohttpd gnutls libpq jansson libutf8proc lmdb libxxhash libsodium zlib libzstd gmime-3.0 \
            glib-2.0

# These goals need no library, or call scripts/install-deps first and then make again.
FREE_GOALS := run check check-interop check-peers bench-peers check-openapi check-console check-monitoring check-nodes check-deb check-image check-platforms check-musl clean help format install-deps docker uninstall dist version check-reproducible release fuzz-oss
ifneq ($(filter-out $(FREE_GOALS),$(or $(MAKECMDGOALS),all)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(PACKAGES) libcurl milter 2>/dev/null && echo yes),yes)
$(error libraries are missing: run scripts/install-deps (Debian 12 or 13), or `make run`, which does)
endif
endif

# Sub-makes get a job for each core, unless the caller chose a number; and a folder of their own.
JOBS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
BUILD_OF = $(if $(filter command line,$(origin BUILD)),$(BUILD)-$(1),build/$(1))
flavour = $(MAKE) $(JOBS) FLAVOUR=$(1) BUILD=$(call BUILD_OF,$(1))

# ---- flags ---------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wformat=2 -Wvla -Wwrite-strings -Wundef -Wcast-qual \
            -Wpointer-arith -Wdouble-promotion -Wnull-dereference -Wimplicit-fallthrough \
            -Wswitch-enum
ifneq ($(findstring clang,$(CC)),clang)
WARNINGS += -Wlogical-op -Wduplicated-cond -Wduplicated-branches
else
# glibc's isnan() and its like choose by size between float and double, and clang warns of the branch
# that is not taken. gcc looks for promotions. A whole number that an enum names is a double without loss.
WARNINGS := $(filter-out -Wdouble-promotion,$(WARNINGS)) -Wno-enum-float-conversion
endif

OPTIMIZE_release := -O2 -D_FORTIFY_SOURCE=3
# XXH3 insists on being inlined, which -Og refuses.
OPTIMIZE_debug := -Og -g3 -DXXH_NO_INLINE_HINTS=1
OPTIMIZE_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPTIMIZE_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread
OPTIMIZE_coverage := -O0 --coverage
OPTIMIZE_fuzz := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
                 -fno-sanitize-recover=all
OPTIMIZE_oss := -O1 -fno-omit-frame-pointer
OPTIMIZE_lint-gcc := $(OPTIMIZE_release)
OPTIMIZE_lint-clang := $(OPTIMIZE_release)
ifeq ($(OPTIMIZE_$(FLAVOUR)),)
$(error no FLAVOUR $(FLAVOUR): release, debug, asan, tsan, coverage, fuzz or oss)
endif
# Measured with bench_tokenizer: 213 -> 259 MB/s of Cyrillic, ASCII the same.
ifeq ($(FLAVOUR),release)
$(BUILD)/core/%.o $(BUILD)/tokenizer/%.o: private SPEED := -O3
endif
HARDEN := -fstack-protector-strong -fPIE
LINK_FLAGS := $(filter -fsanitize% -fno-sanitize% --coverage,$(OPTIMIZE_$(FLAVOUR)))
ifeq ($(FLAVOUR),oss)
LINK_FLAGS := $(CFLAGS)
endif

# The libraries' own headers are system headers: their warnings are not ours.
INCLUDES := -I. $(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags-only-I $(PACKAGES) 2>/dev/null))
LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES) libcurl 2>/dev/null) -lm
CLIENT_LIBS := $(shell $(PKG_CONFIG) --libs libcurl jansson libutf8proc libsodium 2>/dev/null) -lm
MILTER_LIBS := $(shell $(PKG_CONFIG) --libs libcurl jansson milter 2>/dev/null) -lm
# Files and times of 64 bits, and the same arithmetic of floating point, on every processor: the same changes give the
# same store. Without these, x86 of 32 bits rounds to 80 bits, s390x computes float as double, clang contracts a * b + c.
# Processors of 64 bits need no name for files of 64 bits: there the calls keep the names that the tests of failing
# disks take the place of (tests/api/faults.c, power.c).
SYSTEM := -D_GNU_SOURCE -ffp-contract=off
TARGET := $(shell $(CC) $(filter --target%,$(CFLAGS)) -dumpmachine 2>/dev/null)
SYSTEM += $(if $(filter i386-% i486-% i586-% i686-% arm-%,$(TARGET)),-D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64)
SYSTEM += $(if $(filter i386-% i486-% i586-% i686-%,$(TARGET)),-msse2 -mfpmath=sse) $(if $(filter s390x-%,$(TARGET)),-fexcess-precision=fast)
# clang does not know this for arm.
HARDEN += $(if $(filter arm-%,$(TARGET)),,-fstack-clash-protection)
# The caller's CFLAGS and LDFLAGS come last.
ALL_CFLAGS = -std=c11 $(SYSTEM) -g $(OPTIMIZE_$(FLAVOUR)) $(SPEED) $(HARDEN) $(WARNINGS) -pthread \
             $(INCLUDES) -MMD -MP $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed -pthread $(LINK_FLAGS) $(LDFLAGS)

# ---- sources -------------------------------------------------------------------------------------

# A new folder needs no line here, but one in scripts/check-layers. The programs beside the daemon
# (server/client, server/milter) are not in the daemon's library.
CLIENT_SOURCES := $(wildcard server/client/*.c server/client/*/*.c)
MILTER_SOURCES := $(wildcard server/milter/*.c)
LIBRARY_SOURCES := $(filter-out server/main.c $(CLIENT_SOURCES) $(MILTER_SOURCES), \
                     $(wildcard core/*.c core/*/*.c core/*/*/*.c tokenizer/*.c tokenizer/*/*.c config/*.c \
                                server/*.c server/*/*.c server/*/*/*.c))
# One program for each test_*.c, in any folder; what else lies there is linked with all of them.
UNIT_FILES := $(wildcard tests/unit/*.c tests/unit/*/*.c tests/unit/*/*/*.c tests/unit/*/*/*/*.c)
UNIT_SOURCES := $(foreach file,$(UNIT_FILES),$(if $(filter test_%,$(notdir $(file))),$(file)))
UNIT_SHARED := $(filter-out $(UNIT_SOURCES),$(UNIT_FILES))
BENCH_SOURCES := $(wildcard tests/bench/*.c)
BENCH_SHARED := $(wildcard tests/bench/*/*.c)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)
GOLDEN_SOURCES := $(wildcard tests/golden/*.c)
PROGRAM_SOURCES := $(LIBRARY_SOURCES) $(wildcard server/main.c) \
                   $(sort $(CLIENT_SOURCES) $(MILTER_SOURCES))
ALL_SOURCES := $(PROGRAM_SOURCES) $(UNIT_FILES) $(BENCH_SOURCES) $(BENCH_SHARED) $(FUZZ_SOURCES) tests/fuzz/main.c \
               $(GOLDEN_SOURCES)
HEADERS := $(filter-out build/%,$(wildcard */*.h */*/*.h */*/*/*.h */*/*/*/*.h))

LIBRARY := $(BUILD)/libbayesd.a
# The programs without their main: for themselves and for their unit tests.
CLIENT := $(BUILD)/libbayesc.a
MILTER := $(BUILD)/libbayesd-milter.a
UNIT_TESTS := $(UNIT_SOURCES:%.c=$(BUILD)/%)
BENCHES := $(BENCH_SOURCES:%.c=$(BUILD)/%)
FUZZERS := $(FUZZ_SOURCES:%.c=$(BUILD)/%)
GOLDEN := $(GOLDEN_SOURCES:%.c=$(BUILD)/%)
OBJECTS := $(ALL_SOURCES:%.c=$(BUILD)/%.o)
CLIENT_TESTS := $(filter $(BUILD)/tests/unit/server/client/%,$(UNIT_TESTS))
MILTER_TESTS := $(filter $(BUILD)/tests/unit/server/milter/%,$(UNIT_TESTS))
LIBRARY_TESTS := $(filter-out $(CLIENT_TESTS) $(MILTER_TESTS),$(UNIT_TESTS))
PROGRAMS := bayesd bayesc bayesd-milter

# ---- build ---------------------------------------------------------------------------------------

.PHONY: all debug
all: $(PROGRAMS:%=$(BUILD)/%)
ifeq ($(BUILD),build/release)
all: $(PROGRAMS:%=build/%)
endif

debug:
	+$(Q)$(call flavour,debug) all

# What is built with other flags is built again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)' >$@
.PHONY: FORCE

$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(if $(Q),@echo '  CC      $<')
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# Compiled in with .incbin, which -MMD does not see.
$(BUILD)/server/api/operations.o: $(wildcard server/api/openapi.json)
$(BUILD)/server/console/console_page.o: $(wildcard server/console/web/*)
$(BUILD)/server/client/base/manual.o: server/client/bayesc.1

$(LIBRARY): $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/bayesd: $(BUILD)/server/main.o $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

$(CLIENT): $(patsubst %.c,$(BUILD)/%.o,$(sort $(filter-out %/main.c,$(CLIENT_SOURCES))))
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(MILTER): $(patsubst %.c,$(BUILD)/%.o,$(filter-out %/main.c,$(MILTER_SOURCES)))
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Of the archives the linker takes the files that the program uses.
$(BUILD)/bayesc: $(BUILD)/server/client/main.o $(CLIENT) $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(CLIENT_LIBS) -o $@

$(BUILD)/bayesd-milter: $(BUILD)/server/milter/main.o $(MILTER) $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(MILTER_LIBS) -o $@

# Renamed into place: the old one may be running.
$(PROGRAMS:%=build/%): build/%: build/release/%
	$(Q)cp $< $@.new && mv $@.new $@

$(CLIENT_TESTS): TESTED = $(CLIENT_LIBS)
$(CLIENT_TESTS): $(CLIENT)
$(MILTER_TESTS): TESTED = $(MILTER_LIBS)
$(MILTER_TESTS): $(MILTER)
$(LIBRARY_TESTS): TESTED = $(LIBS)
# The archives in the order in which they need each other.
$(UNIT_TESTS): %: %.o $(UNIT_SHARED:%.c=$(BUILD)/%.o) $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $(filter %.o,$^) $(filter-out $(LIBRARY),$(filter %.a,$^)) $(LIBRARY) \
	    $(TESTED) $$($(PKG_CONFIG) --libs check) -o $@

# The ceiling is the HTTP library as it is: without the functions of it that the daemon defines
# (server/http/library.h), so the library comes first.
$(BUILD)/tests/bench/ceiling: FIRST_LIBS = -lmicrohttpd
$(filter %/bench_mail %/bench_train,$(BENCHES)): $(BENCH_SHARED:%.c=$(BUILD)/%.o)
$(BENCHES) $(GOLDEN): %: %.o $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $(filter %.o,$^) $(FIRST_LIBS) $(LIBRARY) $(LIBS) -o $@

# The archives in the order in which they need each other.
$(BUILD)/tests/fuzz/fuzz_milter_mail: $(MILTER)
ifeq ($(FLAVOUR),fuzz)
FUZZ_MAIN := -fsanitize=fuzzer
else ifeq ($(FLAVOUR),oss)
# tests/fuzz/build.sh: a fuzzing engine may be in C++.
FUZZ_MAIN := $(LIB_FUZZING_ENGINE)
$(FUZZERS): CC := $(CXX)
else
FUZZ_MAIN :=
$(FUZZERS): $(BUILD)/tests/fuzz/main.o
endif
$(FUZZERS): %: %.o $(LIBRARY)
	$(if $(Q),@echo '  LINK    $@')
	$(Q)$(CC) $(ALL_LDFLAGS) $(FUZZ_MAIN) $(filter %.o,$^) $(filter-out $(LIBRARY),$(filter %.a,$^)) \
	    $(LIBRARY) $(LIBS) -o $@

.PHONY: config/bayesd.conf
config/bayesd.conf: $(filter %/test_config,$(UNIT_TESTS))
	$(Q)$< --update

# ---- run -----------------------------------------------------------------------------------------

.PHONY: run
run:
	$(Q)scripts/install-deps
	$(Q)$(MAKE) $(JOBS) all
	$(Q)scripts/first-run $(BUILD)/bayesd '$(LISTEN)' '$(DATA)'

# ---- tests ---------------------------------------------------------------------------------------

PARTS := layers unit golden fuzz api walks first-run install

.PHONY: check check-here check-unit check-api check-crash check-built fault
# What the tests need is installed first; nothing is done or said when it is there.
check:
	$(Q)scripts/install-deps --check
	$(Q)$(MAKE) $(JOBS) $(if $(T),check-unit,check-here)

# The unit tests named T='NAME...', in whatever folder, or all. A name that no test has is left to
# scripts/check, which says so and fails.
WANTED_TESTS := $(if $(T),$(foreach name,$(T),$(filter %/test_$(name:test_%=%),$(UNIT_TESTS))),$(UNIT_TESTS))

check-here: all $(WANTED_TESTS) $(GOLDEN) $(FUZZERS)
	$(Q)FLAVOUR=$(FLAVOUR) T='$(T)' scripts/check $(BUILD) $(PARTS)

check-unit: $(WANTED_TESTS)
	$(Q)FLAVOUR=$(FLAVOUR) T='$(T)' scripts/check $(BUILD) unit

check-api: $(PROGRAMS:%=$(BUILD)/%)
	$(Q)FLAVOUR=$(FLAVOUR) scripts/check $(BUILD) api

# Kills and cuts of the power in the middle of everything, by the hundred: make check-crash ROUNDS=500.
check-crash: $(BUILD)/bayesd
	$(Q)CRASH_ROUNDS=$(or $(ROUNDS),300) REFIT_ROUNDS=$(or $(ROUNDS),300) POWER_ROUNDS=$(or $(ROUNDS),300) tests/api/run $(BUILD)/bayesd \
	    --only test_crash --only test_kill --only test_power --only test_refit_faults

fuzz-regress: $(FUZZERS)
	$(Q)FLAVOUR=$(FLAVOUR) scripts/check $(BUILD) fuzz

.PHONY: check-asan check-ubsan check-tsan check-valgrind fuzz-regress
# Address and undefined behaviour sanitizer go together.
check-asan check-ubsan:
	+$(Q)$(call flavour,asan) check
check-tsan:
	+$(Q)$(call flavour,tsan) check PARTS='unit api'
check-valgrind:
	$(Q)scripts/install-deps --all
	+$(Q)$(call flavour,debug) check-valgrind-here
.PHONY: check-valgrind-here
check-valgrind-here: $(PROGRAMS:%=$(BUILD)/%) $(WANTED_TESTS)
	$(Q)VALGRIND=1 FLAVOUR=$(FLAVOUR) T='$(T)' scripts/check $(BUILD) unit $(if $(T),,way api)

# Real mail software (tests/interop/README.md). As root.
.PHONY: check-interop check-interop-here
check-interop:
	$(Q)scripts/install-deps --interop
	$(Q)$(MAKE) $(JOBS) check-interop-here
check-interop-here: all
	$(Q)tests/interop/run $(BUILD)

# Weka's and scikit-learn's naive Bayes on the same documents (tests/peers/README.md).
.PHONY: check-peers check-peers-here
check-peers:
	$(Q)scripts/install-deps --peers
	$(Q)$(MAKE) $(JOBS) check-peers-here
check-peers-here: $(BUILD)/bayesd
	$(Q)tests/peers/run $(BUILD)

# The dashboard and the alerts with promtool and a real Prometheus.
.PHONY: check-monitoring check-monitoring-here
check-monitoring:
	$(Q)scripts/install-deps --monitoring
	$(Q)$(MAKE) $(JOBS) check-monitoring-here
check-monitoring-here: $(BUILD)/bayesd
	$(Q)tests/monitoring/run $(BUILD)

# A PostgreSQL with its standby and three bayesds, disturbed: make check-nodes ROUNDS=200 (tests/nodes/README.md).
.PHONY: check-nodes check-nodes-here
check-nodes:
	$(Q)scripts/install-deps --nodes
	$(Q)$(MAKE) $(JOBS) check-nodes-here
check-nodes-here: $(BUILD)/bayesd $(BUILD)/bayesc
	$(Q)tests/nodes/run $(BUILD)/bayesd --rounds $(or $(ROUNDS),5) --jobs $(or $(NODE_JOBS),4)

# Debian's packages of the committed source, built and tested in chroots. As root.
.PHONY: check-deb
check-deb:
	$(Q)scripts/install-deps --packages
	$(Q)scripts/check-deb $(PACKAGE_PARTS)

# The packages, built twice under different circumstances: the same to the byte.
.PHONY: check-reproducible
check-reproducible:
	$(Q)scripts/install-deps --packages
	$(Q)scripts/check-reproducible

# The image, built and run with buildah in chroots. As root.
.PHONY: check-image
check-image:
	$(Q)scripts/install-deps --image
	$(Q)scripts/check-image

# The other Debians that it is built on, in chroots (tests/README.md). As root.
.PHONY: check-platforms
check-platforms:
	$(Q)scripts/install-deps --platforms
	$(Q)scripts/check-platforms

# Every source of the programs by the compiler of musl, another C library.
.PHONY: check-musl check-musl-here
check-musl:
	$(Q)scripts/install-deps --platforms
	$(Q)$(MAKE) check-musl-here
check-musl-here:
	$(Q)scripts/check-musl $(call BUILD_OF,musl) musl-gcc -std=c11 $(SYSTEM) -O2 $(WARNINGS) -I. \
	    $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I gmime-3.0 glib-2.0)) -- $(PROGRAM_SOURCES)

# What others make of openapi.json (tests/openapi/README.md). Needs a registry of npm.
.PHONY: check-openapi check-openapi-here
check-openapi:
	$(Q)scripts/install-deps --openapi
	$(Q)$(MAKE) $(JOBS) check-openapi-here
check-openapi-here: $(BUILD)/bayesd
	$(Q)tests/openapi/run $(BUILD)

# The console in a browser (tests/console/README.md). Needs a registry of npm.
.PHONY: check-console check-console-here
check-console:
	$(Q)scripts/install-deps --console
	$(Q)$(MAKE) $(JOBS) check-console-here
check-console-here: $(BUILD)/bayesd
	$(Q)tests/console/run $(BUILD) $(T)

.PHONY: fuzz fuzz-here fuzz-oss fuzzers
fuzz:
	$(Q)scripts/install-deps --all
	+$(Q)$(call flavour,fuzz) CC=clang fuzz-here
fuzz-here: $(FUZZERS)
	$(Q)scripts/fuzz $(BUILD) '$(or $(T),$(FUZZ_SECONDS))' '$(FUZZ_SECONDS)'

# As OSS-Fuzz builds and runs the targets (tests/fuzz/build.sh), with each sanitizer: make fuzz-oss SANITIZERS=memory.
fuzz-oss:
	$(Q)scripts/install-deps --all
	$(Q)scripts/fuzz-oss '$(or $(SANITIZERS),address undefined memory)' '$(or $(SECONDS),3)'
fuzzers: $(FUZZERS)

.PHONY: coverage coverage-here
coverage:
	$(Q)find $(call BUILD_OF,coverage) -name '*.gcda' -delete 2>/dev/null || true
	+$(Q)$(call flavour,coverage) check PARTS='unit api'
	$(Q)scripts/coverage $(call BUILD_OF,coverage)

.PHONY: bench
bench: $(BUILD)/bayesd $(BENCHES)
	$(Q)scripts/bench $(BUILD) $(if $(QUICK),--quick) $(if $(CORPUS),--corpus '$(CORPUS)') \
	    $(if $(AGAINST),--against '$(AGAINST)')

# Other Bayes filters of Debian beside bayesd, on the mails of CORPUS=FOLDER (tests/bench/README.md).
.PHONY: bench-peers bench-peers-here
bench-peers:
	$(if $(CORPUS),,$(error make bench-peers CORPUS=FOLDER: a folder of mails, spam and ham))
	$(Q)scripts/install-deps --bench-peers
	$(Q)$(MAKE) $(JOBS) bench-peers-here
bench-peers-here: $(BUILD)/bayesd
	$(Q)scripts/bench-peers $(BUILD) '$(CORPUS)' $(PEERS)

# Where the processor time goes (tests/bench/PROFILING.md): make profile WHAT=check CORPUS=FOLDER.
.PHONY: profile
profile: $(BUILD)/bayesd $(BUILD)/tests/bench/corpus
	$(Q)scripts/profile $(BUILD) $(if $(WHAT),--what '$(WHAT)') $(if $(CORPUS),--corpus '$(CORPUS)') \
	    $(if $(F),--function '$(F)')

# Hostile clients beside healthy ones, and mixed load: make stress SECONDS=60 MINUTES=10.
.PHONY: stress
stress: $(BUILD)/bayesd
	$(Q)scripts/stress $(BUILD) --seconds $(or $(SECONDS),30) --minutes $(or $(MINUTES),0)

# ---- lint ----------------------------------------------------------------------------------------

.PHONY: lint lint-all lint-layers lint-scripts lint-python lint-format lint-gcc lint-plain lint-clang lint-tidy \
        lint-cppcheck
lint:
	$(Q)scripts/install-deps --all
	$(Q)$(MAKE) $(JOBS) lint-all
lint-all: lint-layers lint-scripts lint-python lint-format lint-gcc lint-plain lint-clang lint-tidy lint-cppcheck
	@echo 'lint: nothing found'

lint-layers:
	$(Q)scripts/check-layers
lint-scripts:
	$(Q)shellcheck -x $$(grep -lE '^#!.*\b(ba)?sh$$' scripts/* .ci/* tests/*/run tests/console/pictures tests/fuzz/build.sh tests/fuzz/dictionary config/image/* debian/* debian/tests/* 2>/dev/null) tests/walks/*.sh
# Debian's mypy; the cache is not in the tree.
lint-python:
	$(Q)MYPYPATH=clients/python mypy --strict --cache-dir $(call BUILD_OF,mypy) clients/*/*.py
lint-format:
	$(Q)clang-format --dry-run -Werror $(ALL_SOURCES) $(HEADERS)
lint-gcc:
	+$(Q)$(call flavour,lint-gcc) CC=gcc CFLAGS=-Werror objects
# What processors without SSE2 compile, which the packages are for, too (debian/control).
lint-plain:
	$(Q)gcc -std=c11 -D_GNU_SOURCE -fsyntax-only -Werror $(WARNINGS) -U__SSE2__ $(INCLUDES) \
	    $(filter-out server/nodes/%,$(LIBRARY_SOURCES))
lint-clang:
	+$(Q)$(call flavour,lint-clang) CC=clang CFLAGS=-Werror objects
lint-tidy: lint-clang
	+$(Q)$(call flavour,lint-clang) CC=clang CFLAGS=-Werror tidy
lint-cppcheck:
	@mkdir -p $(call BUILD_OF,lint-cppcheck)
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
	    --inline-suppr --suppressions-list=.cppcheck --cppcheck-build-dir=$(call BUILD_OF,lint-cppcheck) \
	    -D_GNU_SOURCE -D__SIZEOF_INT128__=16 -I. $(TIDY_SOURCES)

.PHONY: objects tidy
objects: $(OBJECTS)
# Checked again when the object was compiled again: it knows the headers.
TIDY_SOURCES := $(PROGRAM_SOURCES)
TIDY_MODEL = $(if $(filter core/base/error,$*),,-include scripts/error-model.h)
tidy: $(TIDY_SOURCES:%.c=$(BUILD)/%.tidy)
$(BUILD)/%.tidy: $(BUILD)/%.o .clang-tidy scripts/error-model.h
	$(if $(Q),@echo '  TIDY    $*.c')
	$(Q)clang-tidy --quiet $*.c -- -std=c11 -D_GNU_SOURCE $(INCLUDES) $(TIDY_MODEL) 2>$@.log || \
	    { cat $@.log; exit 1; }
	@touch $@

.PHONY: format
format:
	$(Q)clang-format -i $(ALL_SOURCES) $(HEADERS)

# ---- install -------------------------------------------------------------------------------------

.PHONY: install install-configuration uninstall dist docker
# The documents keep their places, so that the links between them lead somewhere; those to other files of the source go.
DOCUMENTS := $(wildcard README.md SECURITY.md CHANGELOG.md LICENSE config/*.md config/bayesd.conf \
                        config/bayesd.service config/bayesd-milter.service config/bayesd.sysusers config/image/README.md \
                        clients/README.md clients/*/README.md clients/*/*.py clients/javascript/*.mjs server/HTTP.md server/MODELS.md \
                        server/TUTORIAL.md server/NETWORKS.md) \
             $(shell find config/integrations config/monitoring -type f 2>/dev/null)
MANUALS := server/client/bayesc.1 config/bayesd.conf.5 server/bayesd.8 server/milter/bayesd-milter.8
manual_place = $(PREFIX)/share/man/man$(subst .,,$(suffix $(1)))/$(notdir $(1))
BASH_COMPLETIONS := $(PROGRAMS:%=$(PREFIX)/share/bash-completion/completions/%)
FISH_COMPLETIONS := $(PROGRAMS:%=$(PREFIX)/share/fish/vendor_completions.d/%.fish)
ZSH_COMPLETIONS := $(PROGRAMS:%=$(ZSHDIR)/_%)
# An executable file of the source stays one: a script that a document tells to copy.
install_document = install -D -m $(if $(shell test -x $(1) && echo x),755,644) $(1) $(DESTDIR)$(DOCDIR)/$(1) &&
with_places = sed -e 's|/usr/local/share/doc/bayesd|$(DOCDIR)|' -e 's|/usr/local/|$(PREFIX)/|' \
              -e 's|/etc/bayesd/|$(SYSCONFDIR)/bayesd/|'

install: $(PROGRAMS:%=$(BUILD)/%) install-configuration
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(PROGRAMS:%=$(BUILD)/%) $(DESTDIR)$(PREFIX)/bin/
	$(Q)$(foreach page,$(MANUALS),install -D -m 644 $(page) $(DESTDIR)$(call manual_place,$(page)) && \
	    sed -i '/^\.TH /s/"bayesd"/"bayesd $(VERSION)"/' $(DESTDIR)$(call manual_place,$(page)) &&) :
	$(Q)$(foreach file,$(DOCUMENTS),$(call install_document,$(file))) :
	$(Q)scripts/prune-links $(DESTDIR)$(DOCDIR)
	$(Q)$(foreach file,$(BASH_COMPLETIONS),install -D -m 644 server/client/bayesc.bash $(DESTDIR)$(file) &&) :
	$(Q)$(foreach file,$(FISH_COMPLETIONS),install -D -m 644 server/client/bayesc.fish $(DESTDIR)$(file) &&) :
	@# zsh finds the program of a file in its first line: each is to name one.
	$(Q)$(foreach program,$(PROGRAMS),install -D -m 644 server/client/bayesc.zsh $(DESTDIR)$(ZSHDIR)/_$(program) && \
	    sed -i '1s/ .*/ $(program)/' $(DESTDIR)$(ZSHDIR)/_$(program) &&) :
	install -d $(DESTDIR)$(UNITDIR)
	$(with_places) config/bayesd.service >$(DESTDIR)$(UNITDIR)/bayesd.service
	$(with_places) config/bayesd-milter.service >$(DESTDIR)$(UNITDIR)/bayesd-milter.service

# It may hold tokens: its group alone may read it, that of the user whom bayesd.service runs as. That
# user is made now, unless this is for a package. A configuration that is there already is kept.
install-configuration:
	install -D -m 644 config/bayesd.sysusers $(DESTDIR)$(SYSUSERSDIR)/bayesd.conf
	install -D -m 644 config/bayesd.tmpfiles $(DESTDIR)$(TMPFILESDIR)/bayesd.conf
	[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || getent group bayesd >/dev/null || \
	    systemd-sysusers $(SYSUSERSDIR)/bayesd.conf 2>/dev/null || \
	    useradd --system --user-group --home-dir /var/lib/bayesd --shell /usr/sbin/nologin bayesd
	[ -e $(DESTDIR)$(SYSCONFDIR)/bayesd/bayesd.conf ] || { \
	    install -D -m 640 config/bayesd.conf $(DESTDIR)$(SYSCONFDIR)/bayesd/bayesd.conf && \
	    { [ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || \
	      chgrp bayesd $(SYSCONFDIR)/bayesd/bayesd.conf; }; }

# The configuration, the data and the user stay.
uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/%) $(foreach page,$(MANUALS),$(DESTDIR)$(call manual_place,$(page)))
	rm -f $(addprefix $(DESTDIR),$(BASH_COMPLETIONS) $(FISH_COMPLETIONS) $(ZSH_COMPLETIONS))
	rm -f $(DESTDIR)$(SYSUSERSDIR)/bayesd.conf $(DESTDIR)$(TMPFILESDIR)/bayesd.conf
	rm -f $(DESTDIR)$(UNITDIR)/bayesd.service $(DESTDIR)$(UNITDIR)/bayesd-milter.service
	rm -rf $(DESTDIR)$(DOCDIR)

# It is in one place; `make version` writes it where it cannot be derived (scripts/version).
VERSION := $(shell sed -n 's/^\#define NB_PROGRAM_VERSION "\(.*\)"/\1/p' server/base/version.h)
.PHONY: version
version:
	$(Q)scripts/version --write

DIST = build/bayesd-$(VERSION).tar.gz
dist:
	@mkdir -p $(dir $(DIST))
	$(Q)scripts/pack bayesd-$(VERSION) $(DIST)
	@echo '$(DIST)'

# Tarball, packages, image and the rest: make release OUT=FOLDER WITH='arm64 image' WITHOUT=.
.PHONY: release
release:
	$(Q)scripts/install-deps --packages --image
	$(Q)scripts/release $(WITH:%=--with %) $(WITHOUT:%=--without %) '$(or $(OUT),build/release-$(VERSION))'

docker:
	docker build -t bayesd .

.PHONY: install-deps clean help
install-deps:
	$(Q)scripts/install-deps --all
clean:
	rm -rf build

help:
	@echo 'make                 builds build/bayesd, its client bayesc and bayesd-milter'
	@echo 'make run             installs what is missing, builds, starts it here, trains a sample'
	@echo '                     LISTEN=127.0.0.1:8763 DATA=var'
	@echo 'make check           builds and passes every test; T=NAME: one unit test'
	@echo '  check-unit check-api fuzz-regress    parts of it'
	@echo '  check-asan check-ubsan check-tsan    the same tests under sanitizers'
	@echo '  check-crash                          kill -9 in everything, ROUNDS=300'
	@echo '  check-valgrind                       unit tests and a short API test under valgrind'
	@echo 'make check-interop   real mail servers and clients against bayesd (as root)'
	@echo 'make check-peers     probabilities of Weka and scikit-learn against those of bayesd'
	@echo 'make check-monitoring   dashboard and alerts with a real Prometheus'
	@echo 'make check-nodes        several nodes over PostgreSQL, disturbed (ROUNDS=5, NODE_JOBS=4)'
	@echo 'make check-deb       Debian packages: built in a chroot, lintian, piuparts, autopkgtest, units'
	@echo '                     under systemd (as root); PACKAGE_PARTS="build lintian": these only;'
	@echo '                     PACKAGE_PARTS=here: build and lintian, without chroots'
	@echo 'make check-reproducible   the packages built twice, under different circumstances: the same bytes'
	@echo 'make check-image     the image, built and run with buildah (as root)'
	@echo 'make check-platforms Debian 13 in a chroot: build, unit tests, a walk, package, lintian (as root)'
	@echo 'make check-musl      every source compiled for the C library musl (nothing is linked)'
	@echo 'make check-openapi   openapi.json by spectral, redocly and the types that openapi-typescript makes'
	@echo 'make check-console   the console in a browser: every view, accessibility; T=NAME: one test'
	@echo 'make lint            warnings as errors with gcc and clang, clang-tidy, cppcheck,'
	@echo '                     clang-format, layers, shellcheck, mypy'
	@echo 'make format          clang-format -i'
	@echo 'make fuzz            libFuzzer, FUZZ_SECONDS=20 for each target; T=600: seconds; T=NAME: one'
	@echo 'make fuzz-oss        as OSS-Fuzz does: each sanitizer, SECONDS=3 for each target'
	@echo 'make bench           the benchmarks (QUICK=1: short; CORPUS=FOLDER: real mails, spam and ham;'
	@echo '                     AGAINST=BUILD: another build in turns)'
	@echo 'make bench-peers     bogofilter, rspamd, SpamAssassin and scikit-learn beside bayesd, CORPUS=FOLDER'
	@echo 'make profile         where the processor time goes, by function (WHAT=classify, check or train;'
	@echo '                     CORPUS=FOLDER: real mails; F=NAME: the lines of a function)'
	@echo 'make coverage        lines covered by the tests, by file'
	@echo 'make debug           a build for the debugger, build/debug/bayesd'
	@echo 'make install         PREFIX=/usr/local SYSCONFDIR=/etc DESTDIR= and the like: see the top of Makefile'
	@echo 'make version         writes the version of server/base/version.h where it has to be written'
	@echo 'make dist            packs the committed source: build/bayesd-VERSION.tar.gz'
	@echo 'make release         tarball, packages, image, sums: OUT=FOLDER, WITH="arm64 image": a failure without'
	@echo '                     these, WITHOUT="arm64 image": not made'
	@echo 'make uninstall       removes what install put there, but configuration and data'
	@echo 'make docker          builds the image bayesd'
	@echo 'make install-deps    installs the packages that all of this needs'
	@echo 'make config/bayesd.conf              writes it and the table in config/README.md anew'
	@echo 'make clean'
	@echo 'V=1 shows the commands; CC, CFLAGS, LDFLAGS, FLAVOUR and BUILD are honoured.'

-include $(OBJECTS:.o=.d)
