/* simt_warp.h: the collectives of a warp. All lanes named in a mask must come to the same one with the same
 * mask; those that have exited are not waited for. Only __syncwarp orders memory. */
#ifndef DCSR_TESTS_SIMT_WARP_H
#define DCSR_TESTS_SIMT_WARP_H

#include <cstdint>
#include <cstring>
#include <type_traits>
#include "tests/simt/simt_kernel.h"

namespace simt
{
enum warp_operation { SYNC, SHUFFLE, BALLOT, MATCH_ANY, MATCH_ALL };

/* Gives value and gets the result of the lane: SHUFFLE the value of lane source (its own when that is -1),
 * BALLOT the lanes whose value is not 0, MATCH_ANY the lanes of equal value, MATCH_ALL all lanes when their
 * values are equal, otherwise 0. */
uint64_t warp_collective(warp_operation operation, unsigned mask, uint64_t value, int source,
                         const char *file, int line);

template <class T> inline uint64_t to_bits(T value)
{
    static_assert(std::is_arithmetic<T>::value && (sizeof(T) == 4 || sizeof(T) == 8),
                  "4 or 8 bytes, as in CUDA");
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}
template <class T> inline T from_bits(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
inline int lane()
{
    return static_cast<int>(here->linear & 31);
}
} // namespace simt

inline void __syncwarp(unsigned mask = 0xffffffffu, SIMT_PLACE)
{
    simt::warp_collective(simt::SYNC, mask, 0, 0, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_PLACE)
{
    return static_cast<unsigned>(simt::warp_collective(simt::BALLOT, mask, predicate != 0, 0, file, line));
}
inline int __any_sync(unsigned mask, int predicate, SIMT_PLACE)
{
    return simt::warp_collective(simt::BALLOT, mask, predicate != 0, 0, file, line) != 0;
}
inline int __all_sync(unsigned mask, int predicate, SIMT_PLACE)
{
    return simt::warp_collective(simt::BALLOT, mask, predicate == 0, 0, file, line) == 0;
}
template <class T> inline unsigned __match_any_sync(unsigned mask, T value, SIMT_PLACE)
{
    return static_cast<unsigned>(
        simt::warp_collective(simt::MATCH_ANY, mask, simt::to_bits(value), 0, file, line));
}
template <class T> inline unsigned __match_all_sync(unsigned mask, T value, int *predicate, SIMT_PLACE)
{
    const unsigned lanes = static_cast<unsigned>(
        simt::warp_collective(simt::MATCH_ALL, mask, simt::to_bits(value), 0, file, line));
    *predicate = lanes != 0;
    return lanes;
}

/* A segment of width lanes begins at first; a source outside of it means the lane's own value. */
#define SIMT_SHUFFLE(NAME, ARGUMENT, SOURCE)                                                                 \
    template <class T> inline T NAME(unsigned mask, T value, ARGUMENT, int width = warpSize, SIMT_PLACE)     \
    {                                                                                                        \
        const int lane = simt::lane(), first = lane & ~(width - 1), end = first + width, source = SOURCE;    \
        return simt::from_bits<T>(simt::warp_collective(simt::SHUFFLE, mask, simt::to_bits(value),           \
                                                        source < first || source >= end ? -1 : source, file, \
                                                        line));                                              \
    }
SIMT_SHUFFLE(__shfl_sync, int from, first + (from & (width - 1)))
SIMT_SHUFFLE(__shfl_up_sync, unsigned delta, lane - static_cast<int>(delta))
SIMT_SHUFFLE(__shfl_down_sync, unsigned delta, lane + static_cast<int>(delta))
SIMT_SHUFFLE(__shfl_xor_sync, int bits, lane ^ bits)

#endif
