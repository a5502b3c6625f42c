# gpu.mk: the part of the Makefile that is about GPUs: nvcc, devices, tests on a GPU, the bundle for another machine.

# nvcc: on PATH, in CUDA_HOME, where NVIDIA installs it, or in the Python wheels of `make deps-cuda`.
ifneq ($(CUDA),no)
NVCC ?= $(shell command -v nvcc 2>/dev/null)
NVCC := $(firstword $(NVCC) $(wildcard $(CUDA_HOME:%=%/bin/nvcc) /usr/local/cuda/bin/nvcc .cuda/nvidia/cu*/bin/nvcc))
ifeq ($(CUDA)$(NVCC),yes)
$(error CUDA=yes, but there is no nvcc on PATH, in CUDA_HOME (now '$(CUDA_HOME)'), or in /usr/local/cuda; \
    install the CUDA toolkit, or its compiler into this folder with `make deps-cuda`)
endif

# What to compile for: CUDA_ARCH, which asks for CUDA too; else the GPUs that are here, 7.5 and later; else, where
# CUDA=yes asks for CUDA all the same, one of each kind since. What is between runs the code of the one before, what is
# later is compiled from PTX by the driver.
ALL_ARCH := 75 80 86 89 90
ASKED_ARCH := $(CUDA_ARCH)
ifeq ($(ASKED_ARCH),)
override CUDA_ARCH := $(shell nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | \
                          awk '/^[0-9]+[.][0-9]$$/ && $$1 >= 7.5 { print $$1 * 10 }' | sort -nu)
endif
ifeq ($(CUDA_ARCH),)
override CUDA_ARCH := $(if $(filter yes,$(CUDA)),$(ALL_ARCH))
NO_CUDA   := there is no GPU here; CUDA=yes builds for all kinds, CUDA_ARCH=90 for one
else ifeq ($(NVCC),)
NO_CUDA   := there is no nvcc; make deps-cuda installs one
endif

DEVICE := $(if $(and $(NVCC),$(KERNELS),$(CUDA_ARCH)),cuda)
ifneq ($(DEVICE),)
PEERS  := $(filter-out bench/gpu/gpu_none.c,$(PEERS)) $(wildcard bench/gpu/*.cu bench/peers/*.cu)
endif
CUDA_ROOT := $(abspath $(dir $(realpath $(NVCC)))/..)
# Said once, and where something is built that it matters to.
ifeq ($(DEVICE)$(filter-out 0,$(MAKELEVEL))$(filter help clean lint format deps% bundle%,$(MAKECMDGOALS)),)
$(info Building without CUDA: $(NO_CUDA).)
endif
endif

# Lines of kernels, for profilers, are more than twice as much as the kernels: NVCCFLAGS=-lineinfo adds them.
NVCC_FLAGS = -ccbin $(call cxx,$(CC)) -std=c++17 -Iinclude -I. -DDCSR_CUDA -DDCSR_CUDA_ARCHITECTURES='"$(CUDA_ARCH)"' \
    $(filter -O% -g,$(CFLAGS)) --threads 0 $(NVCCFLAGS) \
    $(foreach arch,$(CUDA_ARCH),-gencode arch=compute_$(arch),code=sm_$(arch)) \
    -gencode arch=compute_$(lastword $(CUDA_ARCH)),code=compute_$(lastword $(CUDA_ARCH)) -Werror all-warnings \
    -Xcompiler -fPIC,-fvisibility=hidden,-fopenmp,-Wall,-Wextra,-Wshadow,-Werror
# The runtime is linked statically, and looks for the driver when it is first called: programs start without one.
CUDART := $(wildcard $(addsuffix /libcudart_static.a,$(addprefix $(CUDA_ROOT)/,lib64 lib targets/x86_64-linux/lib)))

# For each device: the sources that it adds to the library, its flags for C and C++, what it is linked with.
cuda_SOURCES := $(CONTROL) $(KERNELS)
cuda_FLAGS   := -DDCSR_CUDA
cuda_LIBS    := $(addprefix -L,$(abspath $(dir $(firstword $(CUDART))))) -lcudart_static -ldl -lrt -lpthread
simt_SOURCES := $(CONTROL) $(KERNELS) $(wildcard tests/simt/*.cpp)
simt_FLAGS   := -DDCSR_CUDA -DDCSR_SIMT

# -- Test on a GPU ---------------------------------------------------------------------------------------------------

.PHONY: test-gpu sanitize-gpu bundle bundled deps-cuda

GPU_SUITES := $(SUITES) $(DEVICE_SUITES)
test-gpu: $(GPU_SUITES:%=$(BUILD)/tests/%) ## the suites, plain, on the GPU of this machine
	@$(BUILD)/dcsr --device cuda info path:2 >/dev/null
	@DCSR_DEVICE=cuda $(RUN_TESTS) $^

# All suites in one program: by Criterion's runner, and by the one for sanitizers.
GPU_SUITE_FILES := $(filter $(GPU_SUITES:%=%.c) $(foreach suite,$(GPU_SUITES),%/$(suite).c),$(SUITE_FILES))
ALL_SUITES := $(call objects,$(BUILD),$(GPU_SUITE_FILES)) $(BUILD)/tests/libsupport.a $(BUILD)/libdcsr.a
$(BUILD)/tests/test_all: $(ALL_SUITES) | $(BUILD)/dcsr
$(BUILD)/tests/test_all_forked: $(call objects,$(BUILD),$(RUNNER)) $(ALL_SUITES) | $(BUILD)/dcsr
$(BUILD)/tests/test_all $(BUILD)/tests/test_all_forked:
	$(SHOW)$($(BUILD)_LINK) $(LDFLAGS) $^ -lcriterion -ljansson $(LIBS) $($(DEVICE)_LIBS) $(JEMALLOC) -o $@

sanitize-gpu: $(BUILD)/tests/test_all_forked ## chosen suites on a GPU, under the four tools of compute-sanitizer
	@CUDA_ROOT=$(CUDA_ROOT) tools/sanitize.sh $(BUILD)

# For machines that have a GPU and its driver, but perhaps another processor, and neither compilers nor competitors.
BUNDLE_LDFLAGS = -Wl,--disable-new-dtags,-rpath,'$$ORIGIN/lib:$$ORIGIN/../lib'
bundle: | $(DEPS) ## build/bundle: program, suites, benchmarks and their libraries, for another machine with a GPU
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/bundle-build ARCH=$(patsubst native,x86-64-v3,$(ARCH)) CUDA=yes \
	    CUDA_ARCH='$(or $(ASKED_ARCH),$(ALL_ARCH))' NVCCFLAGS='-compress-mode=size -lineinfo' \
	    LDFLAGS='$$(BUNDLE_LDFLAGS)' ENGINE=libdcsr.so \
	    PEER_FLAGS= PEER_LIBS= bundled
	@tools/bundle.sh $(BUILD)/bundle-build $(BUILD)/bundle

bundled: $(BUILD)/dcsr $(BUILD)/tests/test_all $(BUILD)/tests/test_all_forked benches

deps-cuda: ## installs NVIDIA's compiler, from Python wheels, into .cuda
	@tools/deps.sh cuda
