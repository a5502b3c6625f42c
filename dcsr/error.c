/* error.c: status and sentence of the last failure, kept per thread.
 *
 * Per thread rather than per context: no lock, no text that another thread overwrites while it is read, and
 * an answer also where no context came to be. */
#include "dcsr/context.h"
#include "dcsr/error.h"
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static _Thread_local char text[TEXT_BYTES];
static _Thread_local dcsr_status failure;

dcsr_status dcsr_i_fail(dcsr_status status, const char *format, ...)
{
    char sentence[TEXT_BYTES]; /* the arguments may point into the text that is replaced */
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (length < 0) snprintf(sentence, sizeof sentence, "%s", dcsr_strerror(status));
    memcpy(text, sentence, strlen(sentence) + 1);
    failure = status;
    return status;
}

const char *dcsr_i_error_text(void)
{
    return text;
}

const char *dcsr_context_error(const dcsr_context *context)
{
    (void)context;
    return text;
}

dcsr_status dcsr_context_status(const dcsr_context *context)
{
    (void)context;
    return failure;
}
