/* model.h: the models by which kernels are chosen: which is in use, and whether a file holds one.
 *
 * A model has been trained on what `dcsr tune` measured on a machine. One is part of the library, for the cpu; a user's
 * own takes its place, if it was made on this machine. It is looked for in the file that the environment variable
 * DCSR_MODEL names, else in $XDG_DATA_HOME/dcsr/ (~/.local/share/dcsr/) under the name cpu.model or cuda.model, when a
 * process chooses a kernel for the first time. docs/SELECTION.md describes the format. */
#ifndef DCSR_MODEL_H
#define DCSR_MODEL_H

#include <dcsr/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dcsr_model_info {
    dcsr_device device;
    char machine[128]; /* where its training data were measured: processor or GPU, threads */
    char made[256];    /* when, by what, from how many matrices */
    char file[256];    /* the end of its path; empty for the model of the library */
    int kernels;       /* that it chooses among */
    int trees;         /* of the forest for time */
    bool energy;       /* it has one for energy, too */
    bool vectors;      /* it has a support vector machine for products with sparse vectors */
    char refused[512]; /* why the user's model is not in use; empty if there is none, or it is */
} dcsr_model_info;

/* Tells which model chooses in contexts of this device. In a cuda context there may be none, as the library has none
 * for GPUs: kernels are then chosen by rules, and `made` is empty. Errors: INVALID_ARGUMENT, CONTEXT_DESTROYED,
 * OUT_OF_MEMORY. Cost: the first call for a device in a process reads and checks the models, some milliseconds. */
DCSR_API dcsr_status dcsr_model_get_info(dcsr_model_info *info, dcsr_context *context);

/* Reads a file as a model for the context's device and machine, and tells of it; nothing is changed.
 * Errors: NOT_FOUND, IO, FORMAT (no model, of another version, damaged, of another device or machine: the message says
 * which and what to do), OUT_OF_MEMORY. */
DCSR_API dcsr_status dcsr_model_check(dcsr_model_info *info, dcsr_context *context, const char *path);

/* Where the user's model of the context's device is looked for, whether it is there or not, and what models call this
 * machine; each is as long as its size at most. Errors: TOO_LARGE. */
DCSR_API dcsr_status dcsr_model_get_path(dcsr_context *context, char *path, size_t size);
DCSR_API dcsr_status dcsr_model_get_machine(dcsr_context *context, char *machine, size_t size);

#ifdef __cplusplus
}
#endif
#endif
