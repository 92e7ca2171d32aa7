import APNSProtocol
import Testing

@Suite struct ChannelRequestTests {
    @Test(
        arguments: [
            (.none, "{\"message-storage-policy\":0,\"push-type\":\"LiveActivity\"}"),
            (.mostRecent, "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}"),
        ] as [(MessageStoragePolicy, String)])
    func aCreationNamesThePolicy(policy: MessageStoragePolicy, body: String) {
        #expect(String(decoding: ChannelRequest.creationBody(policy), as: UTF8.self) == body)
        #expect(MessageStoragePolicy(name: policy.name) == policy)
    }

    @Test func theListOfAllChannelsFitsWithRoom() {
        // APNs' ids have 24 characters today.
        #expect(ChannelRequest.listByteCountMax >= 8 * ChannelRequest.countMax * 32)
    }

    @Test(
        arguments: [
            ("{\"message-storage-policy\":0,\"push-type\":\"LiveActivity\"}", MessageStoragePolicy.none),
            ("{\"push-type\":\"LiveActivity\", \"message-storage-policy\" : 1, \"more\": [1]}", .mostRecent),
            ("{\"message-storage-policy\":2}", nil), ("{\"message-storage-policy\":1.5}", nil),
            ("{\"message-storage-policy\":\"1\"}", nil), ("{}", nil), ("", nil), ("[]", nil),
            ("{\"message-storage-policy\":1", nil),
        ] as [(String, MessageStoragePolicy?)])
    func theAnswerAboutAChannelIsRead(body: String, policy: MessageStoragePolicy?) {
        let read = try? ChannelBody.storagePolicy(Array(body.utf8).span)
        #expect(read == policy)
    }

    @Test(
        arguments: [
            ("{\"channels\":[\"YQ==\",\"b/+=\"]}", ["YQ==", "b/+="]), ("{\"channels\":[]}", []), ("", []),
            ("{\"more\":{\"channels\":[1]},\"channels\":[\"a\\/b\"]}", ["a/b"]),
            ("{\"channels\":[\"YQ==\",1]}", nil), ("{\"channels\":\"YQ==\"}", nil), ("{}", nil),
            ("{\"channels\":[\"YQ==\"", nil), ("{\"channels\":[]} x", nil),
        ] as [(String, [String]?)])
    func theListIsRead(body: String, channelIDs: [String]?) {
        let read = (try? ChannelBody.channelIDs(Array(body.utf8).span))?.map { String(decoding: $0, as: UTF8.self) }
        #expect(read == channelIDs)
    }

    @Test func aFaultSaysWhere() {
        #expect(throws: ChannelBody.Fault.self) { try ChannelBody.channelIDs(Array("{\"channels\":[".utf8).span) }
        do {
            _ = try ChannelBody.channelIDs(Array("<html>".utf8).span)
        } catch {
            #expect("\(error)" == "it is no JSON object: at byte 0 an object, {…}, was expected")
        }
    }
}
