/* support_diff.h: what differs between two views, asserted to have been told. */
#ifndef DCSR_TESTS_SUPPORT_DIFF_H
#define DCSR_TESTS_SUPPORT_DIFF_H

#include "tests/support/support.h"
#include <dcsr/diff.h>

static inline dcsr_diff *diff_of(dcsr_view *from, dcsr_view *to)
{
    dcsr_diff *diff;
    TEST_OK(dcsr_view_diff(&diff, from, to));
    return diff;
}

static inline dcsr_diff_info info_of(const dcsr_diff *diff)
{
    dcsr_diff_info info;
    TEST_OK(dcsr_diff_get_info(diff, &info));
    return info;
}

static inline dcsr_diff_entries entries_of(const dcsr_diff *diff)
{
    dcsr_diff_entries entries;
    TEST_OK(dcsr_diff_get_entries(diff, &entries));
    return entries;
}

#endif
