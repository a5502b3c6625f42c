/* test_extend.c: what algorithms beside the library get: memory, threads, failures. */
#include <dcsr/extend.h>
#include "dcsr/base/alloc.h"
#include "tests/support/support.h"

Test(extend, memory_counts_and_outlives_its_context)
{
    dcsr_context *context;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.memory_limit = 1 << 20}));
    uint64_t before = test_context_info(context).matrix_bytes;
    char *memory = dcsr_context_allocate(context, 1000, 3), *none = dcsr_context_allocate(context, 0, 8);
    cr_assert(memory && none && (uintptr_t)memory % 64 == 0);
    cr_assert_eq(test_context_info(context).matrix_bytes, before + 3000);
    for (int i = 0; i < 3000; i++) cr_assert_eq(memory[i], 0);
    cr_assert_null(dcsr_context_allocate(context, 1 << 20, 1));
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_OUT_OF_MEMORY);
    cr_assert_null(dcsr_context_allocate(context, UINT64_MAX, 16));
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_OUT_OF_MEMORY);
    cr_assert_null(dcsr_context_allocate(NULL, 1, 1));
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_INVALID_ARGUMENT);
    dcsr_context_free(context, none, 0, 8);
    dcsr_context_free(context, NULL, 7, 8);
    dcsr_context_destroy(context);
    cr_assert_null(dcsr_context_allocate(context, 1, 1)); /* `memory` holds the context */
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_CONTEXT_DESTROYED);
    memory[2999] = 1;
    dcsr_context_free(context, memory, 1000, 3);
}

Test(extend, failures_are_those_of_the_library)
{
    TEST_REFUSED(DCSR_ERROR_BUSY, "7 of nine", dcsr_thread_fail(DCSR_ERROR_BUSY, "%d of %s", 7, "nine"));
    cr_assert_eq(dcsr_thread_status(), DCSR_ERROR_BUSY);
    cr_assert_str_eq(dcsr_thread_error(), "7 of nine");
}

Test(extend, threads_by_the_work)
{
    dcsr_context *context = test_context(3);
    cr_assert_eq(dcsr_context_threads(context, 10), 1);
    cr_assert_eq(dcsr_context_threads(context, 1 << 26), 3);
    cr_assert_eq(dcsr_context_threads(NULL, 1 << 26), 1);
    test_close(context);
}
