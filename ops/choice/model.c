/* model.c: which model is in use: the library's own, or the user's. */
#include "dcsr/base/runtime.h"
#include "ops/choice/model_data.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The library's models, files that are part of it: from a symbol to the same with _end. */
#define SHIPPED(name)                                                      \
    __asm__(".section .rodata\n"                                           \
            ".global dcsr_i_" #name "_model, dcsr_i_" #name "_model_end\n" \
            ".hidden dcsr_i_" #name "_model, dcsr_i_" #name "_model_end\n" \
            "dcsr_i_" #name "_model:\n"                                    \
            ".incbin \"ops/choice/" #name ".model\"\n"                     \
            "dcsr_i_" #name "_model_end:\n"                                \
            ".previous\n");                                                \
    extern const char dcsr_i_##name##_model[], dcsr_i_##name##_model_end[];
SHIPPED(cpu_amd)
SHIPPED(cpu_intel)
#ifdef DCSR_CUDA
SHIPPED(cuda)
#endif

/* A processor's name begins with its maker, and what suits those of one does not suit another's. */
static const struct {
    dcsr_device device;
    const char *maker, *begin, *end;
} shipped[] = {
    {DCSR_DEVICE_CPU, "AMD", dcsr_i_cpu_amd_model, dcsr_i_cpu_amd_model_end},
    {DCSR_DEVICE_CPU, "Intel", dcsr_i_cpu_intel_model, dcsr_i_cpu_intel_model_end},
#ifdef DCSR_CUDA
    {DCSR_DEVICE_CUDA, "", dcsr_i_cuda_model, dcsr_i_cuda_model_end},
#endif
};
enum { SHIPPED_MODELS = sizeof shipped / sizeof *shipped };

/* What has been read, for a device. */
typedef struct in_use {
    bool read;
    dcsr_i_model *model;
    char refused[sizeof((dcsr_model_info *)NULL)->refused];
} in_use;

static struct {
    pthread_mutex_t lock;
    in_use of[DCSR_DEVICE_CUDA + 1];
} models = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- This machine ---- */

/* The processor's name as the system tells it; "cpu" where it does not. */
static void name_processor(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    snprintf(name, size, "cpu");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
        if (!value) continue;
        snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
        break;
    }
    if (file) fclose(file);
}

static dcsr_status describe_machine(dcsr_context *context, dcsr_context_info *info, char *machine,
                                    size_t size)
{
    char processor[128];
    int n;
    DCSR_TRY(dcsr_context_get_info(context, info));
    name_processor(processor, sizeof processor);
    if (info->device == DCSR_DEVICE_CUDA)
        n = snprintf(machine, size, "%s", info->device_name);
    else
        n = snprintf(machine, size, "%s, %ld cores", processor, sysconf(_SC_NPROCESSORS_ONLN));
    return n >= 0 && (size_t)n < size
               ? DCSR_OK
               : dcsr_i_fail(DCSR_ERROR_TOO_LARGE,
                             "the name of this machine takes %d bytes; give it that room", n + 1);
}

dcsr_status dcsr_model_get_machine(dcsr_context *context, char *machine, size_t size)
{
    dcsr_context_info info;
    if (!machine) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_model_get_machine: machine is NULL");
    return describe_machine(context, &info, machine, size);
}

/* ---- Where the user's model is ---- */

