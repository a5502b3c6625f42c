/* amg_cuda.h: multigrid on a GPU: the engine (internal). */
#ifndef DCSR_AMG_CUDA_H
#define DCSR_AMG_CUDA_H

#include "amg/amg_engine.h"
#include "dcsr/base/cuda.h"

/* amg_cuda.c; NULL in builds without CUDA. */
extern const dcsr_i_amg_engine dcsr_i_amg_cuda;
static const dcsr_i_amg_engine *const dcsr_i_amg_device = DCSR_I_IN_CUDA(dcsr_i_amg_cuda);

#endif
