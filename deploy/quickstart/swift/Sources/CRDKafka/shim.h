#include <librdkafka/rdkafka.h>
#include <string.h>

/// `rd_kafka_producev` takes its arguments by C varargs, which Swift cannot call. Key, value and headers are copied; the headers are librdkafka's
/// from here on, unless there is an error.
static inline rd_kafka_resp_err_t publish(
    rd_kafka_t *producer, const char *topic, const char *key, const char *value, rd_kafka_headers_t *headers) {
    return rd_kafka_producev(
        producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, strlen(key)), RD_KAFKA_V_VALUE((void *)value, strlen(value)),
        RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
}
