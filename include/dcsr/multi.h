/* multi.h: one matrix on several devices.
 *
 * A matrix is cut into parts, ranges of rows with about equally many entries, and each device has one. What is done
 * with it is done by all devices at once: batches are split by owner and inserted everywhere, products read their part
 * of the rows, and vectors are cut where rows are.
 *
 *      dcsr_multi *devices;                                     devices   0       1       2       3
 *      dcsr_multi_create(&devices, "cuda:0-3", NULL);                  +-----+-------+----+-----------+
 *      dcsr_multi_matrix_create(&A, devices, ...);             rows of |  A0 |  A1   | A2 |    A3     |
 *      dcsr_multi_matrix_insert(A, n, rows, cols, values);     of      |  x0 |  x1   | x2 |    x3     |
 *      dcsr_multi_view_create(&view, A, ...);                          +-----+-------+----+-----------+
 *      dcsr_multi_spmv(y, view, x);                            borders 0     b1      b2   b3          rows
 *
 * A device is a GPU, or a share of the processor's threads (those of a NUMA node, by default). All of one dcsr_multi
 * are of one kind. docs/MULTI.md says how parts, versions and communication work.
 *
 * Names, ownership, errors and threads are as for one device: dcsr/matrix.h, dcsr/view.h, dcsr/vector.h. A call that
 * fails on one device fails as a whole, leaves everything as it was, and names the device. */
#ifndef DCSR_MULTI_H
#define DCSR_MULTI_H

#include <dcsr/amg.h>
#include <dcsr/bfs.h>
#include <dcsr/coo.h>
#include <dcsr/desc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Devices ---- */

typedef struct dcsr_multi dcsr_multi;

/* The most devices of one dcsr_multi. */
#define DCSR_MAX_DEVICES 64

/* Zero-initialise, then set what should differ from the default. */
typedef struct dcsr_multi_options {
    int threads;           /* on the cpu: of all devices together; 0: as dcsr_context_options.threads */
    uint64_t memory_limit; /* bytes that all objects may take on each device; 0: no limit but the machine's */
    /* Matrices are cut at multiples of this many rows. Set it where rows come in groups that one device must have
     * whole, such as the unknowns of a mesh point (multigrid's option `block`). 0: 1. Parts of
     * dcsr_multi_matrix_from_parts() are the caller's. */
    uint64_t grain;
} dcsr_multi_options;

/* Opens the devices that a text names:
 *
 *      cuda:all            every GPU that CUDA sees
 *      cuda:0-3   cuda:0,2 those, as CUDA counts them
 *      cuda:0/4   cuda:0-1/2   cuda:all/2
 *                          four devices that share a GPU, or two on each: to try a program for several GPUs
 *                          where there are fewer. Nothing is faster by it.
 *      cpu:numa            one device for each NUMA node that has processors, its threads bound to them
 *      cpu:4               four devices, each with a quarter of the threads
 *      cpu:2x3             two groups of three, which are taken for devices of two nodes
 *
 * "cpu", "cuda" and "auto" are one device. Each device is a context, with a thread of the library's that works for it.
 * *devices is NULL on failure. Errors: INVALID_ARGUMENT (a text of another form, a device named twice: the message
 * shows where), NO_DEVICE (which is not there, and how many are; GPUs of different kinds), NOT_BUILT, OUT_OF_MEMORY,
 * DEVICE. */
DCSR_API dcsr_status dcsr_multi_create(dcsr_multi **devices, const char *text,
                                       const dcsr_multi_options *options);
/* As dcsr_context_destroy() does for each context: objects that are still held can only be destroyed. */
DCSR_API void dcsr_multi_destroy(dcsr_multi *devices);

typedef struct dcsr_multi_info {
    uint64_t devices;
    dcsr_device device;                      /* of what kind they are */
    dcsr_context *context[DCSR_MAX_DEVICES]; /* lent: to be asked, and for vectors of a part */
    dcsr_context *host; /* lent: on the cpu, with all threads, for what belongs to no device */
    /* The node of memory that each is on; -1: not known. Borders are drawn between nodes first. */
    int node[DCSR_MAX_DEVICES];
    /* Bit j of peers[k]: device k can touch the memory of device j itself, as shares of the processor can, and GPUs
     * with peer access; else what it needs of it goes by way of the host. */
    uint64_t peers[DCSR_MAX_DEVICES];
    /* The version of NCCL, as 22807 for 2.28.7, by which GPUs gather what is large: where DCSR_NCCL names its file
     * ("libnccl.so.2") when devices are first opened. 0: they copy from each other, as those do that share a GPU. */
    int nccl;
} dcsr_multi_info;
DCSR_API dcsr_status dcsr_multi_get_info(dcsr_multi *devices, dcsr_multi_info *info);

/* What each device is to do; k is its number. It runs in the device's thread, which is bound to the processors of its
 * node where the device is one. */
typedef dcsr_status dcsr_multi_task(void *user, uint64_t k);

