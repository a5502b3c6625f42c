/* peers.c: which peers this build has. */
#include "bench/peers.h"

const peer_product *peer_products(size_t i)
{
    static const peer_product *const all[] = {&peer_graphblas_product, &peer_eigen_product,
                                              &peer_rsb_product};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k]->create && !i--) return all[k];
    return NULL;
}

const char *peer_version(size_t i)
{
    const peer_product *peer = peer_products(i);
    return peer ? peer->version : NULL;
}
