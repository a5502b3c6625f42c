/* fuzz_edgelist.c: any bytes as an edge list, as large as it needs and with given dimensions, and as a
 * relation. */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read("fuzz.el", data, size, NULL);
    dcsr_read_options options = {.rows = 100, .cols = size % 2 ? 50 : 0};
    fuzz_read("fuzz.csv", data, size, &options);
    fuzz_read("fuzz.facts", data, size, NULL);
    return 0;
}
