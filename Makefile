# dcsr: builds, tests, measures and installs everything; `make help` lists the targets.
#
#   make CC=clang BUILD=build/clang      another compiler, in a folder of its own
#   make ARCH=x86-64-v3                  for other machines than this one
#
# Sources are found by folder. The variants (plain, asan, tsan, fuzz, coverage) are the same rules with other flags, each
# in a folder of its own:
#
#   build/obj/        build/libdcsr.a        build/dcsr        build/tests/test_*         plain, with jemalloc
#   build/asan/obj/   build/asan/libdcsr.a   build/asan/dcsr   build/asan/tests/test_*    and so on

ifeq ($(origin CC),default)
CC := gcc
endif
CXX    := $(if $(findstring clang,$(CC)),clang++,g++)
CLANG  ?= clang
BUILD  ?= build
ARCH   ?= native
CFLAGS ?= -O3 -march=$(ARCH) -g
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20

VERSION  := $(shell sed -n 's/^.define DCSR_VERSION "\(.*\)"/\1/p' dcsr/runtime.h)
SONAME   := libdcsr.so.$(firstword $(subst ., ,$(VERSION)))
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wvla -Werror -Wno-pass-failed
C_FLAGS  := -std=c11 -Wstrict-prototypes -Wmissing-prototypes
BASE     := -D_GNU_SOURCE -I. -fPIC -fvisibility=hidden -fopenmp -pthread -MMD -MP $(WARNINGS)
LIBS     := -lz -lm
PLAIN    := $(CFLAGS) -DDCSR_JEMALLOC
# Recipes show what they make; `make V=1` shows the commands.
SHOW = $(if $(V),,@echo '  $@';)

# -- What there is ---------------------------------------------------------------------------------------------------

LIBRARY := $(wildcard dcsr/*.c ops/*.c algos/*.c)
PUBLIC  := dcsr/dcsr.h $(shell grep -l DCSR_API dcsr/*.h ops/*.h algos/*.h)
PUBLIC  += $(sort $(shell sed -n 's/^.include "\(.*\.def\)"/\1/p' $(PUBLIC)))
CLI     := $(wildcard cli/*.c)
TOOLS   := $(wildcard tools/*.c)
BENCHES := $(wildcard bench/bench_*.c)
PEERS   := $(filter-out $(BENCHES),$(wildcard bench/*.c bench/*.cpp))
SUITES  := $(notdir $(basename $(wildcard tests/test_*.c)))
FUZZERS := $(notdir $(basename $(wildcard tests/fuzz_*.c)))
# Criterion's own runner does not start under ThreadSanitizer and does not see leaks; this one stands in for it.
RUNNER  := tests/sanitizer_main.c
SUPPORT := $(filter-out $(RUNNER) tests/test_% tests/fuzz_%,$(wildcard tests/*.c))
# The suites in which threads meet.
THREADED := $(filter test_threads test_model test_ticket test_view test_matrix test_closing test_failure test_limits \
              test_defragment test_cli_commands test_reader_errors test_context test_alloc test_reader test_generate test_convert test_spmv test_bfs,$(SUITES))

# Targets that set up the machine first install what they need; a plain `make` installs nothing.
goal = $(filter $(1),$(MAKECMDGOALS))
DEPS :=
ifneq ($(call goal,bench benches plain),)
DEPS := $(BUILD)/.deps-bench
else ifneq ($(call goal,test test-% tests lint format coverage),)
DEPS := $(BUILD)/.deps-test
else ifneq ($(call goal,demo),)
DEPS := $(BUILD)/.deps-build
endif

objects = $(patsubst %,$(1)/obj/%.o,$(basename $(2)))

.PHONY: all plain help test test-unit test-asan test-tsan test-fuzz tests lint format bench benches demo deps install coverage clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/libdcsr.a $(BUILD)/libdcsr.so $(BUILD)/dcsr ## the library, static and shared, and the program dcsr

plain: all $(SUITES:%=$(BUILD)/tests/%) $(TOOLS:%.c=$(BUILD)/%) benches ## and what else there is to compile: tests, tools, benchmarks

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
	    while IFS='|' read -r target text; do printf '  make %-10s  %s\n' "$$target" "$$text"; done

# -- Variants --------------------------------------------------------------------------------------------------------

# $(1) folder, $(2) compiler, $(3) flags, $(4) libraries, $(5) objects that every test gets; EXTRA: flags of single objects
EXTRA :=
define variant
$(1)/obj/%.o: %.c | $$(DEPS)
	@mkdir -p $$(@D)
	$$(SHOW)$(2) $(C_FLAGS) $(BASE) $(3) $$(EXTRA) -c $$< -o $$@

$(1)/libdcsr.a: $(call objects,$(1),$(LIBRARY))
	@rm -f $$@
	$$(SHOW)ar rcs $$@ $$^

$(1)/dcsr: $(call objects,$(1),$(CLI)) $(1)/libdcsr.a
	$$(SHOW)$(2) $(3) -fopenmp $$^ -ljansson -lpng $(LIBS) $(4) -o $$@

$(1)/tests/libsupport.a: $(call objects,$(1),$(SUPPORT))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(SHOW)ar rcs $$@ $$^

$(1)/tests/test_%: $(1)/obj/tests/test_%.o $(5) $(1)/tests/libsupport.a $(1)/libdcsr.a
	$$(SHOW)$(2) $(3) -fopenmp $$^ -lcriterion -ljansson $(LIBS) $(4) -o $$@

-include $(wildcard $(1)/obj/*/*.d)
endef

