extension ControlServer {
    /// The answer to `GET /`. Each line was tried with curl.
    static let help = """
        Simulated APNs: control API

        GET    /devices?prefix=HEX&limit=N   devices by the first digits of their token, oldest first (100 of them)
        GET    /devices/TOKEN                what the phone behind a token shows; of a push-to-start token also every start and its card
        POST   /devices/TOKEN                {"online": false | true} the phone goes away, or comes back and gets what was kept for it
                                             {"channel": ID} its app listens to a channel; "": to none
        GET    /update-tokens?since=N&limit=N
                                             update tokens of started cards, in the order in which the apps tell of them (1,000 of them);
                                             "next" is the N of the next time
        GET    /summary?prefix=HEX&kind=start|update|any
                                             what all phones show, counted, and the tokens that differ from the most. Limits beyond which
                                             a token differs: distance=MILLIS, inFlight=N (1), highPriority=N and starts=N in an hour,
                                             cards=N (1), bothWays=N; groups=N (32) and limit=N (100) bound the answer
        POST   /summary?...                  the same of the tokens in the body, one a line
        GET    /channels?app=BUNDLE&limit=N  broadcast channels, oldest first (100 of them)
        POST   /channels                     {"app", "message-storage-policy"?: 0 | 1} makes one, as the management port does
        DELETE /channels                     {"id"} deletes one
        POST   /apps/BUNDLE                  {"broadcasts": false} takes the capability away, and all its channels; true gives it back
                                             {"channels-max": N} it may have so many from now on
        GET    /stats                        what was counted
        GET    /violations                   what a well-behaved provider does not do, and was seen
        POST   /tokens/TOKEN                 {"state": "alive" | "dead" | "rotated" | "unknown", "sinceMillis"?}
                                             {"state": "rotated", "to": NEWTOKEN, "keepsOld"?: true}
                                             {"kind": "start" | "update" | "any"} takes nothing else from now on
        GET    /keys                         ids of the provider's keys
        POST   /keys                         {"keyId", "teamId", "pem", "environment"?, "app"?}
        DELETE /keys/ID                      revoke
        GET    /provider-token               a fresh token, signed with the simulator's own key
        GET    /faults                       faults in force: those of requests in "faults", those of the whole server in "server"
        POST   /faults                       one of those below
        DELETE /faults, /faults/ID           take all, or one, away

        Faults of requests; each may have "rate" 0...1, "count", "skip", "token" (first digits), "connection" (number),
        "channel" (first characters of an id), "request": "device" | "broadcast" | "create" | "read" | "delete" | "list":
          {"kind": "answer", "status": 503, "reason": "ServiceUnavailable", "retryAfterSeconds"?, "timestampMillis"?,
           "date"?}                                    the header field `date` as it is given; without it there is none
          {"kind": "answer", "status": 502, "body": "<html>"}
          {"kind": "stall", "applied"?: true}          never answered; applied: the phone gets the push all the same
          {"kind": "reset", "code": "REFUSED_STREAM", "applied"?}
          {"kind": "cut", "applied"?}                  the connection ends without an answer
          {"kind": "goaway", "reason"? | "debug"?, "code"?, "lastStream"? | "below"? | "current"?: true,
           "closes"?: false}                           current: what was sent after this request is not processed
          {"kind": "odd", "status"?: 999, "apnsId"?: false, "body"? | "bodyBytes"?: 5000, "emptyFrames"?: 10,
           "ending"?: "stall" | "reset", "code"?, "applied"?}   an answer APNs never gave yet, or half of one
          {"kind": "twice"}                            carried out twice, answered as the second time: two channels, two pushes
          {"kind": "channel-id", "id": "…"}            as ever, and a creation is answered with this id instead of what was made
          {"kind": "then", "action": …}                as ever, and then an action of "now" on its connection
        Of the whole server:
          {"kind": "latency", "millis": 50, "jitterMillis": 10}
          {"kind": "list-lag", "millis": 30000}        a list of channels is that old
          {"kind": "refuse", "on": true}               new connections are closed at once
          {"kind": "mute", "on": true}                 new connections are accepted and get no TLS handshake
          {"kind": "streams", "max": 1}                SETTINGS_MAX_CONCURRENT_STREAMS from now on
        At once, to all connections or to one ("connection": number):
          {"kind": "now", "action": "goaway" (and its keys) | "cut" | "cut-mid-record" | "reset" (TCP) | "close" | "ping"}
          {"kind": "now", "action": "silence"}         nothing is read or written now, not even PING
          {"kind": "now", "action": "slow-reads", "bytesPerSecond": 100}
          {"kind": "now", "action": "starve"}          no WINDOW_UPDATE from now on
          {"kind": "now", "action": "resume"}          takes the last three back
          {"kind": "now", "action": "frames", "which": "empty" | "unknown" | "window" (to be borne) | "giant" |
           "empty-ping" | "push-promise" | "settings-on-stream" | "data-on-connection" | "window-overflow" |
           "window-zero" | "continuation" | "headers-unasked" | "garbage" (each has to end the connection)}
          {"kind": "now", "action": "settings", "maxConcurrentStreams"?, "initialWindowSize"?, "headerTableSize"?,
           "maxFrameSize"?, "maxHeaderListSize"?}

        """
}
