import Glibc
import Listening
import NIOCore
import Testing

struct ListenFaultTests {
    @Test(arguments: [
        (EADDRINUSE, "another process has it ('ss -ltnp sport = :9464' names it)"),
        (EACCES, "this user may not listen there"),
        (EADDRNOTAVAIL, "this machine has no such address"), (EINVAL, "Invalid argument"),
    ])
    func whatWasSetAndWhatToDoIsSaid(code: Int32, text: String) throws {
        let error = IOError(errnoCode: code, reason: "bind(descriptor:ptr:bytes:)")
        let fault = try #require(ListenFault(error, "admin.port", host: "127.0.0.1", port: 9464))
        #expect(fault.description.hasPrefix("admin.port: 127.0.0.1:9464 cannot be listened on: \(text)"))
        #expect(!fault.description.contains("errno") && !fault.description.contains("bind("))
        let again = ListenFault(fault, "--port", host: "::1", port: 9464)
        #expect(again?.description.hasPrefix("--port: [::1]:9464 cannot be listened on: \(text)") == true)
    }

    /// An address that cannot be resolved is not shown. It may be a password that was given in the wrong place.
    @Test func aNameThatLeadsNowhereIsNotShown() throws {
        let error = SocketAddressError.failedToParseIPString("pa55wQm3Jx9Lt")
        let fault = try #require(ListenFault(error, "admin.host", host: "pa55wQm3Jx9Lt", port: 9464))
        #expect(!"\(fault)".contains("pa55") && "\(fault)".contains("a name of 13 characters"))
        let again = try #require(ListenFault(fault, "--host", host: "pa55wQm3Jx9Lt", port: 1))
        #expect(!"\(again)".contains("pa55"))
    }

    @Test func anotherErrorIsNone() {
        #expect(ListenFault(ChannelError.eof, "--port", host: "127.0.0.1", port: 1) == nil)
    }
}
