/* simt_report.cpp: says where something went wrong: the seed, the operation, the CUDA threads.
 *
 * The emulator finds some faults itself and calls die(). Others end in a signal or in a report of a
 * sanitizer, which is then followed by the same lines. */
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include "tests/simt/simt_grid.h"
#include "tests/simt/simt_memory.h"
#include "tests/simt/simt_queue.h"

#if SIMT_ASAN || SIMT_TSAN
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#endif

namespace simt
{
namespace
{
enum { MOST_LISTED = 8, SIGNAL_STACK_BYTES = 64 << 10 };

const char *const COLLECTIVES[] = {"__syncwarp", "a shuffle", "a vote", "__match_any_sync",
                                   "__match_all_sync"};

void describe_thread(const cuda_thread *thread)
{
    dprintf(STDERR_FILENO, "  block (%u %u %u) thread (%u %u %u)", thread->block.x, thread->block.y,
            thread->block.z, thread->thread.x, thread->thread.y, thread->thread.z);
    if (thread->state == AT_BARRIER)
        dprintf(STDERR_FILENO, " waits at __syncthreads, %s:%d\n", thread->file, thread->line);
    else if (thread->state == AT_COLLECTIVE)
        dprintf(STDERR_FILENO, " waits at %s, mask %08x, %s:%d\n", COLLECTIVES[thread->collective],
                thread->home->warps[thread->linear / 32].masks[thread->linear % 32], thread->file,
                thread->line);
    else if (thread->file)
        dprintf(STDERR_FILENO, " runs; it waited last at %s:%d\n", thread->file, thread->line);
    else
        dprintf(STDERR_FILENO, " runs\n");
}

void describe_position()
{
    const operation *const op = on_device ? now().op : nullptr;
    dprintf(STDERR_FILENO, "  SIMT_SEED=%llu", static_cast<unsigned long long>(options().seed));
    if (!op) {
        dprintf(STDERR_FILENO, ", in code of the host\n");
        return;
    }
    dprintf(STDERR_FILENO, ", operation %llu: %s", static_cast<unsigned long long>(op->number), op->what);
    if (op->file) dprintf(STDERR_FILENO, " launched at %s:%d", op->file, op->line);
    dprintf(STDERR_FILENO, ", stream %llu", static_cast<unsigned long long>(now().stream->id));
    if (device_count() > 1) dprintf(STDERR_FILENO, ", device %d", now().stream->device);
    dprintf(STDERR_FILENO, "\n");
    if (here) describe_thread(current_thread());
    unsigned listed = 0;
    for (const block_state *block : resident_blocks()) {
        for (const cuda_thread *thread : block->threads) {
            const bool waits = thread->state == AT_BARRIER || thread->state == AT_COLLECTIVE;
            if (waits && thread != here && listed++ < MOST_LISTED) describe_thread(thread);
        }
    }
    if (listed > MOST_LISTED) dprintf(STDERR_FILENO, "  and %u more that wait\n", listed - MOST_LISTED);
}

#if !SIMT_ASAN && !SIMT_TSAN
/* Of what is allocated there. */
bool is_of_no_peer(const void *address)
{
    const heap_block *const block = heap_block_around(address);
    const int owner = block ? block->device : virtual_device(address);
    return owner >= 0 && now().stream && owner != now().stream->device;
}

void on_fault(int signal_number, siginfo_t *info, void *)
{
    const char *const kind = !is_device_range(info->si_addr) ? "memory"
                             : !on_device                    ? "device memory from the host"
                             : is_of_no_peer(info->si_addr)  ? "memory of another device that is no peer"
                                                             : "device memory that is not mapped";
    dprintf(STDERR_FILENO, "SIMT ERROR: invalid access to %s, address %p\n", kind, info->si_addr);
    describe_position();
    signal(signal_number, SIG_DFL); /* returning repeats the access */
}
#endif
} // namespace

void die(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "SIMT ERROR: %s\n", text);
    describe_position();
    abort();
}

void report_install()
{
#if SIMT_ASAN || SIMT_TSAN
    __sanitizer_set_death_callback(describe_position);
#else
    for (int signal_number : {SIGSEGV, SIGBUS}) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        if (sigaction(signal_number, nullptr, &action) || action.sa_handler != SIG_DFL) continue;
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(signal_number, &action, nullptr);
    }
#endif
}

/* A stack for the handler, for the case that the fault is that a fiber's stack is full. */
void report_install_thread()
{
#if !SIMT_ASAN && !SIMT_TSAN
    struct signal_stack {
        char *memory = nullptr;
        ~signal_stack()
        {
            if (!memory) return;
            stack_t none;
            memset(&none, 0, sizeof none);
            none.ss_flags = SS_DISABLE;
            sigaltstack(&none, nullptr);
            delete[] memory;
        }
    };
    static thread_local signal_stack mine;
    if (mine.memory) return;
    mine.memory = new char[SIGNAL_STACK_BYTES];
    stack_t stack;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = mine.memory;
    stack.ss_size = SIGNAL_STACK_BYTES;
    sigaltstack(&stack, nullptr);
#endif
}
} // namespace simt

/* The sanitizers call these at each report; UndefinedBehaviorSanitizer has no part in the callback above. */
#if SIMT_TSAN
extern "C" SIMT_RAW __attribute__((visibility("default"))) void __tsan_on_report(void *)
{
    simt::describe_position();
}
#endif
#if SIMT_ASAN
extern "C" __attribute__((visibility("default"))) void __ubsan_on_report()
{
    simt::describe_position();
}
#endif
