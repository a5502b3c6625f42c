/* dispatch.c: where an operation runs, and checks of what any of them may be given. */
#include "ops/algebra/dispatch.h"
#include "dcsr/base/runtime.h"
#include "dcsr/vector/vector_data.h"
#include "ops/algebra/operator.h"

dcsr_status dcsr_i_check_desc(const char *call, const dcsr_desc *desc, const dcsr_context *context)
{
    if (!desc) return DCSR_OK;
    if ((unsigned)desc->direction > DCSR_DIRECTION_TILES)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: desc.direction is %d; use DCSR_DIRECTION_AUTO, _PUSH, _PULL or _TILES", call,
                           (int)desc->direction);
    if ((unsigned)desc->mapping > DCSR_SPMM_MERGE)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: desc.mapping is %d; use DCSR_SPMM_AUTO, _ROW_SPLIT or _MERGE", call,
                           (int)desc->mapping);
    if ((unsigned)desc->device > DCSR_DEVICE_CUDA)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: desc.device is %d; use DCSR_DEVICE_AUTO, _CPU or _CUDA", call,
                           (int)desc->device);
    if (desc->device == DCSR_DEVICE_CUDA && context->device != DCSR_DEVICE_CUDA)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT,
                           "%s: desc.device is DCSR_DEVICE_CUDA, but the context is on the cpu; use "
                           "DCSR_DEVICE_AUTO or _CPU, or a context on cuda",
                           call);
    return DCSR_OK;
}

dcsr_status dcsr_i_check_list(const char *call, const char *what, const dcsr_index_list *list)
{
    if (!list || list->indices || !list->n) return DCSR_OK;
    return dcsr_i_fail(
        DCSR_ERROR_INVALID_ARGUMENT,
        "%s: the %s list has no array for its %llu indices; give one, or NULL in place of the list", call,
        what, (unsigned long long)list->n);
}

uint64_t dcsr_i_vector_work(const dcsr_vector *vector)
{
    if (!vector) return 0;
    return vector->body.dense ? vector->size : vector->body.nvals;
}

dcsr_status dcsr_i_dispatch_vectors(bool *on_device, const dcsr_vector *w, const dcsr_vector *mask,
                                    const dcsr_binary_op *accum, const dcsr_desc *desc, bool users,
                                    const dcsr_vector *u, const dcsr_vector *v)
{
    const dcsr_vector *const vectors[] = {w, mask, u, v};
    return dcsr_i_dispatch(on_device, w->context, desc, users || (accum && !accum->loop),
                           dcsr_i_vector_work(u) + dcsr_i_vector_work(v), vectors, 4);
}

static bool any_is_ahead(const dcsr_vector *const *vectors, int count)
{
    for (int k = 0; k < count; k++)
        if (vectors[k] && dcsr_i_vector_is_ahead(vectors[k])) return true;
    return false;
}

dcsr_status dcsr_i_dispatch(bool *on_device, dcsr_context *context, const dcsr_desc *desc, bool users,
                            uint64_t work, const dcsr_vector *const *vectors, int count)
{
    dcsr_device wanted = desc ? desc->device : DCSR_DEVICE_AUTO;
    *on_device = false;
    if (!context->cuda) return DCSR_OK;
    bool ahead = any_is_ahead(vectors, count);
    if (!users && wanted != DCSR_DEVICE_CPU)
        *on_device = wanted == DCSR_DEVICE_CUDA || work >= DCSR_I_WORTH_DEVICE ||
                     (ahead && work >= DCSR_I_WORTH_STAYING);
    for (int k = 0; k < count && !*on_device; k++)
        if (vectors[k] && dcsr_i_vector_is_ahead(vectors[k])) DCSR_TRY(vectors[k]->device->fetch(vectors[k]));
    return DCSR_OK;
}
