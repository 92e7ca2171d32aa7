/// Faults as the control API takes them, for callers in the same process.
extension APNSSimulator {
    /// Why a request does not describe a fault.
    public struct FaultRefusal: Error, Equatable, Sendable {
        /// Names the field and what was expected.
        public var text: String
    }

    /// The result of a requested fault.
    public enum FaultAnswer: Equatable, Sendable {
        /// The fault is in the list, with this id.
        case added(FaultID)
        /// The action was done to this number of connections.
        case done(connections: Int)
        /// The setting holds until it is cleared.
        case set
    }

    /// Faults outside the list.
    public struct Trouble: Equatable, Sendable {
        /// How long answers wait.
        public var latency: Latency
        /// Whether new connections are closed at once.
        public var refusesConnections: Bool
        /// Whether new connections are accepted and not served.
        public var isMute: Bool
        /// Age of channel lists, milliseconds.
        public var listLagMillis: Int64 = 0
        /// SETTINGS_MAX_CONCURRENT_STREAMS, if it differs from the configuration; otherwise `nil`.
        public var streamsMax: UInt32?
    }

    /// Carries out a JSON document like that of `POST /faults` of the control API. Returns when it is done.
    public func takeFault(_ document: [UInt8]) async throws(FaultRefusal) -> FaultAnswer {
        let asked: FaultDocument
        do {
            asked = try FaultDocument.read(document)
        } catch {
            throw FaultRefusal(text: error.text)
        }
        switch asked {
        case .fault(let fault): return .added(self.add(fault))
        case .latency(let latency): self.setLatency(latency)
        case .listLag(let millis): self.setListLag(millis: millis)
        case .refuse(let on): self.setRefusesConnections(on)
        case .mute(let on): self.setMute(on)
        case .streams(let streams): self.setConcurrentStreamsMax(streams)
        case .action(let action, let connection):
            return .done(connections: await self.performAndWait(action, connection: connection))
        }
        return .set
    }

    /// The faults outside the list.
    public var trouble: Trouble {
        let configured = self.configuredStreamsMax
        return self.shared.withState {
            Trouble(
                latency: $0.latency, refusesConnections: $0.refusesConnections, isMute: $0.isMute,
                listLagMillis: $0.listLagMillis,
                streamsMax: $0.concurrentStreamsMax == configured ? nil : $0.concurrentStreamsMax)
        }
    }
}
