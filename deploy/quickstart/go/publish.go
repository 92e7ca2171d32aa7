// Publishes an update and waits for what becomes of it.
//
//	go mod tidy && go run . localhost:9092 order-7 0a1b2c3d
package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func randomHex(count int) string {
	bytes := make([]byte, count)
	if _, err := rand.Read(bytes); err != nil {
		log.Fatal(err)
	}
	return fmt.Sprintf("%x", bytes)
}

func main() {
	bootstrap, activity, token := os.Args[1], os.Args[2], os.Args[3]
	eventID := randomHex(16)
	event, err := json.Marshal(map[string]any{
		"event":         "update",
		"id":            eventID,
		"to":            map[string]any{"token": token},
		"content-state": map[string]any{"driverName": "Anne", "minutes": 12},
		"priority":      10,
	})
	if err != nil {
		log.Fatal(err)
	}

	// murmur2 of the key, as Java's clients. librdkafka's own default puts records on other partitions.
	producer, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "enable.idempotence": true,
	})
	if err != nil {
		log.Fatal(err)
	}
	topic := "liveactivity.events"
	delivered := make(chan kafka.Event, 1)
	err = producer.Produce(&kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny},
		Key:            []byte(activity),
		Value:          event,
		Headers:        []kafka.Header{{Key: "traceparent", Value: []byte("00-" + randomHex(16) + "-" + randomHex(8) + "-01")}},
	}, delivered)
	if err != nil {
		log.Fatal(err)
	}
	published := (<-delivered).(*kafka.Message).TopicPartition
	if published.Error != nil {
		log.Fatal("not published: ", published.Error)
	}
	producer.Close()

	// A service has one consumer that runs all the time, with a group id that stays.
	consumer, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": bootstrap, "group.id": "quickstart-" + eventID, "auto.offset.reset": "earliest",
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := consumer.Subscribe("liveactivity.outcomes", nil); err != nil {
		log.Fatal(err)
	}
	for deadline := time.Now().Add(60 * time.Second); time.Now().Before(deadline); {
		record, err := consumer.ReadMessage(time.Second)
		if err != nil {
			continue
		}
		var outcome struct {
			Topic     string
			Partition int32
			Offset    *int64
		}
		// Where the event lies is its identity: an event that could not be read has an outcome without its id.
		if json.Unmarshal(record.Value, &outcome) == nil && outcome.Topic == topic && outcome.Offset != nil &&
			outcome.Partition == published.Partition && *outcome.Offset == int64(published.Offset) {
			fmt.Println(string(record.Value))
			consumer.Close()
			return
		}
	}
	log.Fatal("no outcome within 60 s")
}
