# sactag: build, test, install. `make help` lists the targets.
#
#   VARIANT=release|debug|asan|tsan|coverage  CC=gcc|clang   BUILD=directory   WERROR= (warnings are no errors)   V=1 (show commands)
#   LINK=shared  the program uses the shared libraries of the system, as those who package it want; otherwise it carries them

VARIANT ?= release
BUILD   ?= $(if $(filter release,$(VARIANT)),build,build/$(VARIANT))
PREFIX  ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man

PROTOC_C ?= protoc-c
AR       ?= ar
LD       ?= ld
OBJCOPY  ?= objcopy
ifeq ($(origin CC),default)
CC = gcc
endif
LIBS      = -lprotobuf-c -ljansson -lminizip -lz

# A program that carries its libraries starts in half the time. Other variants stay as they are: sanitizers, preloaded shims
# and valgrind need a shared libc.
LINK     ?= $(if $(filter release,$(VARIANT)),static,shared)

# What a bare Debian 12 lacks: to build, to run the tests, and for make lint.
DEPS       = gcc libc6-dev protobuf-c-compiler libprotobuf-c-dev libjansson-dev libxxhash-dev libminizip-dev zlib1g-dev libjsmn-dev
DEPS_CHECK = libcriterion-dev clang libclang-rt-14-dev llvm clang-format valgrind libc6-dbg protobuf-compiler \
             pkg-config cmake mandoc python3 python3-venv python3-protobuf g++ libprotobuf-dev

# ---- flags

CFLAGS_release = -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong
CFLAGS_debug   = -Og -g3 -DSACTAG_ARENA_MALLOC -DXXH_NO_INLINE_HINTS=1 # -Og inlines less than xxhash.h insists on
CFLAGS_asan    = -O1 -g -DSACTAG_ARENA_MALLOC -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
CFLAGS_coverage = -O0 -g --coverage -DSACTAG_ARENA_MALLOC
CFLAGS_tsan    = -O1 -g -fsanitize=thread
CFLAGS_fuzz    = $(CFLAGS_asan) $(if $(findstring afl,$(CC)),,-fsanitize=fuzzer-no-link)
CFLAGS  ?= $(CFLAGS_$(VARIANT))
WERROR  ?= -Werror
WARN     = -Wall -Wextra -Wconversion -Wshadow -Wcast-qual -Wswitch-enum -Wvla -Wformat=2 $(WERROR)
CPPFLAGS_ALL = -D_GNU_SOURCE -I. -Iinclude -I$(BUILD) $(CPPFLAGS)
CFLAGS_ALL   = -std=c11 -fPIC $(CFLAGS)

# ---- files

VERSION := $(shell sed -n 's/^\#define SACTAG_VERSION  *"\(.*\)"/\1/p' include/sactag.h)
SOMAJOR := $(firstword $(subst ., ,$(VERSION)))
SONAME   = libsactag.so.$(SOMAJOR)