/* Runs the task on all devices at once and waits for them: how a caller's own passes over parts, of vectors say, are
 * made side by side. One call at a time: others wait. Fails with what the first device that failed by itself has said,
 * its name before it; every device has returned then. Errors of its own: INVALID_ARGUMENT (NULL), DEADLOCK (called in a
 * task; operations on partitioned objects are such calls too), CONTEXT_DESTROYED. Cost: waking a thread for each device
 * but the first, some microseconds. */
DCSR_API dcsr_status dcsr_multi_run(dcsr_multi *devices, dcsr_multi_task *task, void *user);

/* In a task: waits until all devices are here; what each wrote before, all see afterwards. If any of them comes with a
 * failure, or has returned with one, all get one, and should return it: those that did not fail themselves CANCELLED,
 * of which nobody is told. So a task may also return where it fails, without meeting the others. */
DCSR_API dcsr_status dcsr_multi_meet(dcsr_multi *devices, dcsr_status mine);

/* ---- Matrices ---- */

typedef struct dcsr_multi_matrix dcsr_multi_matrix;

/* Creates an empty matrix. options is for each part as for a matrix; maintain_transpose gives each part its own.
 * Borders are at equal shares of the rows until there are entries. Errors: as dcsr_matrix_create(). */
DCSR_API dcsr_status dcsr_multi_matrix_create(dcsr_multi_matrix **matrix, dcsr_multi *devices, dcsr_type type,
                                              uint64_t rows, uint64_t cols,
                                              const dcsr_matrix_options *options);
/* The same with the entries of a CSR in host memory, borders where parts have equally many. Errors: as
 * dcsr_matrix_from_csr(). Cost: about two products with the matrix beside copying it to the devices. */
DCSR_API dcsr_status dcsr_multi_matrix_from_csr(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                                const dcsr_csr *csr, const dcsr_matrix_options *options);
/* The same with the entries that a view shows, of any context. */
DCSR_API dcsr_status dcsr_multi_matrix_from_view(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                                 dcsr_view *view, const dcsr_matrix_options *options);
/* The same of matrices that are on the devices: part[k], of device k's context, has the rows behind those of part
 * k - 1. They have one type, policy and number of columns, nothing is queued on them, and on success they are the new
 * matrix's: nobody else uses or destroys them. columns, with a number more than there are devices, says where vectors
 * of the columns are cut; NULL: where rows are, or at equal shares if the matrix is not square. Errors:
 * INVALID_ARGUMENT (NULL, a part of another context or policy, columns that do not ascend from 0 to their number),
 * DIMENSION_MISMATCH, TYPE_MISMATCH, TOO_LARGE, OUT_OF_MEMORY, CONTEXT_DESTROYED; the parts are then the caller's.
 * Cost: O(devices). */
DCSR_API dcsr_status dcsr_multi_matrix_from_parts(dcsr_multi_matrix **matrix, dcsr_multi *devices,
                                                  dcsr_matrix *const *part, const uint64_t *columns);
DCSR_API void dcsr_multi_matrix_destroy(dcsr_multi_matrix *matrix);

/* Queue n entries, or deletions; arguments, errors and cost as of dcsr_matrix_insert() and dcsr_matrix_remove(). The
 * batch is applied by all devices at once and becomes one version; if one of them cannot apply it, for lack of memory
 * say, none does, and the ticket says which. */
DCSR_API dcsr_status dcsr_multi_matrix_insert(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                              const uint64_t *cols, const void *values, dcsr_ticket **ticket);
DCSR_API dcsr_status dcsr_multi_matrix_remove(dcsr_multi_matrix *matrix, uint64_t n, const uint64_t *rows,
                                              const uint64_t *cols, dcsr_ticket **ticket);
/* The same with arrays in the memory of one of the GPUs, read in the order of a stream of the caller's on it, as by
 * dcsr_matrix_insert_device(): that GPU splits them, and the others get their shares straight from it. An entry out of
 * range is reported by the ticket, or by dcsr_multi_matrix_wait(). Errors: also INVALID_ARGUMENT (an array that is not
 * in the memory of one of the devices, or in that of another one than rows; the devices are none), NOT_BUILT. */
DCSR_API dcsr_status dcsr_multi_matrix_insert_device(dcsr_multi_matrix *matrix, uint64_t n,
                                                     const uint64_t *rows, const uint64_t *cols,
                                                     const void *values, void *stream, dcsr_ticket **ticket);
DCSR_API dcsr_status dcsr_multi_matrix_remove_device(dcsr_multi_matrix *matrix, uint64_t n,
                                                     const uint64_t *rows, const uint64_t *cols, void *stream,
                                                     dcsr_ticket **ticket);
/* Moves borders so that parts have equally many entries; the matrix does so itself where one has a quarter more than
 * its share. Readers go on with the parts that they have. Cost: a copy of the entries that change their device, and of
 * the parts that lose or get some; memory for these meanwhile. */
DCSR_API dcsr_status dcsr_multi_matrix_balance(dcsr_multi_matrix *matrix, dcsr_ticket **ticket);
/* As dcsr_matrix_defragment() on each part. */
DCSR_API dcsr_status dcsr_multi_matrix_defragment(dcsr_multi_matrix *matrix, dcsr_defragment_scope scope,
                                                  dcsr_ticket **ticket);
