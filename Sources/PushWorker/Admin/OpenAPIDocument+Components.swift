extension OpenAPIDocument {
    /// What the routes refer to.
    static let components = #"""
          "components": {
            "securitySchemes": {
              "token": {"type": "http", "scheme": "bearer", "description": "The content of admin.token-file. Without it, only this machine may ask."},
              "channelsToken": {"type": "http", "scheme": "bearer", "description": "The content of admin.channels-token-file."}
            },
            "responses": {
              "Forbidden": {
                "description": "Nobody may ask as the port is configured; the answer says what to set.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "TokenWrong": {
                "description": "The token is missing or wrong.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "NoSense": {
                "description": "The request asks for nothing that there could be.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "NotNow": {
                "description": "Busy, starting, stopping, or the partition is being restored: ask again.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "NoApp": {
                "description": "There is no such app.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "NotInKafka": {
                "description": "Kafka does not have it for each partition: ask again.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
              },
              "ChannelNoSense": {
                "description": "The request asks for nothing that there could be.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelTokenWrong": {
                "description": "The token is missing or wrong.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "NoChannel": {
                "description": "There is no such channel, or channels are switched off here.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelNotAllowed": {
                "description": "APNs does not allow it.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelTooOften": {
                "description": "APNs is asked too often.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelRefused": {
                "description": "APNs refuses.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelNotNow": {
                "description": "APNs cannot be asked.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              },
              "ChannelUnknown": {
                "description": "Nobody knows: APNs did not answer.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
              }
            },
            "schemas": {
              "Error": {
                "type": "object",
                "required": ["error"],
                "properties": {
                  "error": {
                    "type": "object",
                    "required": ["kind", "remedy"],
                    "properties": {
                      "kind": {"type": "string", "description": "For programs."},
                      "remedy": {"type": "string", "description": "For people."},
                      "partition": {"type": "integer", "minimum": 0, "description": "Where the key belongs, if that is the matter."}
                    }
                  }
                }
              },
              "Status": {
                "type": "object",
                "required": [
                  "configuration",
                  "degraded",
                  "draining",
                  "errors",
                  "partitions",
                  "ready",
                  "routes",
                  "shards",
                  "uptime-seconds",
                  "version",
                  "work"
                ],
                "properties": {
                  "version": {"type": "string"},
                  "uptime-seconds": {"type": "integer", "minimum": 0},
                  "ready": {"type": "boolean", "description": "As /readyz says."},
                  "draining": {"type": "boolean"},
                  "errors": {"type": "array", "items": {"type": "string"}, "description": "Why it is not ready."},
                  "degraded": {"type": "array", "items": {"type": "string"}, "description": "What is wrong although it is ready."},
                  "configuration": {
                    "type": "object",
                    "required": ["awaiting-restart", "hash", "last-taken", "taken-at-seconds"],
                    "properties": {
                      "hash": {
                        "type": "string",
                        "description": "The same for workers that go by the same settings.",
                        "pattern": "^([0-9a-f]{16})?$"
                      },
                      "last-taken": {"type": "boolean", "description": "The configuration that was given last was taken."},
                      "taken-at-seconds": {"type": "integer", "minimum": 0, "description": "Since 1970."},
                      "awaiting-restart": {"type": "array", "items": {"type": "string"}, "description": "Settings that were given otherwise than they hold."}
                    }
                  },
                  "partition-count": {"type": "integer", "minimum": 0, "description": "Of each co-partitioned topic. Left out while nobody knows."},
                  "work": {
                    "type": "object",
                    "required": ["activities", "events-pending", "fanout-drain-seconds", "in-flight", "members", "members-waiting"],
                    "properties": {
                      "activities": {"type": "integer", "minimum": 0},
                      "events-pending": {"type": "integer", "minimum": 0, "description": "Events without an outcome."},
                      "in-flight": {"type": "integer", "minimum": 0},
                      "members": {"type": "integer", "minimum": 0},
                      "members-waiting": {"type": "integer", "minimum": 0},
                      "fanout-drain-seconds": {"type": "number", "minimum": 0, "description": "How long what members are owed will take, at the pace of late."}
                    }
                  },
                  "shards": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["number", "partitions", "silence-millis"],
                      "properties": {
                        "number": {"type": "integer", "minimum": 0},
                        "partitions": {"type": "integer", "minimum": 0},
                        "silence-millis": {"type": "integer", "minimum": 0, "description": "Since its loop last turned."}
                      }
                    }
                  },
                  "partitions": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["number", "phase", "restore-records-max", "restored-records", "shard"],
                      "properties": {
                        "number": {"type": "integer", "minimum": 0},
                        "shard": {"type": "integer", "minimum": 0},
                        "phase": {"type": "string", "enum": ["waiting", "claiming", "restoring", "running", "inlet", "releasing", "halted"]},
                        "restored-records": {"type": "integer", "minimum": 0},
                        "restore-records-max": {"type": "integer", "minimum": 0, "description": "At most; compaction may have left fewer."},
                        "lag-records": {
                          "type": "integer",
                          "minimum": 0,
                          "description": "Not resolved yet, of all its topics. Left out while nobody knows."
                        },
                        "reason": {"type": "string", "description": "Why it is halted or waits."}
                      }
                    }
                  },
                  "routes": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["connections-connecting", "connections-draining", "connections-open", "in-flight", "name", "peer", "shard"],
                      "properties": {
                        "name": {"type": "string"},
                        "shard": {"type": "integer", "minimum": 0},
                        "peer": {"type": "string", "description": "host:port"},
                        "connections-open": {"type": "integer", "minimum": 0},
                        "connections-connecting": {"type": "integer", "minimum": 0},
                        "connections-draining": {"type": "integer", "minimum": 0},
                        "in-flight": {"type": "integer", "minimum": 0},
                        "trouble": {"type": "string", "description": "What is wrong; left out when nothing is known."}
                      }
                    }
                  }
                }
              },
              "Push": {
                "type": "object",
                "required": ["age-millis", "alert", "event", "merged", "priority"],
                "properties": {
                  "event": {"type": "string", "enum": ["start", "update", "end"]},
                  "priority": {"type": "string", "enum": ["high", "low"]},
                  "alert": {"type": "boolean", "description": "It has one."},
                  "merged": {"type": "integer", "minimum": 1, "description": "Events that went into it."},
                  "stamp-seconds": {"type": "integer", "minimum": 0, "description": "aps.timestamp; left out while it is not given."},
                  "age-millis": {"type": "integer", "minimum": 0, "description": "Since its first event was taken, or since it left."}
                }
              },
              \#(Self.wait)
              "Activity": {
                "type": "object",
                "required": [
                  "app",
                  "attempts",
                  "awaits-record",
                  "budget",
                  "ended",
                  "environment",
                  "events-pending",
                  "frequent-updates",
                  "life",
                  "partition",
                  "rest-millis",
                  "token"
                ],
                "properties": {
                  "app": {"type": "string"},
                  "partition": {"type": "integer", "minimum": 0},
                  "life": {"type": "string", "enum": ["awaiting", "alive", "starting", "started", "ending", "ended"]},
                  "ended": {"type": "boolean"},
                  "token": {"type": "string", "description": "How the token stands; never the token. `former`: APNs has refused the newest, and the one before is used.", "enum": ["none", "usable", "former", "doubted", "dead"]},
                  "environment": {"type": "string", "enum": ["production", "development"]},
                  "frequent-updates": {"type": "boolean"},
                  "budget": {
                    "type": "object",
                    "required": ["left", "out", "per-hour", "policy", "reserve", "returns-in-seconds"],
                    "properties": {
                      "per-hour": {"type": "integer", "minimum": 0},
                      "reserve": {"type": "integer", "minimum": 0},
                      "out": {"type": "integer", "minimum": 0, "description": "Sent in the last hour, the one in flight included."},
                      "left": {"type": "integer", "minimum": 0, "description": "May be sent now, with alerts and end."},
                      "returns-in-seconds": {
                        "type": "array",
                        "description": "Seconds until each of those out returns, the next first; the one in flight is not among them.",
                        "items": {"type": "integer", "minimum": 1, "maximum": 3600}
                      },
                      "policy": {"type": "string", "enum": ["downgrade", "defer"]}
                    }
                  },
                  "events-pending": {"type": "integer", "minimum": 0, "description": "Events without an outcome."},
                  "pending": {"$ref": "#/components/schemas/Push"},
                  "in-flight": {"$ref": "#/components/schemas/Push"},
                  "last-stamp-seconds": {"type": "integer", "minimum": 0},
                  "last-accepted-seconds": {"type": "integer", "minimum": 0},
                  "rest-millis": {"type": "integer", "minimum": 0, "description": "Nothing leaves for so long."},
                  "attempts": {"type": "integer", "minimum": 0, "description": "Failed in a row."},
                  "awaits-record": {"type": "boolean", "description": "Nothing leaves before Kafka has the record of the last push."},
                  "waits-for": {"$ref": "#/components/schemas/Wait"}
                }
              },
              "AudienceOwner": {
                "type": "object",
                "required": [
                  "app",
                  "asked-partitions",
                  "budget",
                  "channels",
                  "ended",
                  "events-pending",
                  "frequent-budget",
                  "life",
                  "partition",
                  "roll-ups",
                  "versions"
                ],
                "properties": {
                  "app": {"type": "string"},
                  "partition": {"type": "integer", "minimum": 0},
                  "ended": {"type": "boolean"},
                  "life": {"type": "integer", "minimum": 0},
                  "asked-partitions": {"type": "array", "items": {"type": "integer", "minimum": 0}},
                  "versions": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["alert", "durable", "event", "merged", "priority", "record-millis", "records-outstanding", "stamp-seconds"],
                      "properties": {
                        "stamp-seconds": {"type": "integer", "minimum": 0},
                        "event": {"type": "string", "enum": ["update", "end"]},
                        "priority": {"type": "string", "enum": ["high", "low"]},
                        "alert": {"type": "boolean"},
                        "merged": {"type": "integer", "minimum": 0},
                        "durable": {"type": "boolean", "description": "state has it."},
                        "records-outstanding": {"type": "integer", "minimum": 0, "description": "Records of routed that Kafka has not acknowledged."},
                        "record-millis": {"type": "integer", "minimum": 0, "description": "When its event was written, since 1970."}
                      }
                    }
                  },
                  "events-pending": {"type": "integer", "minimum": 0},
                  "budget": {
                    "type": "object",
                    "description": "For members without frequent-updates.",
                    "required": ["left", "out", "per-hour", "reserve", "returns-in-seconds"],
                    "properties": {
                      "per-hour": {"type": "integer", "minimum": 0},
                      "reserve": {"type": "integer", "minimum": 0},
                      "out": {"type": "integer", "minimum": 0},
                      "left": {"type": "integer", "minimum": 0},
                      "returns-in-seconds": {
                        "type": "array",
                        "description": "Seconds until each of those out returns, the next first; those whose round goes on are not among them.",
                        "items": {"type": "integer", "minimum": 1, "maximum": 3600}
                      }
                    }
                  },
                  "frequent-budget": {
                    "type": "object",
                    "required": ["left", "out", "per-hour", "reserve", "returns-in-seconds"],
                    "properties": {
                      "per-hour": {"type": "integer", "minimum": 0},
                      "reserve": {"type": "integer", "minimum": 0},
                      "out": {"type": "integer", "minimum": 0},
                      "left": {"type": "integer", "minimum": 0},
                      "returns-in-seconds": {
                        "type": "array",
                        "description": "Seconds until each of those out returns, the next first; those whose round goes on are not among them.",
                        "items": {"type": "integer", "minimum": 1, "maximum": 3600}
                      }
                    }
                  },
                  "channels": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["environment", "id", "serves", "standing", "taken-stamp-seconds"],
                      "properties": {
                        "environment": {"type": "string", "enum": ["production", "development"]},
                        "id": {"type": "string", "description": "Empty: none has been opened."},
                        "standing": {"type": "string", "enum": ["wanted", "open", "dead"]},
                        "serves": {"type": "boolean", "description": "Members that listen get the newest version by broadcast."},
                        "taken-stamp-seconds": {"type": "integer", "minimum": 0}
                      }
                    }
                  },
                  "roll-ups": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": [
                        "accepted",
                        "asked",
                        "due",
                        "failed",
                        "first-accepted-millis",
                        "gone",
                        "last-accepted-millis",
                        "missing",
                        "stamp-seconds",
                        "unfinished",
                        "waiting"
                      ],
                      "properties": {
                        "stamp-seconds": {"type": "integer", "minimum": 0},
                        "asked": {"type": "array", "items": {"type": "integer", "minimum": 0}, "description": "Partitions that were told."},
                        "missing": {
                          "type": "array",
                          "items": {"type": "integer", "minimum": 0},
                          "description": "Of these, those of which nothing has come."
                        },
                        "unfinished": {
                          "type": "array",
                          "items": {"type": "integer", "minimum": 0},
                          "description": "Partitions whose members are owed it."
                        },
                        "due": {"type": "integer", "minimum": 0},
                        "accepted": {"type": "integer", "minimum": 0},
                        "waiting": {"type": "integer", "minimum": 0},
                        "gone": {"type": "integer", "minimum": 0},
                        "failed": {"type": "integer", "minimum": 0},
                        "first-accepted-millis": {"type": "integer", "minimum": 0},
                        "last-accepted-millis": {"type": "integer", "minimum": 0}
                      }
                    }
                  }
                }
              },
              "AudiencePartition": {
                "type": "object",
                "required": ["app", "leaving", "members", "partition", "paused", "rings", "stamp-seconds", "start-members", "starts-waiting"],
                "properties": {
                  "app": {"type": "string"},
                  "partition": {"type": "integer", "minimum": 0},
                  "leaving": {"type": "boolean", "description": "The audience is over."},
                  "paused": {"type": "boolean", "description": "An operator has stopped it."},
                  "stamp-seconds": {"type": "integer", "minimum": 0, "description": "Of the newest version; 0: there was none."},
                  "members": {"type": "integer", "minimum": 0},
                  "start-members": {"type": "integer", "minimum": 0},
                  "starts-waiting": {"type": "integer", "minimum": 0},
                  "rings": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["environment", "in-flight", "listens", "members", "progress", "retrying", "waiting"],
                      "properties": {
                        "environment": {"type": "string", "enum": ["production", "development"]},
                        "listens": {"type": "boolean", "description": "Its members listen on a channel."},
                        "members": {"type": "integer", "minimum": 0},
                        "progress": {"type": "number", "minimum": 0, "maximum": 1, "description": "How much of the newest version's round is done."},
                        "waiting": {"type": "integer", "minimum": 0},
                        "in-flight": {"type": "integer", "minimum": 0},
                        "retrying": {"type": "integer", "minimum": 0}
                      }
                    }
                  }
                }
              },
              "Audience": {
                "type": "object",
                "required": ["app", "audience", "owner-partition", "partitions"],
                "properties": {
                  "audience": {"type": "string"},
                  "app": {"type": "string"},
                  "owner-partition": {"type": "integer", "minimum": 0, "description": "Where its owner is."},
                  "owner": {"$ref": "#/components/schemas/AudienceOwner"},
                  "partitions": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/AudiencePartition"},
                    "description": "Of this worker's, those that know members."
                  }
                }
              },
              "Readiness": {
                "type": "object",
                "required": ["degraded", "draining", "errors", "halted", "joined", "partitions", "ready", "restoring"],
                "properties": {
                  "ready": {"type": "boolean"},
                  "draining": {"type": "boolean"},
                  "joined": {"type": "boolean"},
                  "partitions": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
                  "restoring": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["of", "partition", "records"],
                      "properties": {
                        "partition": {"type": "integer", "minimum": 0},
                        "records": {"type": "integer", "minimum": 0},
                        "of": {"type": "integer", "minimum": 0}
                      }
                    }
                  },
                  "halted": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["partition", "reason"],
                      "properties": {"partition": {"type": "integer", "minimum": 0}, "reason": {"type": "string"}}
                    }
                  },
                  "errors": {"type": "array", "items": {"type": "string"}},
                  "degraded": {"type": "array", "items": {"type": "string"}}
                }
              },
              "Channel": {
                "type": "object",
                "required": ["app", "environment"],
                "properties": {
                  "app": {"type": "string"},
                  "environment": {"type": "string"},
                  "channel": {"type": "string"},
                  "storage": {"type": "string", "enum": ["none", "most-recent"]},
                  "deleted": {"type": "boolean"},
                  "error": {
                    "type": "object",
                    "required": ["kind", "remedy"],
                    "properties": {
                      "kind": {"type": "string"},
                      "cause": {"type": "string"},
                      "remedy": {"type": "string"},
                      "status": {"type": "integer", "minimum": 0},
                      "reason": {"type": "string"}
                    }
                  }
                }
              },
              "ChannelError": {"anyOf": [{"$ref": "#/components/schemas/Error"}, {"$ref": "#/components/schemas/Channel"}]},
              "Channels": {
                "type": "object",
                "required": ["app", "channels", "count", "environment", "limit"],
                "properties": {
                  "app": {"type": "string"},
                  "environment": {"type": "string"},
                  "count": {"type": "integer", "minimum": 0},
                  "limit": {"type": "integer", "minimum": 0},
                  "channels": {"type": "array", "items": {"type": "string"}}
                }
              },
              "Order": {
                "type": "object",
                "required": ["app", "audience", "partitions-told", "paused"],
                "properties": {
                  "audience": {"type": "string"},
                  "app": {"type": "string"},
                  "paused": {"type": "boolean"},
                  "partitions-told": {"type": "integer", "minimum": 0}
                }
              }
            }
          }
        }
        """#
}
