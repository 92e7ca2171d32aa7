import APNSProtocol
import PushEngine
import PushModel
import ShardLoop
import Testing

/// Tests of two apps that share a shard. APNs throttles the pushes of one app. The other app's events are in a log of
/// their own (contract: Overload).
struct AppShareTests {
    /// Results for the updates of the app that APNs does not throttle.
    private struct Measured {
        /// Milliseconds between writing and leaving, in ascending order. An update that has not left counts until the
        /// end of the run.
        var waits: [Int64] = []
        var leftBehind = 0
        /// Maximum number of pending slots of both apps together.
        var pendingMax = 0
        var p50: Int64 { self.waits.isEmpty ? .max : self.waits[self.waits.count / 2] }
    }

    /// Plays fifty seconds. Many activities of the first app are updated. In a storm, APNs answers its pushes with 429.
    private static func play(share: Double, isStorm: Bool) -> Measured {
        var h = LoopHarness {
            $0.settings.pendingMax = 200
            $0.apps[0].pendingShare = share
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            other.lowPriorityWindowMillis = 0
            $0.apps.append(other)
        }
        h.carryOut(.assign([LoopHarness.grant(0), LoopHarness.grant(1)]))
        h.settle()
        let (log, push) = (h.log, h.push)
        func write(_ event: String, app: String, key: String, more: String, partition: Int32) {
            log.events[partition, default: []].append(
                (key, #"{"event":"\#(event)","app":"com.example.\#(app)",\#(more)}"#))
        }
        for number in 0..<100 {
            write("register", app: "other", key: "b\(number)", more: "\"token\":\"bbb\(100 + number)\"", partition: 1)
        }
        for number in 0..<400 {
            write("register", app: "pizza", key: "a\(number)", more: "\"token\":\"aa\(1_000 + number)\"", partition: 0)
        }
        for _ in 0..<40 {
            h.settle()
            h.wait(millis: 25)
        }
        var (measured, written, seen) = (Measured(), [String: Int64](), push.requests.count)
        for tick in 0..<2_500 {
            if tick < 1_500 {
                write(
                    "update", app: "pizza", key: "a\(tick % 400)", more: "\"priority\":5,\"content-state\":{\"n\":0}",
                    partition: 0)
            }
            if tick % 10 == 0 {
                let number = tick / 10
                written["\"m\":\(number)}"] = h.now.steadyMillis
                write(
                    "update", app: "other", key: "b\(number % 100)",
                    more: "\"priority\":5,\"content-state\":{\"m\":\(number)}",
                    partition: 1)
            }
            h.turn()
            h.answer { request in
                request.app == 0 && isStorm
                    ? .response(PushResponse(status: 429, reason: "TooManyRequests")) : .accepted
            }
            for request in push.requests[seen...] where request.app == 1 {
                let body = String(decoding: request.body, as: UTF8.self)
                for (text, millis) in written where body.contains(text) {
                    measured.waits.append(h.now.steadyMillis - millis)
                    written[text] = nil
                }
            }
            seen = push.requests.count
            measured.pendingMax = max(measured.pendingMax, h.loop.engine.counters.slotsPending)
            h.settle()
            h.wait(millis: 20)
        }
        measured.leftBehind = written.count
        measured.waits += written.values.map { h.now.steadyMillis - $0 }
        measured.waits.sort()
        return measured
    }

    /// With a share of the room, the other app does not notice the storm. Without one, the storm takes all the room and
    /// the other app waits.
    @Test func aStormOfOneAppLeavesTheOtherAlone() {
        let calm = Self.play(share: 0.5, isStorm: false)
        let storm = Self.play(share: 0.5, isStorm: true)
        let unshared = Self.play(share: 1, isStorm: true)
        #expect(calm.leftBehind == 0 && storm.leftBehind == 0)
        #expect(storm.p50 <= max(20, 2 * calm.p50))
        // Both apps together stay within the limit of 200, even when the throttled app exceeds its share a little.
        #expect(storm.pendingMax <= 200 && unshared.pendingMax <= 200)
        #expect(unshared.p50 > 1_000, "the storm does not bite: there is nothing to be seen")
    }
}