/* As dcsr_matrix_wait(). */
DCSR_API dcsr_status dcsr_multi_matrix_wait(dcsr_multi_matrix *matrix);

typedef struct dcsr_multi_matrix_info {
    dcsr_matrix_info whole;                /* sums over the parts; `version` is the matrix's own */
    uint64_t parts;                        /* one a device */
    uint64_t border[DCSR_MAX_DEVICES + 1]; /* part k has the rows border[k] to border[k + 1] - 1 */
    uint64_t stored[DCSR_MAX_DEVICES];     /* entries of each */
    uint64_t balances;                     /* times that borders were moved */
    uint64_t changes; /* versions that batches have made; those that wait are applied together */
    /* Where whole.busy_seconds went: splitting batches of GPUs by owner, which goes on while others are applied;
     * waiting for parts to apply theirs; moving borders. */
    double splitting_seconds, applying_seconds, balancing_seconds;
} dcsr_multi_matrix_info;
DCSR_API dcsr_status dcsr_multi_matrix_get_info(dcsr_multi_matrix *matrix, dcsr_multi_matrix_info *info);

/* ---- Views ---- */

typedef struct dcsr_multi_view dcsr_multi_view;

/* A view of the last version of all parts: what no device shows alone no reader sees. Arguments and errors as of
 * dcsr_view_create(), which is called for each part with the layout. Never waits for a writer, unless with
 * DCSR_VIEW_LATEST. */
DCSR_API dcsr_status dcsr_multi_view_create(dcsr_multi_view **view, dcsr_multi_matrix *matrix,
                                            dcsr_layout layout, unsigned flags);
DCSR_API void dcsr_multi_view_destroy(dcsr_multi_view *view);

typedef struct dcsr_multi_view_info {
    dcsr_multi *devices; /* lent: to run tasks on */
    dcsr_type type;
    dcsr_layout layout;
    uint64_t rows, cols, nnz, version;
    uint64_t parts;
    uint64_t border[DCSR_MAX_DEVICES + 1];
    uint64_t nnz_of[DCSR_MAX_DEVICES]; /* of each part */
    double balance; /* entries of the largest part, over those of an equal share; 1 is even */
} dcsr_multi_view_info;
DCSR_API dcsr_status dcsr_multi_view_get_info(dcsr_multi_view *view, dcsr_multi_view_info *info);
/* Lends the view of part k, whose row i is row border[k] + i of the matrix. */
DCSR_API dcsr_status dcsr_multi_view_get_part(dcsr_multi_view *view, uint64_t k, dcsr_view **part);
/* As dcsr_view_get_row(). */
DCSR_API dcsr_status dcsr_multi_view_get_row(dcsr_multi_view *view, uint64_t row, uint64_t capacity,
                                             uint32_t *cols, void *values, uint64_t *length);

/* All that the view shows as one matrix of a context, any that is open; the inverse of dcsr_multi_matrix_from_view().
 * options NULL: the defaults, with the policy of the view's matrix. *matrix is NULL on failure. Errors: as
 * dcsr_matrix_from_csr(). Cost: two copies of the entries; by way of host memory from GPUs to a context on the cpu, and
 * where entries are kept more than once. */
DCSR_API dcsr_status dcsr_multi_view_to_matrix(dcsr_matrix **matrix, dcsr_context *context,
                                               dcsr_multi_view *view, const dcsr_matrix_options *options);

/* ---- Vectors ---- */

typedef struct dcsr_multi_vector dcsr_multi_vector;

/* On GPUs each part is in its device's memory where all of it was set at once, and stays there.
 *
 * Creates a vector without elements, cut as the rows of the view are (by_columns false), or as its columns: equal
 * shares for those of a matrix that is not square, else as rows. Operations accept vectors with other borders, of an
 * older view say, and move what has to be moved; what they write gets the borders of the view. */
DCSR_API dcsr_status dcsr_multi_vector_create(dcsr_multi_vector **vector, dcsr_multi_view *like,
                                              dcsr_type type, bool by_columns);
DCSR_API void dcsr_multi_vector_destroy(dcsr_multi_vector *vector);
/* Sets every element to the value; sets all from an array in host memory, of which every element is present; copies all
 * to one, with *missing where there is none. `size` values of the type. */
DCSR_API dcsr_status dcsr_multi_vector_fill(dcsr_multi_vector *vector, const void *value);
DCSR_API dcsr_status dcsr_multi_vector_from_array(dcsr_multi_vector *vector, const void *values);
DCSR_API dcsr_status dcsr_multi_vector_to_array(const dcsr_multi_vector *vector, const void *missing,
                                                void *values);
/* As dcsr_vector_set(), _get(), _clear(), _get_nvals(). */
DCSR_API dcsr_status dcsr_multi_vector_set(dcsr_multi_vector *vector, uint64_t index, const void *value);
DCSR_API dcsr_status dcsr_multi_vector_get(const dcsr_multi_vector *vector, uint64_t index, void *value,
                                           bool *stored);
