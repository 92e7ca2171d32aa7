#pragma once

#include <stdint.h>

/// Begins to bring the cache line of `address` close to the processor, and waits for nothing. Any address will do: of
/// one that cannot be read nothing is noticed. Swift has no word for this.
static inline void mailboat_prefetch(const void *address) { __builtin_prefetch(address, 0, 3); }

/// Which of the 64 bytes from `bytes` on, all of which can be read, end a run of plain characters inside a JSON string:
/// a quote, a backslash, a control character, or a byte of more than ASCII. A bit for each, the first byte's lowest.
///
/// By comparisons of whole vectors, whose results Swift cannot gather into bits: less than an instruction for a byte, of
/// SSE2 as of NEON.
static inline uint64_t mailboat_json_stops(const uint8_t *bytes) {
    typedef int8_t vector __attribute__((vector_size(64)));
    typedef _Bool bits __attribute__((ext_vector_type(64)));
    vector given;
    __builtin_memcpy(&given, bytes, sizeof given);
    // Of signed bytes, those beyond ASCII are below the space too.
    const bits stop = __builtin_convertvector((given == '"') | (given == '\\') | (given < 0x20), bits);
    uint64_t result;
    __builtin_memcpy(&result, &stop, sizeof result);
    return result;
}
