/* combine.h: what the policies do to two values of one place (internal). */
#ifndef DCSR_COMBINE_H
#define DCSR_COMBINE_H

#include <dcsr/matrix.h>

/* *into = the policy's combination of *into (stored earlier) and *value; NULL for keep and for pattern-only
 * matrices. */
typedef void (*dcsr_i_combine)(void *into, const void *value);
dcsr_i_combine dcsr_i_combiner(dcsr_type type, dcsr_policy policy);

#endif
