#pragma once

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>

/// Names the calling thread; Linux keeps the first 15 bytes.
static inline void mailboat_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

/// Whether a consumed message may carry headers; 0: it carries none for certain.
///
/// librdkafka sets up a reader on the heap to find that a record has no headers, which costs more than taking the record
/// from its queue. But its `payload` points into the record batch as it came (or as it was decompressed), and there the
/// value is followed by the number of headers, a varint whose first byte is 0 for none
/// (https://kafka.apache.org/documentation/#record). Message formats before that know no headers: whatever follows the
/// value there, "none" is right, and anything else makes the caller ask librdkafka. There a value may also end its
/// buffer; a byte on the same page as the value's last can still be read. (An empty value is a constant of librdkafka's
/// instead, rdkafka_buf.h: rd_kafka_buf_read_bytes_varint.)
static inline int mailboat_rd_kafka_may_have_headers(const rd_kafka_message_t *message) {
    const uintptr_t smallest_page = 4096;
    const uint8_t *end = (const uint8_t *)message->payload + message->len;
    if (!message->payload || message->len == 0 || (uintptr_t)end % smallest_page == 0) return 1;
    return *(const volatile uint8_t *)end != 0;
}

/// Lets one broker of a mock cluster answer its next request of an API key with `error`.
///
/// The call takes errors and delays by C varargs, which Swift cannot call.
static inline rd_kafka_resp_err_t mailboat_rd_kafka_mock_broker_fail_next(
    rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t api_key, rd_kafka_resp_err_t error) {
    return rd_kafka_mock_broker_push_request_error_rtts(cluster, broker, api_key, 1, error, 0);
}

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