DCSR_API dcsr_status dcsr_multi_vector_clear(dcsr_multi_vector *vector);
DCSR_API dcsr_status dcsr_multi_vector_get_nvals(const dcsr_multi_vector *vector, uint64_t *nvals);
/* Lends the part on device k until the vector is next written, elements *first to *first + its size - 1: for
 * operations on vectors (dcsr/vector_ops.h), which are made part by part. */
DCSR_API dcsr_status dcsr_multi_vector_get_part(dcsr_multi_vector *vector, uint64_t k, dcsr_vector **part,
                                                uint64_t *first);

/* ---- Operations ---- */

/* What an operation did, on all devices together. */
typedef struct dcsr_multi_report {
    dcsr_direction direction;
    double seconds;       /* from the call to its return */
    double communication; /* of them, those in which the slowest device waited for what others had to send */
    uint64_t bytes;       /* that devices sent to each other */
} dcsr_multi_report;

/* y = A x, as dcsr_spmv(): x has every element, of the type that dcsr_spmv() wants, and y gets all. On the cpu x is
 * read where it is, where it was written at once (by fill, from an array, by this product), else brought together
 * first, and the result is the one of a single device, bit for bit. On GPUs each fetches of the others, in blocks of
 * 32 elements, what its rows look at, while it multiplies rows that look at its own part alone; where GPUs may not
 * touch each other's memory, all from the first to the last of these elements. report may be NULL, here and below.
 *
 * y keeps its memory where it was written like that with these borders, and is not x. Then, with x in place, or on GPUs
 * where it is with the same borders as A's columns, a product takes no memory.
 *
 * What parts need of one another is found out by the first product with a view, on GPUs, and kept with it. That costs
 * as much as two products on one GPU and, as the host takes part, ten and more on several. On each GPU it takes 4 bytes
 * for each block that is fetched; memory for as much of x as these blocks lie in, in steps of 2 MiB and further on of
 * 32 MiB; and what dcsr_spmv() keeps.
 *
 * Errors: INVALID_ARGUMENT (NULL, an element of x is missing, objects of other devices), DIMENSION_MISMATCH,
 * TYPE_MISMATCH, OUT_OF_MEMORY, CONTEXT_DESTROYED; y is then as it was. DEVICE: where a device has failed while
 * it multiplied, elements of y may be those of the product already. Here and below, memory beside the output: that of
 * the output, unless it keeps its own, and of the input where it has to be brought together. */
DCSR_API dcsr_status dcsr_multi_spmv(dcsr_multi_vector *y, dcsr_multi_view *A, const dcsr_multi_vector *x,
                                     dcsr_multi_report *report);

/* w<mask> = accum(w, A u) and w<mask> = accum(w, u A): as dcsr_mxv() and dcsr_vxm(). mxv brings u to all devices, as a
 * list or with a bit for each element, whichever is less; vxm merges what devices have computed of all of w, with the
 * semiring's monoid, in the order of the devices. w, u and the mask belong to one dcsr_multi with A. Errors: as
 * dcsr_mxv() and dcsr_vxm(). Memory of vxm on each device: what its part gives of all of w. */
DCSR_API dcsr_status dcsr_multi_mxv(dcsr_multi_vector *w, const dcsr_multi_vector *mask,
                                    const dcsr_binary_op *accum, const dcsr_semiring *semiring,
                                    dcsr_multi_view *A, const dcsr_multi_vector *u, const dcsr_desc *desc,
                                    dcsr_multi_report *report);
DCSR_API dcsr_status dcsr_multi_vxm(dcsr_multi_vector *w, const dcsr_multi_vector *mask,
                                    const dcsr_binary_op *accum, const dcsr_semiring *semiring,
                                    const dcsr_multi_vector *u, dcsr_multi_view *A, const dcsr_desc *desc,
                                    dcsr_multi_report *report);

/* dcsr_traverse() from n sources, on all devices at once: level is the caller's array in host memory, with an element
 * for each row. On GPUs each device walks the rows that it has, and sends the others a bit for each vertex; on the cpu
 * all threads walk the rows of all, as on one device. Arguments, result and errors as of dcsr_traverse(), but that
 * levels may be overwritten in part after DEVICE. Cost: O(rows + edges), and on GPUs each level a meeting and rows / 8
 * bytes from each of the others. Memory of a GPU: 20 bytes for each row that it has, and (3 + devices) / 8 bytes for
 * each of all; on the cpu as of dcsr_traverse(). */
DCSR_API dcsr_status dcsr_multi_traverse(int32_t *level, dcsr_traverse_result *result, dcsr_multi_view *A,
                                         uint64_t n, const uint64_t *sources, dcsr_multi_report *report);
/* Y<mask> = accum(Y, A X), as dcsr_spmm(): X and Y are row-major arrays of the caller's in host memory, and each device
 * multiplies its rows with all of X; row by row the result has the bits of one device with the same mapping and as many
 * threads as the device has. mask has one element per row of Y, and may be NULL. Errors: as dcsr_spmm();
 * INVALID_ARGUMENT also for desc->transpose_a: transpose first, with dcsr_multi_transpose(). Y is then as it was.
 * Memory beside dcsr_spmm()'s: a copy of Y; on GPUs X on each. */
