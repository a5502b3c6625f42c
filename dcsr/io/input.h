/* input.h: an open file that is read at once or in batches (internal).
 *
 *      dcsr_input_read():        the whole text, and triples from it                                reader.c
 *      dcsr_input_read_batch():  some MiB of text --parse--> entries that wait --cut--> a batch    batches.c
 *                                   ^                          |
 *                                   +-- drop what was parsed <-+
 */
#ifndef DCSR_INPUT_H
#define DCSR_INPUT_H

#include "dcsr/base/error.h"
#include "dcsr/io/text_file.h"
#include "dcsr/io/triples.h"

enum { DCSR_I_BEGINNING = 1024 };

/* Entries that were parsed: those before `first` have been handed out. */
typedef struct dcsr_i_waiting {
    uint64_t first, count, capacity;
    dcsr_i_target arrays; /* in one block, which begins with its rows; names have become numbers */
} dcsr_i_waiting;

typedef struct dcsr_i_batches {
    bool begun, typed, finished; /* finished: all text has been parsed */
    dcsr_type type;
    dcsr_i_waiting waiting;
    uint64_t rows, cols; /* bounds */
    bool whole;          /* Matrix Market: all of it is in coo */
    dcsr_coo coo;
    dcsr_i_place text;  /* where the text that is left begins */
    dcsr_i_place given; /* where the last batch ended */
    uint64_t header;    /* lines that are still to be passed over */
    uint64_t skipped;
    double last;   /* when the last batch was handed out */
    uint64_t seek; /* text to pass over; 0: none */
    uint64_t seek_mark;
    dcsr_input_event event;           /* for the next batch */
    double newest;                    /* time of all entries so far */
    char beginning[DCSR_I_BEGINNING]; /* of the text */
    size_t beginning_length;
    dcsr_status failure; /* comes behind the entries that wait */
    char reason[DCSR_I_ERROR_BYTES];
} dcsr_i_batches;

struct dcsr_input {
    dcsr_i_textfile file;
    bool read;
    bool described; /* by a format of lines */
    bool plain;     /* an edge list, for all that was described */
    bool automatic; /* which columns there are is told by the first entry */
    dcsr_line_format format;
    dcsr_i_fields fields;
    dcsr_i_batches batches;
    size_t bytes; /* of this structure with the name */
    char name[];
};

/* Takes the format. Errors: INVALID_ARGUMENT. */
dcsr_status dcsr_i_input_describe(dcsr_input *input, const dcsr_line_format *format);
/* The type of the values by some whole lines: those from the beginning of the file on, or from a later one without
 * an entry before it; false where these do not tell. */
bool dcsr_i_input_type(dcsr_type *type, const dcsr_input *input, const char *text, const char *end);
void dcsr_i_batches_free(dcsr_input *input);

/* What a text is: the name says so, or, of a stream without a known ending, the first line (reader.c). */
bool dcsr_i_is_market(const dcsr_i_file_input *input);
/* Triples from a whole text (reader.c). */
dcsr_status dcsr_i_read_text(dcsr_coo *coo, const dcsr_i_text *text, const char *name,
                             const dcsr_read_options *options);

#endif