LIB_SRC  := $(sort $(wildcard ir/*.c schema/*.c passes/*.c lib/*.c))
CLI_SRC  := $(sort $(wildcard cli/*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
MODELS   := tests/cases tests/pt2 tests/golden examples
C_FILES  := $(sort $(wildcard $(foreach d,bench cli examples include ir lib passes schema tests tests/faults tests/fuzz tests/unit,$d/*.[ch])))

PB       = $(BUILD)/schema/onnx.pb-c
LIB_OBJ  = $(LIB_SRC:%.c=$(BUILD)/%.o) $(PB).o
CLI_OBJ  = $(CLI_SRC:%.c=$(BUILD)/%.o)
UNIT_BIN = $(UNIT_SRC:%.c=$(BUILD)/%)
UNIT_OBJ = $(BUILD)/tests/unit/graph_builder.o
FAULTS   = $(addprefix $(BUILD)/tests/faults/,faults alloc_shim.so)
PROGRAM  = $(BUILD)/sactag

# Sub-makes use every core unless -j was given.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))
SUBMAKE = +@$(MAKE) --no-print-directory $(JOBS)

.PHONY: bench bench-programs bench-counts all demo check deps deps-check unit golden golden-test parity invariants diff-test faults docs-test asan clang threads coverage valgrind \
        tests corpus fuzz fuzz-afl fuzz-programs fuzz-replay format format-check lint lint-all install uninstall clean help FORCE
.DELETE_ON_ERROR:
.SUFFIXES:

all: $(PROGRAM) $(BUILD)/libsactag.a $(BUILD)/libsactag.so ## build the program and both libraries (the default)

# ---- building

# A short line for each step instead of the command.
show = $(if $(V),,@printf '  %-6s %s\n' $(1) $@; )

# One clear line instead of a page of compiler errors when something is not installed.
$(BUILD)/.have:
	@mkdir -p $(@D)
	@command -v $(PROTOC_C) >/dev/null || { echo "$(PROTOC_C) is missing: run 'make deps'" >&2; exit 1; }
	@printf '#include <protobuf-c/protobuf-c.h>\n#include <jansson.h>\n#include <xxhash.h>\n#include <minizip/unzip.h>\n#include <zlib.h>\n#define JSMN_HEADER\n#include <jsmn.h>\n' \
	  | $(CC) $(CPPFLAGS) -fsyntax-only -x c - 2>$@.log \
	  || { sed -n '/error:/{p;q}' $@.log >&2; echo "a library is missing: run 'make deps'" >&2; exit 1; }
	@touch $@

# Changes when the compiler or a flag does, so that everything is rebuilt then and only then.
$(BUILD)/.flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(WARN) $(LDFLAGS)' | cmp -s - $@ \
	  || echo '$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(WARN) $(LDFLAGS)' > $@

# How to link the program: not every system has static libraries.
$(BUILD)/.link: $(BUILD)/.flags FORCE
	@{ [ $(LINK) = static ] && echo 'int main(void) { return 0; }' \
	  | $(CC) $(CFLAGS_ALL) $(LDFLAGS) -static-pie -o $@.probe -x c - $(LIBS) 2>/dev/null && echo -static-pie; } >$@.new || :
	@rm -f $@.probe; cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(PB).c $(PB).h &: schema/onnx.proto | $(BUILD)/.have
	$(call show,PROTOC)$(PROTOC_C) --c_out=$(BUILD) $<

$(PB).o: $(PB).c $(BUILD)/.flags
	$(call show,CC)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -w -c -o $@ $<

$(BUILD)/%.o: %.c $(BUILD)/.flags | $(PB).h
	@mkdir -p $(@D)
	$(call show,CC)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(WARN) -MMD -MP -c -o $@ $<

# One object, so that only the functions of the public header can be seen from outside.
$(BUILD)/libsactag.o: $(LIB_OBJ)
	$(call show,LINK)$(LD) -r -o $@ $^ && $(OBJCOPY) --wildcard --keep-global-symbol='sactag_*' $@

$(BUILD)/libsactag.a: $(BUILD)/libsactag.o
	@rm -f $@
	$(call show,AR)$(AR) rcs $@ $^

# The same with all that is in it, for the unit tests.
$(BUILD)/internal.a: $(LIB_OBJ)
	@rm -f $@
	$(call show,AR)$(AR) rcs $@ $^

$(BUILD)/libsactag.so: $(LIB_OBJ) lib/sactag.map
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--version-script,lib/sactag.map -o $@ $(LIB_OBJ) $(LIBS)
	@ln -sf $(@F) $(BUILD)/$(SONAME)

$(PROGRAM): $(CLI_OBJ) $(BUILD)/libsactag.a $(BUILD)/.link
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) `cat $(BUILD)/.link` -o $@ $(CLI_OBJ) $(BUILD)/libsactag.a $(LIBS)

$(UNIT_BIN): $(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(UNIT_OBJ) $(BUILD)/internal.a
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

$(BUILD)/threads: $(BUILD)/tests/threads.o $(BUILD)/libsactag.a
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS) -lpthread

$(BUILD)/tests/faults/faults: $(addprefix $(BUILD)/tests/faults/,faults.o snapshot.o trace.o)
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^

$(BUILD)/tests/faults/alloc_shim.so: $(BUILD)/tests/faults/alloc_shim.o
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -shared -o $@ $^

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_BIN:=.d) $(UNIT_OBJ:.o=.d) $(wildcard $(BUILD)/bench/*.d $(BUILD)/tests/faults/*.d $(BUILD)/tests/threads.d)

# ---- using

demo: ## install what is missing, build, and decide, tag and strip a real exported model
	@$(MAKE) --no-print-directory deps
	$(SUBMAKE) all
	@sh examples/demo.sh $(PROGRAM)

# Installs the packages of $(1) that are not there; offline and quick when all are.
define install_missing
	@if ! command -v dpkg-query >/dev/null; then echo "no Debian system: these must be installed: $(1)"; exit 0; fi; \
	have=" $$(dpkg-query -W -f='$${db:Status-Status}:$${Package} ' $(1) 2>/dev/null)"; missing=; \
	for p in $(1); do case "$$have" in *" installed:$$p "*) ;; *) missing="$$missing $$p";; esac; done; \
	[ -n "$$missing" ] || exit 0; \
	echo "installing:$$missing"; \
	root=; [ "$$(id -u)" = 0 ] || root=sudo; \
	[ -z "$$root" ] || command -v sudo >/dev/null || { echo "neither root nor sudo: install these packages:$$missing" >&2; exit 1; }; \
	$$root apt-get -qq update || true; \
	$$root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 install -y --no-install-recommends $$missing >/dev/null
endef

deps: ## install the Debian packages that the build needs
	$(call install_missing,$(DEPS))

deps-check: ## install these and the packages that the tests need
	$(call install_missing,$(DEPS) $(DEPS_CHECK))

# ---- testing

check: ## install what is missing, build with gcc and clang, plain and sanitised, and run all tests; with T=60 fuzz each reader too
	@$(MAKE) --no-print-directory deps-check
	$(SUBMAKE) all tests $(BENCH)/gen
	$(SUBMAKE) all tests VARIANT=asan BUILD=$(BUILD)/asan
	$(SUBMAKE) all VARIANT=debug BUILD=$(BUILD)/debug
	$(SUBMAKE) all tests CC=clang BUILD=$(BUILD)/clang
	$(SUBMAKE) all tests fuzz-replay CC=clang VARIANT=asan BUILD=$(BUILD)/clang-asan
	$(SUBMAKE) $(BUILD)/tsan/threads VARIANT=tsan BUILD=$(BUILD)/tsan
	$(if $(T),$(SUBMAKE) fuzz-programs CC=clang VARIANT=fuzz BUILD=$(BUILD)/fuzz)
	@tests/run $(BUILD) $(T)

tests: $(UNIT_BIN) $(BUILD)/parity $(FAULTS) ## build the test programs

$(BUILD)/parity: tests/parity.c $(BUILD)/.flags
	$(call show,CC)$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) $(WARN) -o $@ $<

unit: tests ## run the unit tests
	@tests/unit.sh $(BUILD)

golden-test: all ## run the golden tests of the command line
	@tests/golden.sh $(PROGRAM)

golden: all ## refresh the expected files of the golden tests, and the golden plans of examples/ci (then look at git diff)
	@tests/golden.sh --update $(PROGRAM)
	@$(MAKE) --no-print-directory -C examples/ci golden SACTAG=$(abspath $(PROGRAM))

parity: all $(BUILD)/parity ## compare with PyTorch's own decisions
	@$(BUILD)/parity $(PROGRAM) tests/cases tests/parity_known.tsv
	@$(BUILD)/parity --auto $(PROGRAM) tests/cases tests/parity_known.tsv

invariants: all ## tag and strip every model of the tests
	@tests/invariants.sh --refused tests/refused.tsv $(PROGRAM) $(MODELS)

diff-test: all ## plan files, diff, apply and check on every model
	@tests/diff.sh $(PROGRAM) tests/cases

corpus: all ## the same over any directory of models: make corpus CORPUS=DIR
	@tests/invariants.sh $(PROGRAM) $(CORPUS)

faults: all $(FAULTS) ## every fault in memory, disk and power: what is left (make check tries one in a few)
	$(SUBMAKE) all VARIANT=debug BUILD=$(BUILD)/debug
	@tests/faults.sh --all $(BUILD) $(BUILD)/debug

docs-test: all ## run every command that the documents show
	@tests/docs.sh $(PROGRAM)

python-test: all ## test the Python package
	@tests/python.sh $(BUILD)

interop: all ## the tags against PyTorch, onnx and ONNX Runtime: make interop SACTAG_CHROOT=DIR
	@tests/interop.sh $(BUILD) $(SACTAG_CHROOT)

asan: ## unit and golden tests under AddressSanitizer and UBSan
	$(SUBMAKE) unit golden-test VARIANT=asan BUILD=$(BUILD)/asan

clang: ## the same compiled by clang
	$(SUBMAKE) unit golden-test CC=clang BUILD=$(BUILD)/clang

threads: ## eight threads under ThreadSanitizer
	$(SUBMAKE) $(BUILD)/tsan/threads VARIANT=tsan BUILD=$(BUILD)/tsan
	@tests/threads.sh $(BUILD)/tsan/threads

coverage: ## which lines the tests run, per floor; schema/ and passes/ must reach 95 %
	@$(MAKE) --no-print-directory deps-check
	$(SUBMAKE) all tests VARIANT=coverage BUILD=$(BUILD)/coverage
	@tests/coverage.sh $(BUILD)/coverage

valgrind: ## the command line under valgrind on a few models
	$(SUBMAKE) all VARIANT=debug BUILD=$(BUILD)/debug
	@tests/valgrind.sh $(BUILD)/debug/sactag

# ---- fuzzing

FUZZ         = $(BUILD)/tests/fuzz
FUZZ_TARGETS = wire onnx pt2 plan names match
FUZZ_COMMON  = $(FUZZ)/bound.o $(FUZZ)/text.o $(FUZZ)/properties.o
FUZZ_REPLAY  = $(FUZZ_TARGETS:%=$(FUZZ)/replay_%)
FUZZ_BIN     = $(FUZZ_TARGETS:%=$(FUZZ)/fuzz_%)

# With libFuzzer, and a mutator that knows the format.
$(FUZZ)/fuzz_wire $(FUZZ)/fuzz_onnx: $(FUZZ)/mutate_pb.o
$(FUZZ)/fuzz_pt2 $(FUZZ)/fuzz_plan: $(FUZZ)/mutate_json.o
$(FUZZ_BIN): $(FUZZ)/fuzz_%: $(FUZZ)/%.o $(FUZZ_COMMON) $(BUILD)/internal.a
	$(call show,LINK)$(CC) $(CFLAGS_ALL) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LIBS)

# Over files.
$(FUZZ_REPLAY): $(FUZZ)/replay_%: $(FUZZ)/%.o $(FUZZ)/replay.o $(FUZZ_COMMON) $(BUILD)/internal.a
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(LIBS)

-include $(wildcard $(FUZZ)/*.d)

fuzz-programs: $(FUZZ_BIN)
fuzz-replay: $(FUZZ_REPLAY)

fuzz: ## fuzz each reader with libFuzzer, one after the other: make fuzz T=60 ONLY="onnx pt2"
	$(SUBMAKE) fuzz-programs CC=clang VARIANT=fuzz BUILD=$(BUILD)/fuzz
	@tests/fuzz/run.sh $(BUILD)/fuzz/tests/fuzz "$(or $(T),60)" $(or $(ONLY),$(FUZZ_TARGETS))

fuzz-afl: ## the same with AFL++, where it is installed
	$(SUBMAKE) fuzz-replay CC=afl-clang-fast VARIANT=fuzz BUILD=$(BUILD)/afl
	@tests/fuzz/run_afl.sh $(BUILD)/afl/tests/fuzz "$(or $(T),60)" $(or $(ONLY),$(FUZZ_TARGETS))

# ---- speed

BENCH     = $(BUILD)/bench
BENCH_BIN = $(BENCH)/gen $(BENCH)/measure $(BENCH)/peer_c
BENCH_CXX = $(if $(shell command -v $(CXX) && command -v protoc && ls /usr/include/google/protobuf/message.h 2>/dev/null),$(BENCH)/peer_cpp)

bench: all bench-programs ## compare with cp and with protobuf libraries: SCALE=1 ROUNDS=7 ONLY="W X N M H E curves diff"
	@bench/run.sh $(BUILD)

bench-programs: $(BENCH_BIN) $(BENCH_CXX)

bench-counts: all $(BENCH)/gen ## instructions that plan and tag take, against bench/counts.budget
	@bench/counts.sh $(BUILD)

$(BENCH)/%: $(BUILD)/bench/%.o
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^

$(BENCH)/gen: $(addprefix $(BUILD)/bench/,gen.o gen_emit.o gen_decoder.o gen_odd.o)

$(BENCH)/peer_c: $(BUILD)/bench/peer_c.o $(PB).o
	$(call show,LINK)$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ -lprotobuf-c

$(BENCH)/peer_cpp: bench/peer_cpp.cc schema/onnx.proto
	@mkdir -p $(@D)
	$(call show,CXX)protoc --cpp_out=$(BENCH) --proto_path=schema onnx.proto && $(CXX) -O2 -w -I$(BENCH) -o $@ $< $(BENCH)/onnx.pb.cc -lprotobuf -lpthread

# ---- tidiness

format: ## clang-format every C file
	clang-format -i $(C_FILES)

format-check: ## fail when clang-format would change a file
	clang-format --dry-run -Werror $(C_FILES)

# gcc's analyzer knows no C that keeps what it allocates in an array, nor arrays that are filled in a loop (gcc 12): what leaks
# is seen by the faults test, ASan and valgrind, what is not initialised by clang-tidy's analyzer and valgrind.
ANALYZE    = -O0 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-use-of-uninitialized-value -Werror
LINT       = $(patsubst %.c,$(BUILD)/lint/%,$(LIB_SRC) $(CLI_SRC))
HEADERS   := $(wildcard ir/*.h schema/*.h passes/*.h passes/*.def lib/*.h cli/*.h include/*.h)

lint: ## look for mistakes with gcc -fanalyzer, clang-tidy and cppcheck; none may be found (.clang-tidy says what is off, and why)
	$(call install_missing,$(DEPS) $(DEPS_LINT))
	$(SUBMAKE) -k lint-all

lint-all: $(LINT) $(BUILD)/lint/cppcheck

$(BUILD)/lint/%: %.c $(HEADERS) .clang-tidy | $(PB).h
	@mkdir -p $(@D)
	$(call show,LINT)gcc -std=c11 $(CPPFLAGS_ALL) $(ANALYZE) -S -o $@.s $< && clang-tidy --quiet $< -- -std=c11 $(CPPFLAGS_ALL) && mv $@.s $@

$(BUILD)/lint/cppcheck: $(LIB_SRC) $(CLI_SRC) $(HEADERS) | $(PB).h
	@mkdir -p $(@D)
	$(call show,LINT)cppcheck --quiet --error-exitcode=1 --std=c11 --enable=warning,portability,performance --inline-suppr \
	  --suppress=missingIncludeSystem -I. -Iinclude -I$(BUILD) $(LIB_SRC) $(CLI_SRC) && touch $@

# ---- installing

# Each folder is one word of the shell, whatever is in its name.
INSTALL_DIRS = "$(BINDIR)" "$(LIBDIR)/pkgconfig" "$(LIBDIR)/cmake/sactag" "$(INCLUDEDIR)" "$(MANDIR)/man1"
TO_BIN       = "$(DESTDIR)$(BINDIR)"
TO_LIB       = "$(DESTDIR)$(LIBDIR)"
TO_INCLUDE   = "$(DESTDIR)$(INCLUDEDIR)"
TO_MAN       = "$(DESTDIR)$(MANDIR)/man1"
# The folders that install made, for uninstall; not those of a package's staging tree.
MADE         = $(TO_LIB)/cmake/sactag/made-folders

install: all ## install the program, libraries, header, manual, pkg-config and CMake files (PREFIX, DESTDIR)
	@for dir in $(INSTALL_DIRS); do \
	  while [ ! -d "$$dir" ]; do echo "$$dir"; dir=$$(dirname "$$dir"); done; \
	done > $(BUILD)/made
	for dir in $(INSTALL_DIRS); do install -d "$(DESTDIR)$$dir" || exit; done
	@$(if $(DESTDIR),,cat $(BUILD)/made >> $(MADE);) rm -f $(BUILD)/made
	install -m 755 $(PROGRAM) $(TO_BIN)/sactag
	install -m 644 $(BUILD)/libsactag.a $(TO_LIB)/libsactag.a
	install -m 755 $(BUILD)/libsactag.so $(TO_LIB)/libsactag.so.$(VERSION)
	ln -sf libsactag.so.$(VERSION) $(TO_LIB)/$(SONAME)
	ln -sf $(SONAME) $(TO_LIB)/libsactag.so
	install -m 644 include/sactag.h $(TO_INCLUDE)/sactag.h
	install -m 644 docs/sactag.1 $(TO_MAN)/sactag.1
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|; s|@LIBS@|$(LIBS)|' \
	  lib/sactag.pc.in > $(TO_LIB)/pkgconfig/sactag.pc
	sed -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@LIBS@|$(patsubst -l%,%;,$(LIBS))|; s|; |;|g' \
	  lib/sactagConfig.cmake.in > $(TO_LIB)/cmake/sactag/sactagConfig.cmake
	sed -e 's|@VERSION@|$(VERSION)|' lib/sactagConfigVersion.cmake.in > $(TO_LIB)/cmake/sactag/sactagConfigVersion.cmake

uninstall: ## remove what install put there, and the folders that it made, if they are empty
	rm -f $(TO_BIN)/sactag $(TO_INCLUDE)/sactag.h $(TO_MAN)/sactag.1 $(TO_LIB)/pkgconfig/sactag.pc \
	  $(TO_LIB)/libsactag.a $(TO_LIB)/libsactag.so $(TO_LIB)/$(SONAME) $(TO_LIB)/libsactag.so.$(VERSION)
	@mkdir -p $(BUILD); if [ -f $(MADE) ]; then sort -r $(MADE) > $(BUILD)/made; else : > $(BUILD)/made; fi
	rm -rf $(TO_LIB)/cmake/sactag
	@while read -r dir; do rmdir "$$dir" 2>/dev/null || true; done < $(BUILD)/made; rm -f $(BUILD)/made

clean: ## remove the build directory
	rm -rf "$(BUILD)"

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' Makefile
