import ArgumentParser
import Testing

@testable import mailboat

@Suite struct APNSSimulatorCommandTests {
    private static let credentials = ["--generate-credentials", "apns"]

    @Test(arguments: [
        (["--manage-port", "70000"], "--manage-port <port>': expected 0 to 65535"),
        (["--channel-pushes-per-minute", "1000001"], "expected 0 to 1000000"),
        (["--channels-per-app", "1000001"], "expected 0 to 1000000"), (["--port", "70000"], "0 to 65535"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try APNSSimulatorCommand.parse(Self.credentials + arguments)
        } throws: {
            APNSSimulatorCommand.message(for: $0).contains(expected)
        }
    }

    @Test func thereIsNoPortForChannelsUnlessAskedFor() throws {
        #expect(try APNSSimulatorCommand.parse(Self.credentials).managePort == nil)
        #expect(try APNSSimulatorCommand.parse(Self.credentials + ["--manage-port", "0"]).managePort == 0)
    }
}
