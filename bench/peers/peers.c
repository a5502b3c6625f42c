/* peers.c: which peers there are. */
#include "bench/peers/peers.h"
#include "dcsr/base/cuda.h"

#include <stdio.h>
#include <string.h>

static const peer_product *const all[] = {
    &peer_graphblas_product,
    &peer_eigen_product,
    &peer_rsb_product,
    DCSR_I_IN_CUDA(peer_cusparse_fp64),
    DCSR_I_IN_CUDA(peer_cusparse_alg2_fp64),
    DCSR_I_IN_CUDA(peer_cusparse_fp32),
    DCSR_I_IN_CUDA(peer_cusparse_alg2_fp32),
};
enum { ALL = sizeof all / sizeof *all };

static bool is_there(const peer_product *peer, bool gpu)
{
    return peer && peer->create && peer->gpu == gpu && peer->version();
}

const peer_product *peer_products(bool gpu, dcsr_type type, size_t i)
{
    for (size_t k = 0; k < ALL; k++)
        if (is_there(all[k], gpu) && all[k]->type == type && !i--) return all[k];
    return NULL;
}

const peer_block_product *peer_block_products(void)
{
    const peer_block_product *peer = DCSR_I_IN_CUDA(peer_cusparse_block);
    return peer && peer->create && peer->version() ? peer : NULL;
}

const peer_matrices *peer_matrix_operations(void)
{
    const peer_matrices *peer = DCSR_I_IN_CUDA(peer_cusparse_matrices);
    return peer && peer->create && peer->version() ? peer : NULL;
}

void peer_versions(bool gpu, char *text, size_t capacity)
{
    const char *last = NULL; /* several products of one peer stand side by side */
    size_t length = 0;
    *text = '\0';
    for (size_t k = 0; k < ALL; k++) {
        if (!is_there(all[k], gpu)) continue;
        const char *version = all[k]->version();
        if (last && !strcmp(last, version)) continue;
        if (length < capacity)
            length += (size_t)snprintf(text + length, capacity - length, "%s%s", last ? ", " : "", version);
        last = version;
    }
}
