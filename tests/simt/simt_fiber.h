/* simt_fiber.h: fibers: stacks that one host thread runs in turn (internal).
 *
 * A fiber never ends: its function is a loop that does one piece of work and switches away, so that its
 * stack, and what the sanitizers keep for it, is there for the next piece. */
#ifndef DCSR_TESTS_SIMT_FIBER_H
#define DCSR_TESTS_SIMT_FIBER_H

#include <cstddef>

namespace simt
{
struct fiber {
    void *stack_pointer = nullptr; /* while it does not run */
    char *stack = nullptr;
    size_t stack_bytes = 0;
    void (*function)() = nullptr;
    void *fake_stack = nullptr; /* AddressSanitizer's */
    void *context = nullptr;    /* ThreadSanitizer's */
};

/* Gives a fiber a stack and a function, which is first entered by switching to it. */
void fiber_create(fiber *self, size_t stack_bytes, void (*function)());
/* Makes self the fiber of the host thread that calls, which is going to switch to others. */
void fiber_adopt(fiber *self);
/* Leaves the running fiber, and comes back when somebody switches to it. */
void fiber_switch(fiber *to);
/* Everything that the n fibers have done, all of which wait between quiet_begin() and quiet_end(), comes
 * before all that they do from here on. */
void fibers_join(fiber *const *fibers, size_t n, void *address);
} // namespace simt

#endif