DCSR_API dcsr_status dcsr_multi_spmm(void *Y, const dcsr_multi_vector *mask, const dcsr_binary_op *accum,
                                     const dcsr_semiring *semiring, dcsr_multi_view *A, const void *X,
                                     uint64_t columns, const dcsr_desc *desc);

/* C<mask> = A B, with B^T for B if desc->transpose_b is set, as dcsr_mxm() does it with a new C of this type, which is
 * the caller's and is cut where A's rows are. mask may be NULL. Each device fetches the rows of B that it reads, those
 * whose numbers are columns of entries of its part of A (of B^T: columns of entries of its part of the mask, or all if
 * there is none or it is complemented), as one matrix, and multiplies with them by itself. So on the cpu the result is
 * that of a single device, bit for bit. Of the descriptor, replace and same_pattern change nothing, as C is new.
 * *C is NULL on failure. Errors: as dcsr_mxm(), whatever is of other devices, and INVALID_ARGUMENT for
 * desc->transpose_a: multiply with what dcsr_multi_transpose() gives. Cost on each device: that of dcsr_mxm() for its
 * part, O(rows of B), and a copy of what it fetches, on GPUs from one to the other. Memory on each: the rows that it
 * fetches, twice for a while. */
DCSR_API dcsr_status dcsr_multi_mxm(dcsr_multi_matrix **C, dcsr_type type, dcsr_multi_view *mask,
                                    const dcsr_semiring *semiring, dcsr_multi_view *A, dcsr_multi_view *B,
                                    const dcsr_desc *desc, dcsr_multi_report *report);

/* B = A^T, a new matrix of A's type, which is the caller's and has borders of its own, where its parts have equally
 * many entries. What A holds more than once is combined, as by dcsr_matrix_transpose(). *B is NULL on failure. Errors:
 * INVALID_ARGUMENT (NULL), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE. Cost on each device: transposing its part,
 * O(entries + columns of A), and a copy of its part of B, on GPUs from one to the other. Memory: A once more, and B
 * twice, for a while. */
DCSR_API dcsr_status dcsr_multi_transpose(dcsr_multi_matrix **B, dcsr_multi_view *A,
                                          dcsr_multi_report *report);

/* The reduction of all elements, as dcsr_vector_reduce(), but *result keeps its value where there are none. */
DCSR_API dcsr_status dcsr_multi_vector_reduce(void *result, const dcsr_monoid *monoid,
                                              const dcsr_multi_vector *vector);

/* ---- Parts of a format ----
 *
 * A CSR, a CSC or a COO that is on one device, as parts with equally many entries for several, which may begin and end
 * within a row (a column of CSC): so that a row that is longer than a share has several devices. After Chen, Xie,
 * Firoz, Li, Song, Barker, Raugas, Li: MSREP, a fast yet light sparse matrix framework for multi-GPU systems (2022),
 * whose pCSR, pCSC and pCOO they are. Parts never change: they are for products with a matrix that is what it is. */

typedef struct dcsr_parts dcsr_parts;

typedef enum dcsr_parts_format { DCSR_PARTS_CSR = 0, DCSR_PARTS_CSC, DCSR_PARTS_COO } dcsr_parts_format;

typedef enum dcsr_parts_balance {
    DCSR_PARTS_BY_ENTRIES = 0, /* numbers of entries differ by one at most */
    DCSR_PARTS_BY_LINES        /* numbers of rows do, of columns for CSC; none is shared */
} dcsr_parts_balance;

/* How partial results become y. Those of rows are put in place, and what parts give to rows that they share is added;
 * those of columns are vectors as long as y, which are added. */
typedef enum dcsr_parts_merge {
    DCSR_MERGE_RANGES =
        0,          /* all devices at once, each a range of y: of columns, it adds that of all vectors */
    DCSR_MERGE_ONE, /* the calling thread all of it */
    DCSR_MERGE_TREE /* of columns: devices add vectors by pairs, then by pairs of these; of rows as RANGES */
} dcsr_parts_merge;

typedef struct dcsr_part {
    uint64_t first, end; /* it has the entries first to end - 1 of the arrays */
    uint64_t first_line,
        lines; /* they are in these rows, or columns; those without entries belong to some part, too */
    bool shared_first;       /* the part before has entries of the first line, too */
    bool shared_last;        /* the part behind has entries of the last, too */
    const uint64_t *offsets; /* lines + 1, from 0 on: its own */
    const uint32_t *indices; /* end - first columns, or rows: in the arrays of the whole, but for COO */
    const void *values;      /* as many, in those of the whole; NULL for pattern */
} dcsr_part;

/* Parts of what a view of layout CSR or CSC shows, for each device one; the view may be of any context, and is held. On
 * the cpu a part is a matrix around the arrays of the whole, with offsets of its own; on a GPU it is copied there.
 * *parts is NULL on failure. Errors: INVALID_ARGUMENT (another layout; rows that do not ascend strictly: create the
 * view with DCSR_VIEW_SORTED, of a matrix without duplicates), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE. Cost: O(log
 * lines + lines of the part) on each device at once, and a pass over the indices, which are checked. */
