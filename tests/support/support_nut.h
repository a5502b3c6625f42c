/* support_nut.h: whether tiles are what they should be, and the same. */
#ifndef DCSR_TESTS_SUPPORT_NUT_H
#define DCSR_TESTS_SUPPORT_NUT_H

#include "dcsr/nut/nut_tiles.h"
#include "tests/support/support.h"

/* Whether tiles in host memory keep all that dcsr/nut.h and dcsr/nut/nut_tiles.h say of them, and hold exactly what the
 * view's rows do; if not, `why` says what is wrong. */
bool test_nut_matches(const dcsr_nut *nut, dcsr_view *view, char why[TEST_WHY]);
/* Whether two panels in host memory are the same, bit for bit. */
bool test_panels_are_equal(const dcsr_nut *nut, const dcsr_nut_panel *a, const dcsr_nut_panel *b);
/* The elements of a panel, with the room between tiles. */
uint64_t test_panel_elements(const dcsr_nut_panel *panel);
/* Its active columns. */
uint64_t test_panel_columns(const dcsr_nut_panel *panel);

/* The tiles of a view that is one of DCSR_LAYOUT_NUT. */
dcsr_nut test_nut_of(dcsr_view *view);

#endif
