/* error.c: status and sentence of the last failure, kept per thread.
 *
 * Per thread rather than per context: no lock, no text that another thread overwrites while it is read, and
 * an answer also where no context came to be. */
#include <dcsr/context.h>
#include "dcsr/base/error.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local char text[DCSR_I_ERROR_BYTES];
static _Thread_local dcsr_status failure;

/* The number of bytes up to `length`, or from there on to the next, that do not cut a character of UTF-8 in
 * two. */
static size_t whole_before(const char *sentence, size_t length)
{
    while (length && (sentence[length] & 0xC0) == 0x80) length--;
    return length;
}

static const char *whole_after(const char *at)
{
    while ((*at & 0xC0) == 0x80) at++;
    return at;
}

/* Copies a sentence without its middle. */
static void shorten(char *to, size_t bytes, const char *sentence, size_t length)
{
    static const char gap[] = " ... ";
    size_t head = whole_before(sentence, (bytes - sizeof gap) / 4);
    const char *tail = whole_after(sentence + length - (bytes - sizeof gap - head));
    memcpy(to, sentence, head);
    memcpy(to + head, gap, sizeof gap - 1);
    memcpy(to + head + sizeof gap - 1, tail, strlen(tail) + 1);
}

static bool format_sentence(char *to, size_t bytes, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(to, bytes, format, arguments);
    char *whole = length >= 0 && (size_t)length >= bytes ? malloc((size_t)length + 1) : NULL;
    if (whole) { /* else its beginning is what there is */
        vsnprintf(whole, (size_t)length + 1, format, again);
        shorten(to, bytes, whole, (size_t)length);
        free(whole);
    }
    va_end(again);
    return length >= 0;
}

void dcsr_i_error_format(char *to, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!format_sentence(to, bytes, format, arguments)) *to = '\0';
    va_end(arguments);
}

void dcsr_i_fail_list(dcsr_status status, const char *format, va_list arguments)
{
    char sentence[DCSR_I_ERROR_BYTES]; /* the arguments may point into the text that is replaced */
    if (!format_sentence(sentence, sizeof sentence, format, arguments))
        snprintf(sentence, sizeof sentence, "%s", dcsr_status_name(status));
    memcpy(text, sentence, strlen(sentence) + 1);
    failure = status;
}

dcsr_status dcsr_i_fail(dcsr_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dcsr_i_fail_list(status, format, arguments);
    va_end(arguments);
    return status;
}

const char *dcsr_i_error_text(void)
{
    return text;
}

const char *dcsr_thread_error(void)
{
    return text;
}

dcsr_status dcsr_thread_status(void)
{
    return failure;
}