DCSR_API dcsr_status dcsr_parts_create(dcsr_parts **parts, dcsr_multi *devices, dcsr_view *view,
                                       dcsr_parts_balance balance);
/* The same of entries sorted by row and column. Their values are read where they are, so the COO has to outlive the
 * parts; columns are copied, in 32 bits. Errors: also INVALID_ARGUMENT (naming the first entry that is not behind the
 * one before it), INDEX_OUT_OF_RANGE. Cost: also a pass over the entries. */
DCSR_API dcsr_status dcsr_parts_create_coo(dcsr_parts **parts, dcsr_multi *devices, const dcsr_coo *coo,
                                           dcsr_parts_balance balance);
DCSR_API void dcsr_parts_destroy(dcsr_parts *parts);

typedef struct dcsr_parts_info {
    dcsr_parts_format format;
    dcsr_type type;
    uint64_t rows, cols, nnz, parts;
    double balance; /* entries of the largest part, over those of an equal share; 1 is even */
} dcsr_parts_info;
DCSR_API dcsr_status dcsr_parts_get_info(const dcsr_parts *parts, dcsr_parts_info *info);
/* Lends part k, as long as the parts last. Errors: INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_parts_get(const dcsr_parts *parts, uint64_t k, dcsr_part *part);

/* y = A x, with x and y as for dcsr_spmv(), in host memory. Each device multiplies its part; then partial results are
 * merged. Sums of rows that are shared, and all of columns, are grouped by the parts: the same each time with the same
 * devices and merge, and for floating point those of dcsr_spmv() up to rounding; of rows that are not shared they have
 * its bits. report (may be NULL) says under `communication` what merging took. Any number of threads may use the parts.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE; y is then as it was. Memory: a copy of y; of CSC
 * one for each device, and on the device as much again. */
DCSR_API dcsr_status dcsr_parts_spmv(void *y, const dcsr_parts *parts, const void *x, dcsr_parts_merge merge,
                                     dcsr_multi_report *report);

/* ---- Algorithms ----
 *
 * As those of dcsr/graph.h, with the same options and results, on all devices at once. The arrays are the caller's, in
 * host memory, with an element for each vertex. After an error they are as they were, and so is the result; but an
 * array that is copied from a device that fails meanwhile (DEVICE) may hold some elements. Views of any layout; any
 * number of threads may work on one.
 *
 * Devices on the cpu have one memory: there levels, ranks, components, paths and triangles are found by all of their
 * threads over the rows of all, as on one device, with its costs and its results bit for bit; all but levels with 24 n
 * bytes beside.
 *
 * Errors of all: INVALID_ARGUMENT (NULL, an option out of range), DIMENSION_MISMATCH (not square), INDEX_OUT_OF_RANGE
 * (a source that is no vertex), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE. In costs n is the number of vertices and m
 * that of edges; memory is that of all devices together, without what products take (see above). */

/* Levels of a breadth-first search, as dcsr_bfs(): -1 for what is not reached. It is dcsr_multi_traverse() from one
 * vertex, with its costs. result may be NULL. */
DCSR_API dcsr_status dcsr_multi_bfs(int32_t *level, dcsr_bfs_result *result, dcsr_multi_view *A,
                                    uint64_t source);

/* PageRank, as dcsr_pagerank(). On GPUs ranks agree with its within the tolerance: all is fp64, and options->adaptive
 * changes nothing; with options->symmetric an iteration is an mxv, which has nothing to merge, else a vxm; ranks
 * depend on the borders, by rounding. result may be NULL. Errors: also INVALID_ARGUMENT for a weight that is negative,
 * infinite or NaN. Cost: O(n + m) an iteration. Memory: 56 n bytes; on the cpu without options->symmetric also the
 * transpose. */
DCSR_API dcsr_status dcsr_multi_pagerank(double *rank, dcsr_pagerank_result *result, dcsr_multi_view *A,
                                         const dcsr_pagerank_options *options);

/* Weakly connected components, as dcsr_components(), with its result. component or result may be NULL, not both. On
 * GPUs each device links the edges that it has, and all join their trees: cost O(n + m / devices), and 4 n bytes from
 * each of the others once, or twice with options->symmetric; memory of each 4 n bytes for itself and for each of
 * all. */
DCSR_API dcsr_status dcsr_multi_components(uint32_t *component, dcsr_components_result *result,
                                           dcsr_multi_view *A, const dcsr_graph_options *options);

/* Shortest paths, as dcsr_sssp(), with its distances, bit for bit. On GPUs each device makes rounds of its own
 * vertices, and offers others the distances that it has found for theirs after some; delta bounds what is near, as
 * there, and so how many rounds there are; memory of each: 32 n + 12 n (devices - 1) / devices bytes, and 4 for each
 * row. Where a weight is negative or NaN, or one infinite and another minus infinite, the rows come to the host, whose
 * threads search. result may be NULL. Errors: also INVALID_ARGUMENT (a weight is NaN; delta). Cost: O(n + m) for
 * random weights, mostly. */
DCSR_API dcsr_status dcsr_multi_sssp(double *distance, dcsr_sssp_result *result, dcsr_multi_view *A,
                                     uint64_t source, const dcsr_sssp_options *options);

