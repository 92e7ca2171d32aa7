public import Logging
public import NIOCore

/// The provider tokens of all keys, one current token each, signed off the hot path and shared by every shard of the process.
///
/// May be used from any thread. Shards take a new token when the store tells them, between two pushes.
public final class ProviderTokenStore: Sendable {
    /// How many keys there are; `RouteConfiguration.providerKey` is an index below it.
    public let keyCount: Int

    /// Reads each key's file and signs its first token. Throws when a file cannot be read, is not a P-256 key, or an id is not 10 characters.
    public init(keys: [ProviderKey], logger: Logger) throws(TransportError) {
        self.keyCount = keys.count
    }

    /// Begins to renew tokens and to watch the key files, once a second on `eventLoop`; files are read and tokens signed on the thread pool.
    public func start(on eventLoop: any EventLoop) {}

    /// Stops renewing. The current tokens stay readable.
    public func stop() {}
}
