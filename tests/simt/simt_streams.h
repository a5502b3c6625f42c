/* simt_streams.h: the sets of streams and events that exist (internal). */
#ifndef DCSR_TESTS_SIMT_STREAMS_H
#define DCSR_TESTS_SIMT_STREAMS_H

#include <vector>
#include "tests/simt/simt_queue.h"

namespace simt
{
/* All with queues: also those that were destroyed before their work was done. In the order of creation. */
const std::vector<CUstream_st *> &all_streams();
/* Deletes a stream that was destroyed. */
void forget_stream(CUstream_st *stream);
size_t live_streams();
size_t live_events();
} // namespace simt

#endif