/* Triangles, as dcsr_triangles(), with its numbers. With options->symmetric, and where rows ascend, each edge once
 * (DCSR_VIEW_SORTED), GPUs make lists in their memory, of which each gets all, 2 m bytes; else the rows come to the
 * host, whose threads count. triangles or result may be NULL, not both. Cost: O(n + m sqrt m), mostly far less. Memory
 * on the host without options->symmetric: 16 n + 8 m bytes more. */
DCSR_API dcsr_status dcsr_multi_triangles(uint64_t *triangles, dcsr_triangles_result *result,
                                          dcsr_multi_view *A, const dcsr_graph_options *options);

/* ---- Multigrid ----
 *
 * Algebraic multigrid for a matrix in parts, as dcsr/amg.h has it for one device:
 *
 *      level 0   A    | A0 | A1 | A2 | A3 |     each device makes aggregates of its own rows, and P and R for them;
 *      level 1   A'   | .. | .. | .. | .. |     products with A, A' are dcsr_multi_spmv()
 *      ...
 *      below          |    one device     |     a dcsr_amg from there on
 *
 *      dcsr_multi_amg *amg;
 *      dcsr_amg_report report;
 *      dcsr_multi_amg_create(&amg, devices);
 *      dcsr_multi_amg_setup(amg, A, NULL);
 *      dcsr_multi_amg_solve(amg, x, b, &report);
 *      dcsr_multi_amg_destroy(amg);
 *
 * The method and its options are those of dcsr/amg.h; docs/AMG.md says what differs. Results are the same, bit for bit,
 * each time with the same devices; on the cpu for any number of threads. Destroy it before its devices. Threads: calls
 * on one dcsr_multi_amg must follow one another. */

typedef struct dcsr_multi_amg dcsr_multi_amg;

/* Creates one with the default options. *amg is NULL on failure. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED. */
DCSR_API dcsr_status dcsr_multi_amg_create(dcsr_multi_amg **amg, dcsr_multi *devices);
DCSR_API void dcsr_multi_amg_destroy(dcsr_multi_amg *amg);

/* Sets an option for setups to come: one of dcsr_amg_set(), or one of
 *
 *      one_device   a level of that many rows or fewer is brought to the first device, which has a dcsr_amg for it and
 *                   all below
 *      outside      so is a level of which a larger fraction is outside (dcsr_multi_amg_info): 0 to 1, by default
 *                   0.25. Aggregates do not cross borders; there they would be poor, and iterations many. 1: no level
 *                   is, for a matrix that one device has no memory for
 *
 * Errors: as dcsr_amg_set(). */
DCSR_API dcsr_status dcsr_multi_amg_set(dcsr_multi_amg *amg, const char *name, const char *value);

/* Sets the near-nullspace vectors, as dcsr_amg_set_nullspace() does, with its errors: of all rows. */
DCSR_API dcsr_status dcsr_multi_amg_set_nullspace(dcsr_multi_amg *amg, const dcsr_dense *B);

typedef struct dcsr_multi_amg_info {
    uint64_t levels;
    uint64_t divided;           /* of them, from the first on: those that all devices have parts of */
    double operator_complexity; /* entries of all levels over those of A */
    double grid_complexity;     /* rows of all levels over those of A */
    bool symmetric;             /* A is, as far as random vectors tell, and its diagonal is positive */
    /* The fraction of a row's |a_ij| beside the diagonal that is in columns of other devices: the mean over all rows.
     * If it is large, number the rows so that neighbours are near (reverse Cuthill-McKee). 0 if A has no more than
     * `one_device` rows. */
    double outside;
    double setup_seconds;
} dcsr_multi_amg_info;

/* Makes the levels for A. Give it a CSR view of an fp64 matrix: its arrays are used in place; others are copied. The
 * view must not be destroyed before the next setup or update, or dcsr_multi_amg_destroy(). info may be NULL. On failure
 * the levels made before are as they were.
 *
 * Errors: INVALID_ARGUMENT (NULL; other devices; a row without entries or with a zero diagonal, or a value that is not
 * finite: the message names the first such row; a border within a node, see `grain` of dcsr_multi_options; with
 * precision=fp32 a row whose values that cannot hold), DIMENSION_MISMATCH (A is not square, its rows no multiple of the
 * option block, or another number than the near-nullspace vectors'), TYPE_MISMATCH (not fp64), TOO_LARGE (2^31 rows and
 * more), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE.
 *
 * Cost on each device: as dcsr_amg_setup() for its part, and what a dcsr_multi_mxm() takes to fetch rows of P. Memory
 * on each: as there, P again while a level is made, and on the first the levels that it has alone; with precision=fp32
 * its part of every divided A again, at 8 bytes an entry, with Gauss-Seidel 12. */
DCSR_API dcsr_status dcsr_multi_amg_setup(dcsr_multi_amg *amg, dcsr_multi_view *A, dcsr_multi_amg_info *info);

