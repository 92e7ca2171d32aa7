import Glibc
import PushWorker

/// A blocking TCP connection to this machine, for one short exchange.
struct LoopbackSocket: ~Copyable {
    private let descriptor: Int32

    init(port: Int) throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard self.descriptor >= 0 else { throw WorkerError("no socket") }
        // A peer that never answers or never reads is given up after 60 s, so that the next tests can run. The value is
        // a `timeval`: seconds and microseconds.
        let limit: [Int] = [60, 0]
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(self.descriptor, SOL_SOCKET, option, limit, socklen_t(2 * MemoryLayout<Int>.stride))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7f00_0001).bigEndian)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw WorkerError("nobody listens on port \(port)") }
    }

    deinit { close(self.descriptor) }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard Glibc.send(self.descriptor, bytes, bytes.count, 0) == bytes.count else { throw WorkerError("not sent") }
    }

    func send(bytes: [UInt8]) throws {
        guard Glibc.send(self.descriptor, bytes, bytes.count, 0) == bytes.count else { throw WorkerError("not sent") }
    }

    /// The next bytes. Empty means that the other side has closed.
    func receive() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(self.descriptor, &buffer, buffer.count, 0)
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Receives until the other side closes, and returns the whole text.
    func receiveAll() throws -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(self.descriptor, &buffer, buffer.count, 0)
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer[..<count]
        }
    }
}