# With the instructions of ARCH, so that kernels for them are looked at too.
ASAN := -O1 -g -march=$(ARCH) -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN := -O1 -g -fno-omit-frame-pointer -fsanitize=thread
FUZZ := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
COVERAGE := -O1 -g --coverage

$(eval $(call variant,$(BUILD),$(CC),$(PLAIN),-ljemalloc))
$(eval $(call variant,$(BUILD)/asan,$(CC),$(ASAN),,$(call objects,$(BUILD)/asan,$(RUNNER))))
$(eval $(call variant,$(BUILD)/tsan,$(CLANG),$(TSAN),,$(call objects,$(BUILD)/tsan,$(RUNNER))))
$(eval $(call variant,$(BUILD)/fuzz,$(CLANG),$(FUZZ)))
$(eval $(call variant,$(BUILD)/coverage,gcc,$(COVERAGE),,$(call objects,$(BUILD)/coverage,$(RUNNER))))

$(BUILD)/libdcsr.so: $(call objects,$(BUILD),$(LIBRARY)) dcsr.map
	$(SHOW)$(CC) $(PLAIN) -shared -fopenmp -Wl,-soname,$(SONAME) -Wl,--version-script=dcsr.map -Wl,-z,defs \
	    $(filter %.o,$^) $(LIBS) -ljemalloc -o $(@D)/libdcsr.so.$(VERSION)
	@ln -sf libdcsr.so.$(VERSION) $(@D)/$(SONAME)
	@ln -sf $(SONAME) $@

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/obj/tests/fuzz_%.o $(BUILD)/fuzz/libdcsr.a
	$(SHOW)$(CLANG) $(FUZZ) -fsanitize=fuzzer -fopenmp $^ $(LIBS) -o $@

$(BUILD)/tools/%: $(BUILD)/obj/tools/%.o $(BUILD)/libdcsr.a
	@mkdir -p $(@D)
	$(SHOW)$(CC) $(PLAIN) -fopenmp $^ $(LIBS) -ljemalloc -o $@

# -- Test ------------------------------------------------------------------------------------------------------------

UNIT_TESTS := $(SUITES:%=$(BUILD)/tests/%)
ASAN_TESTS := $(SUITES:%=$(BUILD)/asan/tests/%)
TSAN_TESTS := $(THREADED:%=$(BUILD)/tsan/tests/%)
FUZZ_TESTS := $(FUZZERS:%=$(BUILD)/fuzz/%)
RUN_TESTS  := FUZZ_SECONDS=$(FUZZ_SECONDS) CLANG=$(CLANG) tools/test.sh

test: all tests ## everything: the suites plain, under ASan+UBSan and under TSan, and short runs of the fuzzers
	@$(RUN_TESTS) $(UNIT_TESTS) $(ASAN_TESTS) $(TSAN_TESTS) $(FUZZ_TESTS)

