/* test_amg_device.c: what multigrid says of a GPU. */
#include <dcsr/amg.h>
#include "tests/support/support.h"

Test(amg_device, is_refused)
{
    dcsr_context *context;
    dcsr_amg *amg;
    TEST_OK(dcsr_context_create(&context, &(dcsr_context_options){.device = DCSR_DEVICE_CUDA}));
    TEST_REFUSED(DCSR_ERROR_NOT_BUILT, "DCSR_DEVICE_CPU", dcsr_amg_create(&amg, context));
    cr_assert_null(amg);
    test_close(context);
}
