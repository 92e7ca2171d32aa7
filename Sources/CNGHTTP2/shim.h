#pragma once
#include <nghttp2/nghttp2.h>

// Came with 1.57 and with the older versions that distributions have repaired since; weak, to build and run without.
extern void nghttp2_option_set_stream_reset_rate_limit(nghttp2_option *option, uint64_t burst, uint64_t rate)
    __attribute__((weak));

/// Lets a client reset as many streams as it likes. A library that knows no limit needs not be told.
static inline void mailboat_allow_any_stream_resets(nghttp2_option *option) {
    if (nghttp2_option_set_stream_reset_rate_limit)
        nghttp2_option_set_stream_reset_rate_limit(option, UINT64_MAX, UINT64_MAX);
}
