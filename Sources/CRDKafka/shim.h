#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

/// Names the calling thread; Linux keeps the first 15 bytes.
static inline void mailboat_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Queues one message for delivery, copying key and value.
///
/// `rd_kafka_producev` takes its arguments by C varargs, which Swift cannot call; this is the one shape of the call
/// that Mailboat needs. A null `key` or `value` is a null key or value; an empty one is a non-null pointer with length
/// 0. `timestamp_ms` 0 means now. `headers` may be null; on success librdkafka owns them, on any error they still
/// belong to the caller (rdkafka.h, `RD_KAFKA_V_HEADERS`).
static inline rd_kafka_resp_err_t mailboat_rd_kafka_produce(
    rd_kafka_t *client, rd_kafka_topic_t *topic, int32_t partition,
    const void *key, size_t key_length, const void *value, size_t value_length,
    rd_kafka_headers_t *headers, int64_t timestamp_ms, uint64_t opaque) {
    if (headers) {
        return rd_kafka_producev(
            client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_KEY(key, key_length), RD_KAFKA_V_VALUE((void *)value, value_length),
            RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_OPAQUE((void *)(uintptr_t)opaque), RD_KAFKA_V_END);
    }
    return rd_kafka_producev(
        client, RD_KAFKA_V_RKT(topic), RD_KAFKA_V_PARTITION(partition), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
        RD_KAFKA_V_KEY(key, key_length), RD_KAFKA_V_VALUE((void *)value, value_length),
        RD_KAFKA_V_TIMESTAMP(timestamp_ms),
        RD_KAFKA_V_OPAQUE((void *)(uintptr_t)opaque), RD_KAFKA_V_END);
}
