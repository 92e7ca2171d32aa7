module example.com/publish

go 1.21

require github.com/confluentinc/confluent-kafka-go/v2 v2.11.1
