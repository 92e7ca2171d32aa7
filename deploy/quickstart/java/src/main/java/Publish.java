import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Publishes an update and waits for what becomes of it. */
public final class Publish {
    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], activity = arguments[1], token = arguments[2];
        String eventId = UUID.randomUUID().toString();
        String event = """
            {"event": "update", "id": "%s", "to": {"token": "%s"},
             "content-state": {"driverName": "Anne", "minutes": 12}, "priority": 10}
            """.formatted(eventId, token);

        // Java's default partitioner is the right one: murmur2 of the key. Configure no other.
        String place;
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", true);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            var record = new ProducerRecord<>("liveactivity.events", activity, event);
            record.headers().add("traceparent", traceparent().getBytes(StandardCharsets.UTF_8));
            // Waits for Kafka, and throws what it says.
            var published = producer.send(record).get();
            // Where the event lies is its identity: an event that could not be read has an outcome without its id.
            place = ",\"topic\":\"%s\",\"partition\":%d,\"offset\":%d".formatted(
                published.topic(), published.partition(), published.offset());
        }

        // A service has one consumer that runs all the time, with a group id that stays.
        Map<String, Object> reading = Map.of(
            "bootstrap.servers", bootstrap, "group.id", "quickstart-" + eventId, "auto.offset.reset", "earliest");
        try (var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("liveactivity.outcomes"));
            long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
            while (System.nanoTime() < deadline) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    // Use your JSON library here, and compare the fields "topic", "partition" and "offset".
                    if (record.value().contains(place + ",") || record.value().contains(place + "}")) {
                        System.out.println(record.value());
                        return;
                    }
                }
            }
        }
        System.err.println("no outcome within 60 s");
        System.exit(1);
    }

    private static String traceparent() {
        byte[] bytes = new byte[24];
        new Random().nextBytes(bytes);
        String digits = HexFormat.of().formatHex(bytes);
        return "00-" + digits.substring(0, 32) + "-" + digits.substring(32) + "-01";
    }
}
