# bayesd: `make run` to try it, `make check` to test it, `make help` for the rest.
# One file, no recursion. FLAVOUR chooses the build: release, debug, asan (with ubsan), tsan.
FLAVOUR ?= release
BUILD ?= build/$(FLAVOUR)
PREFIX ?= /usr/local
V ?= 0
Q := $(if $(filter 1,$(V)),,@)

PACKAGES := libmicrohttpd jansson libutf8proc lmdb libxxhash libsodium zlib libzstd gmime-3.0 \
            libxml-2.0 glib-2.0
ifeq ($(filter clean help format install-deps run,$(MAKECMDGOALS)),)
ifneq ($(shell pkg-config --exists $(PACKAGES) 2>/dev/null && echo yes),yes)
$(error libraries are missing: run `scripts/install-deps` (Debian 12), or `make run`, which does)
endif
endif

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wformat=2 -Wvla -Wwrite-strings -Wundef -Wcast-qual \
            -Wpointer-arith -Wdouble-promotion -Wnull-dereference -Wimplicit-fallthrough \
            -Wswitch-enum
OPTIMIZE_release := -O2 -D_FORTIFY_SOURCE=3
OPTIMIZE_debug := -O0 -g3
OPTIMIZE_asan := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
OPTIMIZE_tsan := -O1 -fno-omit-frame-pointer -fsanitize=thread
HARDEN := -fstack-protector-strong -fstack-clash-protection -fPIE
SANITIZE := $(filter -fsanitize% -fno-sanitize%,$(OPTIMIZE_$(FLAVOUR)))

# The libraries' own headers are system headers: their warnings are not ours.
INCLUDES := -I. $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I $(PACKAGES)))
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -g $(OPTIMIZE_$(FLAVOUR)) $(HARDEN) $(WARNINGS) -pthread \
             $(INCLUDES) -MMD -MP $(CFLAGS)
ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -pthread $(SANITIZE) $(LDFLAGS)
LIBS := $(shell pkg-config --libs $(PACKAGES)) -lm

CORE_SOURCES := $(wildcard core/base/*.c core/*.c)
TOKENIZER_SOURCES := $(wildcard tokenizer/*.c)
CONFIG_SOURCES := $(wildcard config/*.c)
SERVER_SOURCES := $(filter-out server/main.c,$(wildcard server/*.c))
LIBRARY_SOURCES := $(CORE_SOURCES) $(TOKENIZER_SOURCES) $(CONFIG_SOURCES) $(SERVER_SOURCES)
LIBRARY := $(BUILD)/libbayesd.a
UNIT_SOURCES := $(wildcard tests/unit/test_*.c)
UNIT_TESTS := $(UNIT_SOURCES:tests/unit/%.c=$(BUILD)/tests/unit/%)

.PHONY: all
all: $(BUILD)/bayesd build/bayesd

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

$(LIBRARY): $(LIBRARY_SOURCES:%.c=$(BUILD)/%.o)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/bayesd: $(BUILD)/server/main.o $(LIBRARY)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

build/bayesd: build/release/bayesd
	$(Q)cp $< $@

$(BUILD)/tests/unit/test_%: $(BUILD)/tests/unit/test_%.o $(LIBRARY)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) $(shell pkg-config --libs check) -o $@

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
