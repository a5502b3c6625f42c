/* support_multi.h: as many devices as suites of several devices use; of the emulator, that it has. */
#ifndef DCSR_SUPPORT_MULTI_H
#define DCSR_SUPPORT_MULTI_H

#include "tests/support/support.h"
#if TEST_EMULATOR
#include "tests/simt/simt_control.h"
#endif

enum { MOST_DEVICES = TEST_EMULATOR ? 3 : 5 };

/* TestSuite(NAME, .init = set_devices) */
static inline void set_devices(void)
{
#if TEST_EMULATOR
    simt_set_devices(MOST_DEVICES);
#endif
}

#endif
