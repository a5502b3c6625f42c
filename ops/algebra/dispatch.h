/* dispatch.h: where an operation runs, and checks of what any of them may be given (internal). */
#ifndef DCSR_DISPATCH_H
#define DCSR_DISPATCH_H

#include <dcsr/desc.h>

/* Operations on fewer entries are faster on the host, where waiting for a device takes longer than doing
 * them; also those that first have to bring some elements back. An entry of a product costs the host as much
 * as some of a vector. Measured on an H200 beside 16 cores (bench_ops_vectors, table `placing`): the device
 * is faster from 1 M elements and 0.2 M entries of a product on; where elements are there, from 1 k to 4 k
 * on. */
enum { DCSR_I_WORTH_DEVICE = 1 << 20, DCSR_I_WORTH_STAYING = 2048, DCSR_I_PRODUCT_WORK = 4 };

/* Decides whether an operation runs on the context's device: where the description says so; else where its
 * work, in entries, is worth it, and all the more where vectors have their newest elements there. Never where
 * there is none, or where an operator is a user's. If it is to run on the host, the elements of the vectors
 * (NULL ones are skipped) are brought there: OUT_OF_MEMORY, DEVICE. */
dcsr_status dcsr_i_dispatch(bool *on_device, dcsr_context *context, const dcsr_desc *desc, bool users,
                            uint64_t work, const dcsr_vector *const *vectors, int count);

/* Checks the description of a call on this context, which may be NULL: INVALID_ARGUMENT where a field has a
 * value that means nothing, or wants a device that the context has not. */
dcsr_status dcsr_i_check_desc(const char *call, const dcsr_desc *desc, const dcsr_context *context);

/* Whether a list of indices, which may be NULL, has an array if it is not empty: INVALID_ARGUMENT. `what` is
 * what it lists: "row", "column" or "index". */
dcsr_status dcsr_i_check_list(const char *call, const char *what, const dcsr_index_list *list);

/* Entries that are gone through to read a vector; 0 for NULL. */
uint64_t dcsr_i_vector_work(const dcsr_vector *vector);
/* The same for an operation on vectors, the work of which is reading u and, if that is not NULL, v. `users`:
 * its operator is a user's. */
dcsr_status dcsr_i_dispatch_vectors(bool *on_device, const dcsr_vector *w, const dcsr_vector *mask,
                                    const dcsr_binary_op *accum, const dcsr_desc *desc, bool users,
                                    const dcsr_vector *u, const dcsr_vector *v);

#endif
