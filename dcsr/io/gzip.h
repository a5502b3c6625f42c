/* gzip.h: zlib on the library's memory (internal). */
#ifndef DCSR_GZIP_H
#define DCSR_GZIP_H

#include <dcsr/context.h>
#include <zlib.h>

/* For inflateInit2() and deflateInit2(): a gzip wrapper around the largest window. */
enum { DCSR_I_GZIP_WINDOW = 15 + 16 };

/* An empty stream whose memory is counted in the context. */
z_stream dcsr_i_gzip_stream(dcsr_context *context);

#endif