dcsr_status dcsr_model_get_path(dcsr_context *context, char *path, size_t size)
{
    dcsr_context_info info;
    if (!path) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_model_get_path: path is NULL");
    DCSR_TRY(dcsr_context_get_info(context, &info));
    const char *chosen = getenv("DCSR_MODEL"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    const char *name = info.device == DCSR_DEVICE_CUDA ? "cuda.model" : "cpu.model";
    int n;
    if (chosen && *chosen)
        n = snprintf(path, size, "%s", chosen);
    else if (data && *data == '/')
        n = snprintf(path, size, "%s/dcsr/%s", data, name);
    else
        n = snprintf(path, size, "%s/.local/share/dcsr/%s", home ? home : "", name);
    return n >= 0 && (size_t)n < size
               ? DCSR_OK
               : dcsr_i_fail(DCSR_ERROR_TOO_LARGE, "the path of the model takes %d bytes; give it that room",
                             n + 1);
}

/* ---- Reading ---- */

/* A model that fits the context's device and machine. */
static dcsr_status read_fitting(dcsr_i_model **model, dcsr_context *context, const char *path)
{
    dcsr_context_info info;
    char machine[sizeof(*model)->info.machine];
    *model = NULL;
    DCSR_TRY(describe_machine(context, &info, machine, sizeof machine));
    DCSR_TRY(dcsr_i_model_read(model, path));
    const dcsr_model_info *made = &(*model)->info;
    dcsr_status status = DCSR_OK;
    if (made->device != info.device)
        status = dcsr_i_fail(DCSR_ERROR_FORMAT,
                             "%s: this model is for another device, %s; run `dcsr tune` for this one", path,
                             made->device == DCSR_DEVICE_CUDA ? "cuda" : "cpu");
    else if (strcmp(made->machine, machine))
        status = dcsr_i_fail(DCSR_ERROR_FORMAT,
                             "%s: this model is of another machine, %s, and this is %s; run `dcsr tune` here",
                             path, made->machine, machine);
    if (status == DCSR_OK) return DCSR_OK;
    dcsr_i_model_free(*model);
    *model = NULL;
    return status;
}

/* The user's model, or a note of why it is refused; neither where there is none. */
static dcsr_status read_users(in_use *use, dcsr_context *context)
{
    char path[4096];
    const char *chosen = getenv("DCSR_MODEL");
    dcsr_status status = dcsr_model_get_path(context, path, sizeof path);
    if (status == DCSR_OK) status = read_fitting(&use->model, context, path);
    if (status == DCSR_OK || status == DCSR_ERROR_OUT_OF_MEMORY || status == DCSR_ERROR_CONTEXT_DESTROYED)
        return status;
    if (status != DCSR_ERROR_NOT_FOUND || (chosen && *chosen))
        dcsr_i_error_format(use->refused, sizeof use->refused, "%s", dcsr_thread_error());
    return DCSR_OK;
}

/* The library's for the device: that for processors of this maker, or else the first. */
static dcsr_status read_shipped(dcsr_i_model **model, dcsr_device device)
{
    char processor[128];
    int chosen = -1;
    name_processor(processor, sizeof processor);
    for (int i = 0; i < SHIPPED_MODELS; i++) {
        if (shipped[i].device != device) continue;
        const bool fits = !strncmp(processor, shipped[i].maker, strlen(shipped[i].maker));
        if (chosen < 0 || fits) chosen = i;
        if (fits) break;
    }
    if (chosen < 0) return DCSR_OK;
    return dcsr_i_model_parse(model, shipped[chosen].begin,
                              (size_t)(shipped[chosen].end - shipped[chosen].begin), "the library's model");
}

/* With the lock. */
static dcsr_status read_models(in_use *use, dcsr_context *context, dcsr_device device)
{
    DCSR_TRY(read_users(use, context));
    if (!use->model) DCSR_TRY(read_shipped(&use->model, device));
    use->read = true;
    return DCSR_OK;
}

static dcsr_status find(const in_use **use, dcsr_context *context)
{
    DCSR_TRY(dcsr_i_context_check(context));
    in_use *of = &models.of[context->device];
    pthread_mutex_lock(&models.lock);
    dcsr_status status = of->read ? DCSR_OK : read_models(of, context, context->device);
    pthread_mutex_unlock(&models.lock);
    *use = of;
    return status;
}

dcsr_status dcsr_i_model_in_use(const dcsr_i_model **model, dcsr_context *context)
{
    const in_use *use;
    *model = NULL;
    DCSR_TRY(find(&use, context));
    *model = use->model;
    return DCSR_OK;
}

void dcsr_i_models_forget(void)
{
    for (int d = 0; d <= DCSR_DEVICE_CUDA; d++) {
        dcsr_i_model_free(models.of[d].model);
        models.of[d] = (in_use){0};
    }
}

/* ---- Telling ---- */

dcsr_status dcsr_model_get_info(dcsr_model_info *info, dcsr_context *context)
{
    if (!info) return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_model_get_info: info is NULL");
    *info = (dcsr_model_info){0};
    const in_use *use;
    DCSR_TRY(find(&use, context));
    if (use->model) *info = use->model->info;
    strcpy(info->refused, use->refused);
    return DCSR_OK;
}

dcsr_status dcsr_model_check(dcsr_model_info *info, dcsr_context *context, const char *path)
{
    if (!info || !path)
        return dcsr_i_fail(DCSR_ERROR_INVALID_ARGUMENT, "dcsr_model_check: %s is NULL",
                           info ? "path" : "info");
    *info = (dcsr_model_info){0};
    dcsr_i_model *model;
    DCSR_TRY(read_fitting(&model, context, path));
    *info = model->info;
    dcsr_i_model_free(model);
    return DCSR_OK;
}