test-unit: $(UNIT_TESTS) $(BUILD)/dcsr ## the suites, plain
	@$(RUN_TESTS) $(UNIT_TESTS)

test-asan: $(ASAN_TESTS) $(BUILD)/asan/dcsr ## the suites under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(RUN_TESTS) $(ASAN_TESTS)

test-tsan: $(TSAN_TESTS) $(BUILD)/tsan/dcsr ## the suites in which threads meet, under ThreadSanitizer
	@$(RUN_TESTS) $(TSAN_TESTS)

test-fuzz: $(FUZZ_TESTS) ## the fuzzers, FUZZ_SECONDS in all
	@$(RUN_TESTS) $(FUZZ_TESTS)

tests: $(UNIT_TESTS) $(ASAN_TESTS) $(TSAN_TESTS) $(FUZZ_TESTS) $(BUILD)/dcsr $(BUILD)/asan/dcsr $(BUILD)/tsan/dcsr

coverage: $(SUITES:%=$(BUILD)/coverage/tests/%) $(BUILD)/coverage/dcsr ## which lines the suites reach: build/coverage/index.html
	@find $(BUILD)/coverage -name '*.gcda' -delete
	-@tools/test.sh $(SUITES:%=$(BUILD)/coverage/tests/%)
	@gcovr --root . --filter '(dcsr|ops|algos|cli)/' --html-details $(BUILD)/coverage/index.html \
	    --print-summary $(BUILD)/coverage/obj

lint: | $(DEPS) ## format, include direction, names, lengths, words
	@tools/lint.sh

format: | $(DEPS) ## lets clang-format rewrite the sources
	@tools/sources.sh | xargs clang-format-14 -i

# -- Measure, show ---------------------------------------------------------------------------------------------------

# A competitor takes part in the benchmarks where its header is installed.
has = $(shell echo '\#include <$(1)>' | $(CC) -E -x c - >/dev/null 2>&1 && echo $(2))
PEER_FLAGS = $(call has,GraphBLAS.h,-DDCSR_PEER_GRAPHBLAS) $(call has,rsb.h,-DDCSR_PEER_RSB) \
             $(call has,eigen3/signature_of_eigen3_matrix_library,-DDCSR_PEER_EIGEN -isystem /usr/include/eigen3)
PEER_LIBS  = $(call has,GraphBLAS.h,-lgraphblas) $(call has,rsb.h,-lrsb)

$(call objects,$(BUILD),$(PEERS)): private EXTRA = $(PEER_FLAGS)

$(BUILD)/obj/bench/%.o: bench/%.cpp | $(DEPS)
	@mkdir -p $(@D)
	$(SHOW)$(CXX) -std=c++17 $(BASE) $(CFLAGS) $(EXTRA) -c $< -o $@

$(BUILD)/bench/bench_%: $(BUILD)/obj/bench/bench_%.o $(call objects,$(BUILD),$(PEERS)) $(BUILD)/libdcsr.a
	@mkdir -p $(@D)
	$(SHOW)$(CXX) $(CFLAGS) -fopenmp $^ $(PEER_LIBS) -ljansson $(LIBS) -ljemalloc -o $@

benches: $(BENCHES:%.c=$(BUILD)/%)

bench: benches ## the benchmarks, side by side with what else is installed; results in build/bench/
	BUILD=$(BUILD) tools/bench.sh

demo: $(BUILD)/dcsr $(TOOLS:%.c=$(BUILD)/%) ## a tour of what dcsr does
	@DCSR_PROGRAM=$(BUILD)/dcsr DCSR_DEMO=$(BUILD)/tools/demo DCSR_DEMO_FOLDER=$(BUILD)/demo tools/demo.sh

# -- Set up, install -------------------------------------------------------------------------------------------------

$(BUILD)/.deps-%: tools/deps.sh
	@mkdir -p $(@D)
	@tools/deps.sh $*
	@touch $@

deps: ## installs what building, testing and measuring need and is missing
	@tools/deps.sh bench

install: all ## installs into PREFIX (/usr/local), below DESTDIR if that is set
	@tools/install.sh "$(BUILD)" "$(DESTDIR)" "$(PREFIX)" "$(VERSION)" $(PUBLIC)

clean: ## removes what was built
	rm -rf $(BUILD)