/* Makes the levels for A again, where it is a later version of the matrix that they were made for; both views must be
 * there until this returns. On the cpu aggregates and rho of divided levels are kept while the aggregates hold together
 * and borders are as they were: RECOMPUTED; else all is set up anew: SET_UP, and the report says why. The levels do not
 * follow single rows, as those of dcsr_amg do, so rows_changed and rows_touched are 0, as are iterations. report may be
 * NULL. Errors: as dcsr_multi_amg_setup(), and INVALID_ARGUMENT if there was none; the levels are then as they were.
 * Cost: that of a setup, but for aggregates and rho. */
DCSR_API dcsr_status dcsr_multi_amg_update(dcsr_multi_amg *amg, dcsr_multi_view *A,
                                           dcsr_amg_update_report *report);

/* Solves A x = b from the x that is given, as dcsr_amg_solve() does: by the method that the option `solver` names, or
 * by conjugate gradients where A is symmetric and flexible GMRES where it is not. x and b are arrays of the host, of
 * all rows, and do not overlap. report may be NULL; that a solve does not converge is no error. Errors:
 * INVALID_ARGUMENT (NULL, no setup, values in x or b that are not finite), OUT_OF_MEMORY, CONTEXT_DESTROYED, DEVICE; x
 * is then as it was.
 *
 * Cost of an iteration, beside cycles: of conjugate gradients a dcsr_multi_spmv() and five passes by all devices at
 * once, of bicgstab two and nine, of fgmres one and 2 k + 1 in the k-th since a restart. Memory: six vectors (eight
 * with bicgstab, 2 restart + 4 with fgmres), each device its part of them. */
DCSR_API dcsr_status dcsr_multi_amg_solve(dcsr_multi_amg *amg, double *x, const double *b,
                                          dcsr_amg_report *report);
/* The same for each column of X and B, one after the other. Errors: also DIMENSION_MISMATCH; after another error the
 * columns before the one that failed are solved for. */
DCSR_API dcsr_status dcsr_multi_amg_solve_many(dcsr_multi_amg *amg, dcsr_dense *X, const dcsr_dense *B,
                                               dcsr_amg_report *reports);
/* Of the last solve, as dcsr_amg_get_residuals() does, with its errors. */
DCSR_API dcsr_status dcsr_multi_amg_get_residuals(const dcsr_multi_amg *amg, uint64_t column, uint64_t *count,
                                                  const double **residuals);

/* z = M^-1 r: one cycle from zero. r has every element, z gets every element; both are fp64 vectors with the borders of
 * A's rows, created from the view that the levels are for, say, and not the same. Errors: INVALID_ARGUMENT (NULL, no
 * setup, an element of r is missing, other borders), DIMENSION_MISMATCH, TYPE_MISMATCH, OUT_OF_MEMORY,
 * CONTEXT_DESTROYED, DEVICE; z may be overwritten in part. */
DCSR_API dcsr_status dcsr_multi_amg_apply(dcsr_multi_amg *amg, dcsr_multi_vector *z,
                                          const dcsr_multi_vector *r);

/* Errors: INVALID_ARGUMENT (NULL, no setup). */
DCSR_API dcsr_status dcsr_multi_amg_get_info(const dcsr_multi_amg *amg, dcsr_multi_amg_info *info);
/* One level of the last setup; seconds are those of the slowest device. Errors: also INDEX_OUT_OF_RANGE. */
DCSR_API dcsr_status dcsr_multi_amg_get_level(const dcsr_multi_amg *amg, uint64_t number,
                                              dcsr_amg_level *level);

/* ---- Conjugate gradients ---- */

typedef struct dcsr_multi_cg_options {
    double tolerance;        /* of the residual, to stop at; 0: 1e-8 */
    uint64_t max_iterations; /* 0: 1000 */
    bool jacobi;             /* precondition with the diagonal, of which every entry must be above 0 */
} dcsr_multi_cg_options;

typedef struct dcsr_multi_cg_result {
    uint64_t iterations;
    double residual; /* |b - A x| / |b|, as it was updated on the way; 0 if b is 0 */
    bool converged;  /* to the tolerance, within max_iterations */
    bool indefinite; /* it met a p with p A p not above 0: A is not positive definite */
} dcsr_multi_cg_result;

/* Solves A x = b by conjugate gradients (Hestenes, Stiefel 1952); A is fp64, symmetric and positive definite, which is
 * not checked beyond `indefinite`. With multigrid: dcsr_multi_amg_solve(). x is where to start, and becomes the
 * solution, or as far as it came: not converged is no error. result may be NULL. Errors: also TYPE_MISMATCH (not fp64),
 * INVALID_ARGUMENT (options->jacobi and a diagonal that is not all above 0). Cost: an iteration is a dcsr_multi_spmv(),
 * two sums and three updates by all devices at once, O(n + m), and moves 88 n bytes beside the product. Memory: 32 n
 * bytes, with jacobi 48 n, and the diagonal as a matrix for a while. */
DCSR_API dcsr_status dcsr_multi_cg(double *x, dcsr_multi_cg_result *result, dcsr_multi_view *A,
                                   const double *b, const dcsr_multi_cg_options *options);

#ifdef __cplusplus
}
#endif
#endif
