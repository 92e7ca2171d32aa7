import APNSPool
import PushTransport

/// A complaint of readiness about a route. There is at most one for a route, even if several shards have it. Pure.
struct RouteComplaint: Equatable {
    var text: String
    /// Whether the complaint makes the worker unready. It does if another worker in its place might do better, or if
    /// this one may be set up wrong. Otherwise the complaint is only shown.
    var isError: Bool
    /// Whether the complaint is about a key of some apps. It does not make the worker unready while another app's
    /// pushes can leave.
    var isOfApps = false

    /// One complaint for each route of pushes in trouble, in the order of routes. Routes for requests about channels
    /// are left out. A person who makes such a request sees its failure. A broadcast waits only seconds for the answer
    /// to such a request.
    static func about(_ routes: [WorkerSnapshot.Route]) -> [RouteComplaint] {
        let routes = routes.filter(\.status.carriesPushes)
        var names: [String] = []
        for route in routes where !names.contains(route.name) { names.append(route.name) }
        return names.compactMap { name in
            let statuses = routes.filter { $0.name == name }.map(\.status)
            // Shards may see different symptoms of one fault. The trouble that `allCases` lists last says most.
            let worst = RouteTrouble.allCases.reversed().lazy.compactMap { trouble in
                statuses.first { $0.trouble == trouble }
            }.first
            guard let worst, let trouble = worst.trouble else { return nil }
            return RouteComplaint(
                text: "route \(name): \(Self.text(trouble, worst))",
                isError: Self.isError(trouble, wasReached: statuses.contains(where: \.wasReached)),
                isOfApps: trouble == .credentialsRefused)
        }
    }

    private static func isError(_ trouble: RouteTrouble, wasReached: Bool) -> Bool {
        switch trouble {
        // The cause may be the worker's own CA bundle, proxy, keys or clock.
        case .notAPNs, .credentialsRefused, .providerTokenExpired: true
        // A worker that never reached the host may have a wrong host name or a closed network. After it has reached the
        // host once, the outage probably affects other workers, too.
        case .unreachable, .silentNetwork, .silentServer, .noStreams: !wasReached
        case .noAnswers, .serverBusy, .providerTokenTooManyUpdates: false
        }
    }

    private static func text(_ trouble: RouteTrouble, _ status: RouteStatus) -> String {
        // A connection failure that the proxy caused contains the proxy's name already.
        let proxy = status.proxy.flatMap { status.connectFailure.contains($0) ? nil : $0 }
        let peer = "\(status.host):\(status.port)" + (proxy.map { " through the proxy \($0)" } ?? "")
        let seconds = RouteHealth.slowMillis / 1_000
        let reason = status.reason.isEmpty ? "" : " (\(status.reason))"
        return switch trouble {
        case .unreachable: "\(peer) cannot be reached: \(status.connectFailure)"
        case .notAPNs: "what answers at \(peer) is not accepted as APNs: \(status.connectFailure)"
        case .silentNetwork:
            "\(peer) does not answer: no \(status.proxy == nil ? "TCP connection" : "tunnel") for \(seconds) s"
        case .silentServer:
            "\(peer) accepts connections and sends nothing: no TLS handshake and SETTINGS for \(seconds) s"
        case .noStreams: "APNs allows no requests: SETTINGS_MAX_CONCURRENT_STREAMS is 0"
        case .noAnswers: "APNs takes requests and answers none"
        case .serverBusy: "APNs answers with server errors\(reason); only probes are sent"
        case .credentialsRefused: "APNs refuses the credentials\(reason); only probes are sent"
        case .providerTokenExpired: "APNs calls the provider token expired\(reason): check this machine's clock"
        case .providerTokenTooManyUpdates:
            "APNs calls the provider token renewed too often\(reason): is the key used elsewhere, too?"
        }
    }
}
