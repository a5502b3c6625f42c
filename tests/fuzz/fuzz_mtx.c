/* fuzz_mtx.c: any bytes as a Matrix Market file. */
#include "tests/fuzz/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_read("fuzz.mtx", data, size, NULL);
    return 0;
}
