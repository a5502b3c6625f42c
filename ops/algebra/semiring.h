/* semiring.h: what products ask about semirings (internal). Inner loops on them: semiring_types.inc. */
#ifndef DCSR_SEMIRING_H
#define DCSR_SEMIRING_H

#include "ops/algebra/operator.h"

/* Both return the built-in semiring that serves instead of a built-in one; NULL where there is none, and for
 * a user's. */

/* That with the operands of multiply in the other order. */
const dcsr_semiring *dcsr_i_semiring_flipped(const dcsr_semiring *semiring);
/* That for a matrix, the first operand of multiply, whose values are all 1: it looks at the matrix's values
 * as little as it can, and is the semiring itself where that is best. */
const dcsr_semiring *dcsr_i_semiring_of_ones(const dcsr_semiring *semiring);

#endif
