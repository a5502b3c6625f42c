/* fuzz_log.c: any bytes as a log, whose format they choose, in batches of some size; and the rest of it from the
 * place of its first batch. */
#include "tests/fuzz/fuzz_reader.h"
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static dcsr_status number(void *user, uint64_t n, const dcsr_text *names, uint64_t *ids)
{
    (void)user;
    for (uint64_t i = 0; i < n; i++) {
        ids[i] = names[i].length;
        for (size_t c = 0; c < names[i].length; c++)
            ids[i] = (ids[i] * 31 + (uint8_t)names[i].bytes[c]) % 1000;
    }
    return DCSR_OK;
}

/* Reads batches to the end and sums up what is in them; *first becomes the place of the first. */
static uint64_t read_all(const char *path, const dcsr_line_format *format, uint64_t most,
                         const dcsr_input_place *from, dcsr_input_place *first, dcsr_status *status)
{
    dcsr_input *input;
    dcsr_edge_batch batch = {0};
    uint64_t sum = 0;
    FUZZ_CHECK(dcsr_input_open_lines(&input, fuzz_context(), path, format) == DCSR_OK);
    *status = from ? dcsr_input_seek(input, from) : DCSR_OK;
    for (bool begun = false; *status == DCSR_OK && !batch.ended; begun = true) {
        *status = dcsr_input_read_batch(&batch, input, &(dcsr_batch_limits){.most = most});
        FUZZ_CHECK(batch.n <= most);
        for (uint64_t e = 0; e < batch.n; e++) {
            FUZZ_CHECK(batch.row_indices[e] < batch.rows && batch.col_indices[e] < batch.cols);
            sum += batch.row_indices[e] * 3 + batch.col_indices[e] + 1;
        }
        if (begun || !first || *status) continue;
        *first = batch.place;
        sum = 0; /* only what is behind that counts */
    }
    dcsr_input_close(input);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char separators[] = {0, ',', '\t', ' '};
    char path[40];
    dcsr_context_info info;
    if (size < 2) return 0;
    const dcsr_line_format format = {.row = data[0] & 1 ? 1 + (data[0] >> 6) : 0,
                                     .col = data[0] & 1 ? 6 : 0,
                                     .value = data[0] & 2 ? 7 : 0,
                                     .time = data[0] & 4 ? 8 : 0,
                                     .separator = separators[data[0] >> 3 & 3],
                                     .header = data[0] >> 5 & 1,
                                     .number = data[1] & 1 ? number : NULL,
                                     .skip_bad = data[1] & 2,
                                     .ascending_times = data[1] & 4};
    const int file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write(file, data + 2, size - 2) == (ssize_t)size - 2);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    dcsr_status status, again;
    dcsr_input_place place = {0};
    const uint64_t most = 1 + (data[1] >> 4), rest = read_all(path, &format, most, NULL, &place, &status);
    FUZZ_CHECK(status == DCSR_OK || status == DCSR_ERROR_FORMAT || status == DCSR_ERROR_OUT_OF_MEMORY);
    if (status == DCSR_OK && place.position && !format.ascending_times) {
        FUZZ_CHECK(read_all(path, &format, 1000, &place, NULL, &again) == rest);
        FUZZ_CHECK(again == DCSR_OK);
    }
    FUZZ_CHECK(dcsr_context_get_info(fuzz_context(), &info) == DCSR_OK && info.scratch_bytes == 0);
    close(file);
    return 0;
}
