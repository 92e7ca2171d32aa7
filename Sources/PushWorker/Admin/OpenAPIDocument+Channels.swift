extension OpenAPIDocument {
    /// The routes of channels.
    static let channelPaths = #"""
            "/channels": {
              "get": {
                "summary": "The channels of an app.",
                "operationId": "listChannels",
                "security": [{"channelsToken": []}],
                "parameters": [
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where there is only one.",
                    "schema": {"type": "string"}
                  },
                  {"name": "environment", "in": "query", "schema": {"type": "string", "enum": ["production", "development"]}}
                ],
                "responses": {
                  "200": {"description": "Their ids.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Channels"}}}},
                  "400": {
                    "description": "The request asks for nothing that there could be.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "401": {
                    "description": "The token is missing or wrong.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "404": {
                    "description": "There is no such channel, or channels are switched off here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "409": {
                    "description": "APNs does not allow it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "429": {
                    "description": "APNs is asked too often.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "502": {
                    "description": "APNs refuses.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "503": {
                    "description": "APNs cannot be asked.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "504": {
                    "description": "Nobody knows: APNs did not answer.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  }
                }
              },
              "post": {
                "summary": "Makes a channel.",
                "operationId": "createChannel",
                "security": [{"channelsToken": []}],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": {
                        "type": "object",
                        "required": ["storage"],
                        "properties": {
                          "app": {"type": "string"},
                          "environment": {"type": "string"},
                          "storage": {"type": "string", "enum": ["none", "most-recent"]}
                        }
                      }
                    }
                  }
                },
                "responses": {
                  "201": {"description": "The channel.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Channel"}}}},
                  "400": {
                    "description": "The request asks for nothing that there could be.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "401": {
                    "description": "The token is missing or wrong.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "404": {
                    "description": "There is no such channel, or channels are switched off here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "409": {
                    "description": "APNs does not allow it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "429": {
                    "description": "APNs is asked too often.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "502": {
                    "description": "APNs refuses.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "503": {
                    "description": "APNs cannot be asked.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "504": {
                    "description": "Nobody knows: APNs did not answer.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  }
                }
              }
            },
            "/channels/{id}": {
              "get": {
                "summary": "What a channel keeps.",
                "operationId": "channel",
                "security": [{"channelsToken": []}],
                "parameters": [
                  {
                    "name": "id",
                    "in": "path",
                    "required": true,
                    "description": "As APNs gave it, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where there is only one.",
                    "schema": {"type": "string"}
                  },
                  {"name": "environment", "in": "query", "schema": {"type": "string", "enum": ["production", "development"]}}
                ],
                "responses": {
                  "200": {"description": "The channel.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Channel"}}}},
                  "400": {
                    "description": "The request asks for nothing that there could be.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "401": {
                    "description": "The token is missing or wrong.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "404": {
                    "description": "There is no such channel, or channels are switched off here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "409": {
                    "description": "APNs does not allow it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "429": {
                    "description": "APNs is asked too often.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "502": {
                    "description": "APNs refuses.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "503": {
                    "description": "APNs cannot be asked.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "504": {
                    "description": "Nobody knows: APNs did not answer.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  }
                }
              },
              "delete": {
                "summary": "Deletes a channel for good.",
                "operationId": "deleteChannel",
                "security": [{"channelsToken": []}],
                "parameters": [
                  {
                    "name": "id",
                    "in": "path",
                    "required": true,
                    "description": "As APNs gave it, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where there is only one.",
                    "schema": {"type": "string"}
                  },
                  {"name": "environment", "in": "query", "schema": {"type": "string", "enum": ["production", "development"]}}
                ],
                "responses": {
                  "200": {"description": "It is gone.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Channel"}}}},
                  "400": {
                    "description": "The request asks for nothing that there could be.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "401": {
                    "description": "The token is missing or wrong.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "404": {
                    "description": "There is no such channel, or channels are switched off here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "409": {
                    "description": "APNs does not allow it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "429": {
                    "description": "APNs is asked too often.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "502": {
                    "description": "APNs refuses.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "503": {
                    "description": "APNs cannot be asked.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  },
                  "504": {
                    "description": "Nobody knows: APNs did not answer.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ChannelError"}}}
                  }
                }
              }
            }
          },
        """#
}
