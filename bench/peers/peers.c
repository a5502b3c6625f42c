/* peers.c: which peers there are. */
#include "bench/peers/peers.h"

#include <stdio.h>
#include <string.h>

static const peer_product *const all[] = {
    &peer_graphblas_product, &peer_eigen_product,      &peer_rsb_product,
#ifdef DCSR_CUDA
    &peer_cusparse_fp64,     &peer_cusparse_alg2_fp64, &peer_cusparse_fp32, &peer_cusparse_alg2_fp32,
#endif
};
enum { ALL = sizeof all / sizeof *all };

static bool is_there(const peer_product *peer, bool gpu)
{
    return peer->create && peer->gpu == gpu && peer->version();
}

const peer_product *peer_products(bool gpu, dcsr_type type, size_t i)
{
    for (size_t k = 0; k < ALL; k++)
        if (all[k]->type == type && is_there(all[k], gpu) && !i--) return all[k];
    return NULL;
}

const peer_block_product *peer_block_products(void)
{
#ifdef DCSR_CUDA
    if (peer_cusparse_block.create && peer_cusparse_block.version()) return &peer_cusparse_block;
#endif
    return NULL;
}

const peer_matrices *peer_matrix_operations(void)
{
#ifdef DCSR_CUDA
    if (peer_cusparse_matrices.create && peer_cusparse_matrices.version()) return &peer_cusparse_matrices;
#endif
    return NULL;
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
