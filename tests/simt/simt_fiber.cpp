/* simt_fiber.cpp: stacks and the switch between them, with what AddressSanitizer and ThreadSanitizer must be
 * told. */
#include "tests/simt/simt_fiber.h"
#include "tests/simt/simt_internal.h"
#include "tests/simt/simt_sanitizer.h"
#include <cstring>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace simt
{
namespace
{
enum { GUARD_BYTES = 4096 };

/* Of the one host thread that runs fibers now. */
fiber *running, *came_from;
} // namespace

/* Stacks begin at multiples of a page; what each has at its top would be in the same few lines of a cache. */
static size_t next_colour()
{
    static size_t made;
    return made++ % 31 * 128;
}

#if defined(__x86_64__)
/* Saves the registers that a call preserves on the running stack, notes its end in *save, and goes on with
 * the stack that was left at load. */
extern "C" void simt_swap_stacks(void **save, void *load);
asm(".text\n"
    ".type simt_swap_stacks, @function\n"
    "simt_swap_stacks:\n"
    "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
    "    mov %rsp, (%rdi)\n"
    "    mov %rsi, %rsp\n"
    "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
    "    ret\n"
    ".size simt_swap_stacks, . - simt_swap_stacks\n");

static void prepare_stack(fiber *self, void (*entry)())
{
    void **top = reinterpret_cast<void **>(self->stack + self->stack_bytes - next_colour());
    *--top = nullptr; /* where entry would return to; aligns its frame as a call does */
    *--top = reinterpret_cast<void *>(entry);
    for (int saved_register = 0; saved_register < 6; saved_register++) *--top = nullptr;
    self->stack_pointer = top;
}

static inline void swap_stacks(fiber *from, fiber *to)
{
    simt_swap_stacks(&from->stack_pointer, to->stack_pointer);
}
#else
static void prepare_stack(fiber *self, void (*entry)())
{
    ucontext_t *context = new ucontext_t;
    getcontext(context);
    context->uc_stack.ss_sp = self->stack;
    context->uc_stack.ss_size = self->stack_bytes - next_colour();
    context->uc_link = nullptr;
    makecontext(context, entry, 0);
    self->stack_pointer = context;
}

static inline void swap_stacks(fiber *from, fiber *to)
{
    if (!from->stack_pointer) from->stack_pointer = new ucontext_t;
    swapcontext(static_cast<ucontext_t *>(from->stack_pointer), static_cast<ucontext_t *>(to->stack_pointer));
}
#endif

/* The first thing that happens in a fiber that has been switched to. */
SIMT_RAW static void arrive()
{
#if SIMT_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(running->fake_stack, &bottom, &bytes);
    if (!came_from->stack) { /* the host thread's, whose stack is known now */
        came_from->stack = static_cast<char *>(const_cast<void *>(bottom));
        came_from->stack_bytes = bytes;
    }
#endif
}

SIMT_RAW void fiber_switch(fiber *to)
{
    fiber *const from = running;
    if (to == from) return;
    running = to;
    came_from = from;
#if SIMT_ASAN
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_bytes);
#endif
#if SIMT_TSAN
    __tsan_switch_to_fiber(to->context, __tsan_switch_to_fiber_no_sync);
#endif
    swap_stacks(from, to);
    arrive();
}

/* Where a fiber begins. */
SIMT_RAW static void enter()
{
    arrive();
    running->function();
    __builtin_unreachable();
}

void fiber_create(fiber *self, size_t stack_bytes, void (*function)())
{
    void *memory = mmap(nullptr, stack_bytes + GUARD_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) die("no stack for another CUDA thread; vm.max_map_count may be too small");
    /* What overflows the stack faults instead of changing its neighbour. */
    mprotect(memory, GUARD_BYTES, PROT_NONE);
    self->stack = static_cast<char *>(memory) + GUARD_BYTES;
    self->stack_bytes = stack_bytes;
    self->function = function;
#if SIMT_TSAN
    self->context = __tsan_create_fiber(0); /* in quiet code: what the creator did is not ordered before it */
#endif
    prepare_stack(self, enter);
}

void fiber_adopt(fiber *self)
{
#if SIMT_TSAN
    self->context = __tsan_get_current_fiber();
#endif
    running = self;
}

SIMT_RAW void fibers_join(fiber *const *fibers, size_t n, void *address)
{
#if SIMT_TSAN
    void *const self = __tsan_get_current_fiber();
    for (size_t i = 0; i < n; i++) {
        __tsan_switch_to_fiber(fibers[i]->context, __tsan_switch_to_fiber_no_sync);
        order_release(address);
    }
    for (size_t i = 0; i < n; i++) {
        __tsan_switch_to_fiber(fibers[i]->context, __tsan_switch_to_fiber_no_sync);
        order_acquire(address);
    }
    __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
#else
    (void)fibers, (void)n, (void)address;
#endif
}
} // namespace simt
