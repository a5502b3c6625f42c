/* model_use.h: which model is in use (internal). */
#ifndef DCSR_MODEL_USE_H
#define DCSR_MODEL_USE_H

#include "ops/choice/choice.h"
#include "ops/choice/model_data.h"

/* The model for contexts of this device: the user's, if it is there and fits this machine, else the library's; NULL:
 * there is none. It lasts as long as the process. Errors: OUT_OF_MEMORY. Any thread. */
dcsr_status dcsr_i_model_in_use(const dcsr_i_model **model, dcsr_context *context);

#endif
