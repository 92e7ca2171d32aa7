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
                  "400": {"$ref": "#/components/responses/ChannelNoSense"},
                  "401": {"$ref": "#/components/responses/ChannelTokenWrong"},
                  "404": {"$ref": "#/components/responses/NoChannel"},
                  "409": {"$ref": "#/components/responses/ChannelNotAllowed"},
                  "429": {"$ref": "#/components/responses/ChannelTooOften"},
                  "502": {"$ref": "#/components/responses/ChannelRefused"},
                  "503": {"$ref": "#/components/responses/ChannelNotNow"},
                  "504": {"$ref": "#/components/responses/ChannelUnknown"}
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
                  "400": {"$ref": "#/components/responses/ChannelNoSense"},
                  "401": {"$ref": "#/components/responses/ChannelTokenWrong"},
                  "404": {"$ref": "#/components/responses/NoChannel"},
                  "409": {"$ref": "#/components/responses/ChannelNotAllowed"},
                  "429": {"$ref": "#/components/responses/ChannelTooOften"},
                  "502": {"$ref": "#/components/responses/ChannelRefused"},
                  "503": {"$ref": "#/components/responses/ChannelNotNow"},
                  "504": {"$ref": "#/components/responses/ChannelUnknown"}
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
                  "400": {"$ref": "#/components/responses/ChannelNoSense"},
                  "401": {"$ref": "#/components/responses/ChannelTokenWrong"},
                  "404": {"$ref": "#/components/responses/NoChannel"},
                  "409": {"$ref": "#/components/responses/ChannelNotAllowed"},
                  "429": {"$ref": "#/components/responses/ChannelTooOften"},
                  "502": {"$ref": "#/components/responses/ChannelRefused"},
                  "503": {"$ref": "#/components/responses/ChannelNotNow"},
                  "504": {"$ref": "#/components/responses/ChannelUnknown"}
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
                  "400": {"$ref": "#/components/responses/ChannelNoSense"},
                  "401": {"$ref": "#/components/responses/ChannelTokenWrong"},
                  "404": {"$ref": "#/components/responses/NoChannel"},
                  "409": {"$ref": "#/components/responses/ChannelNotAllowed"},
                  "429": {"$ref": "#/components/responses/ChannelTooOften"},
                  "502": {"$ref": "#/components/responses/ChannelRefused"},
                  "503": {"$ref": "#/components/responses/ChannelNotNow"},
                  "504": {"$ref": "#/components/responses/ChannelUnknown"}
                }
              }
            }
          },
        """#
}
