/// What `GET /openapi.json` answers: every route of the admin port, for programs. A text in the program, so that nothing has to be found beside it; the
/// same lies in `deploy/schemas/admin.openapi.json`. To renew that: `mailboat run --print-openapi`.
public enum OpenAPIDocument {
    /// JSON, OpenAPI 3.1.
    public static var text: String { [Self.paths, Self.channelPaths, Self.components, ""].joined(separator: "\n") }

    private static let paths = #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "The admin port of a Mailboat worker",
            "version": "\#(MailboatVersion.current)",
            "description": "Each worker answers for the partitions that it has. HEAD is answered wherever GET is. deploy/Operations.md says who may ask.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"}
          },
          "servers": [{"url": "http://localhost:9464"}],
          "paths": {
            "/": {
              "get": {
                "summary": "What there is, for people.",
                "operationId": "index",
                "responses": {"200": {"description": "A list.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
              }
            },
            "/healthz": {
              "get": {
                "summary": "Whether a restart would help.",
                "operationId": "health",
                "responses": {
                  "200": {
                    "description": "The loops turn, and partitions with records get on.",
                    "content": {"text/plain": {"schema": {"type": "string"}}}
                  },
                  "503": {"description": "What hangs.", "content": {"text/plain": {"schema": {"type": "string"}}}}
                }
              }
            },
            "/readyz": {
              "get": {
                "summary": "Whether every partition is restored and nothing is wrong.",
                "operationId": "readiness",
                "responses": {
                  "200": {"description": "Ready.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Readiness"}}}},
                  "503": {
                    "description": "Not ready; it says why.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Readiness"}}}
                  }
                }
              }
            },
            "/metrics": {
              "get": {
                "summary": "For Prometheus, as OpenMetrics when asked for.",
                "operationId": "metrics",
                "responses": {"200": {"description": "Metrics.", "content": {"text/plain": {"schema": {"type": "string"}}}}}
              }
            },
            "/openapi.json": {
              "get": {
                "summary": "This document.",
                "operationId": "openapi",
                "responses": {"200": {"description": "OpenAPI 3.1.", "content": {"application/json": {"schema": {"type": "object"}}}}}
              }
            },
            "/page": {
              "get": {
                "summary": "How the worker stands, for a browser. It asks for the token where one is needed.",
                "operationId": "page",
                "responses": {
                  "200": {"description": "The page.", "content": {"text/html": {"schema": {"type": "string"}}}},
                  "403": {"$ref": "#/components/responses/Forbidden"}
                }
              }
            },
            "/page/style.css": {
              "get": {
                "summary": "How the page looks.",
                "operationId": "pageStyle",
                "responses": {"200": {"description": "A style sheet.", "content": {"text/css": {"schema": {"type": "string"}}}}}
              }
            },
            "/page/elements.js": {
              "get": {
                "summary": "What the page's script draws with.",
                "operationId": "pageElements",
                "responses": {"200": {"description": "A module.", "content": {"text/javascript": {"schema": {"type": "string"}}}}}
              }
            },
            "/page/worker.js": {
              "get": {
                "summary": "The page's script.",
                "operationId": "pageScript",
                "responses": {"200": {"description": "A module.", "content": {"text/javascript": {"schema": {"type": "string"}}}}}
              }
            },
            "/status": {
              "get": {
                "summary": "How the worker stands, and by which configuration it goes.",
                "operationId": "status",
                "security": [{}, {"token": []}],
                "responses": {
                  "200": {"description": "The worker.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Status"}}}},
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"}
                }
              }
            },
            "/activities/{key}": {
              "get": {
                "summary": "What is known of an activity.",
                "operationId": "activity",
                "security": [{}, {"token": []}],
                "parameters": [
                  {
                    "name": "key",
                    "in": "path",
                    "required": true,
                    "description": "The activity's id, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where only one app has it.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {"description": "The activity.", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Activity"}}}},
                  "404": {
                    "description": "Its partition is another worker's, and which that is; or it knows no such activity.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
                  },
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"},
                  "400": {"$ref": "#/components/responses/NoSense"},
                  "503": {"$ref": "#/components/responses/NotNow"}
                }
              }
            },
            "/audiences/{id}": {
              "get": {
                "summary": "What is known of an audience: by its owner, and by those of this worker's partitions that have members.",
                "operationId": "audience",
                "security": [{}, {"token": []}],
                "parameters": [
                  {
                    "name": "id",
                    "in": "path",
                    "required": true,
                    "description": "The audience's id, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where only one app has it.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "The audience, as far as it is here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Audience"}}}
                  },
                  "404": {
                    "description": "Neither its owner nor any of its members are here.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
                  },
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"},
                  "400": {"$ref": "#/components/responses/NoSense"},
                  "503": {"$ref": "#/components/responses/NotNow"}
                }
              }
            },
            "/audiences/{id}/pause": {
              "post": {
                "summary": "Pushes nothing more to an audience's members, until it is resumed.",
                "operationId": "pauseAudience",
                "security": [{}, {"token": []}],
                "parameters": [
                  {
                    "name": "id",
                    "in": "path",
                    "required": true,
                    "description": "The audience's id, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where there is only one.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Every partition was told, whoever has it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                  },
                  "404": {"$ref": "#/components/responses/NoApp"},
                  "502": {"$ref": "#/components/responses/NotInKafka"},
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"},
                  "400": {"$ref": "#/components/responses/NoSense"},
                  "503": {"$ref": "#/components/responses/NotNow"}
                }
              }
            },
            "/audiences/{id}/resume": {
              "post": {
                "summary": "Goes on with the pushes to an audience's members.",
                "operationId": "resumeAudience",
                "security": [{}, {"token": []}],
                "parameters": [
                  {
                    "name": "id",
                    "in": "path",
                    "required": true,
                    "description": "The audience's id, percent-encoded.",
                    "schema": {"type": "string"}
                  },
                  {
                    "name": "app",
                    "in": "query",
                    "description": "Bundle id. May be left out where there is only one.",
                    "schema": {"type": "string"}
                  }
                ],
                "responses": {
                  "200": {
                    "description": "Every partition was told, whoever has it.",
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}
                  },
                  "404": {"$ref": "#/components/responses/NoApp"},
                  "502": {"$ref": "#/components/responses/NotInKafka"},
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"},
                  "400": {"$ref": "#/components/responses/NoSense"},
                  "503": {"$ref": "#/components/responses/NotNow"}
                }
              }
            },
            "/drain": {
              "post": {
                "summary": "Stops the worker, as SIGTERM does: what is in flight is finished, the rest written down and committed, the group left.",
                "operationId": "drain",
                "security": [{}, {"token": []}],
                "responses": {
                  "202": {
                    "description": "It has begun.",
                    "content": {
                      "application/json": {"schema": {"type": "object", "required": ["draining"], "properties": {"draining": {"type": "boolean"}}}}
                    }
                  },
                  "401": {"$ref": "#/components/responses/TokenWrong"},
                  "403": {"$ref": "#/components/responses/Forbidden"}
                }
              }
            },
        """#
}
