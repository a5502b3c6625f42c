/* multi_work.h: what algorithms on several devices share.
 *
 * Their state is vectors that are cut as the rows of the view. A step is a product, or operations on the parts of
 * vectors, by all devices at once.
 *
 * The first failure stays in `status`; after it all calls do nothing, so that it is looked at where a loop goes on, and
 * returned by dcsr_i_multi_work_close(). */
#ifndef DCSR_ALGOS_MULTI_MULTI_WORK_H
#define DCSR_ALGOS_MULTI_MULTI_WORK_H

#include <dcsr/multi.h>

enum { DCSR_I_MULTI_VECTORS = 8 }; /* the most that an algorithm takes */

typedef struct dcsr_i_multi_work {
    dcsr_status status;
    const char *call; /* for messages */
    dcsr_multi_view *A;
    dcsr_multi *devices;
    uint64_t n, parts;
    dcsr_type type;
    dcsr_context *context; /* of the first device: host memory is counted there */
    bool on_gpus;
    dcsr_multi_vector *taken[DCSR_I_MULTI_VECTORS];
    int count;
} dcsr_i_multi_work;

/* Begins; refuses a view that is NULL or not square. */
void dcsr_i_multi_work_open(dcsr_i_multi_work *w, dcsr_multi_view *A, const char *call);
/* Destroys all vectors that were taken. */
dcsr_status dcsr_i_multi_work_close(dcsr_i_multi_work *w);

/* A vector of n elements, none of them present. */
dcsr_multi_vector *dcsr_i_multi_take(dcsr_i_multi_work *w, dcsr_type type);
/* Lends part k to a task, as dcsr_multi_vector_get_part() does; where that fails it is NULL, and so does what is done
 * with it. */
dcsr_vector *dcsr_i_multi_part_of(dcsr_multi_vector *vector, uint64_t k);
/* Calls step(user, k) on all devices at once. */
void dcsr_i_multi_each(dcsr_i_multi_work *w, dcsr_multi_task *step, void *user);
/* Elements that are present; 0 after a failure. */
uint64_t dcsr_i_multi_count_of(dcsr_i_multi_work *w, const dcsr_multi_vector *vector);
/* The sum of an fp64 vector's elements; 0 if there are none, and after a failure. */
double dcsr_i_multi_sum(dcsr_i_multi_work *w, const dcsr_multi_vector *vector);

#endif
