import Glibc

/// A socket that listens on a port of this machine, so that the port is taken.
final class ListeningSocket {
    struct Failure: Error { var code: Int32 }

    let port: Int
    private let descriptor: Int32

    init() throws {
        self.descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr = in_addr(s_addr: in_addr_t(0x7f00_0001).bigEndian)
        var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, byteCount) == 0 && listen(descriptor, 1) == 0
                    && getsockname(descriptor, $0, &byteCount) == 0
            }
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        guard result else { throw Failure(code: errno) }
    }

    /// Closes the socket, so that the port is free again.
    func close() { Glibc.close(self.descriptor) }
}
