/* convert_out.h: what the conversions from a view share (internal). */
#ifndef DCSR_CONVERT_OUT_H
#define DCSR_CONVERT_OUT_H

#include <dcsr/convert.h>
#include "dcsr/store/rowtable.h"
#include <string.h>

/* A source of rows: checked, and counted as read by the matrix's cost model. */
dcsr_status dcsr_i_convert_begin(dcsr_view *view, const dcsr_i_rows **rows, dcsr_context **context);

/* Allocates *coo and fills it with each row's entries, the first `skip` left out. */
dcsr_status dcsr_i_rows_to_coo(dcsr_coo *coo, const char *call, dcsr_context *context,
                               const dcsr_i_rows *rows, uint64_t skip);

#endif
