import APNSProtocol
import PushTransport

/// One push as Apple's curl example sends it.
struct DevicePush {
    /// The token, which goes into the path unchanged.
    var token: String
    var topic: String
    var pushType: String
    var priority: Int
    /// Expiration, seconds since 1970; `nil`: APNs' own default.
    var expirationSeconds: Int64?
    /// A UUID; `nil`: APNs generates one.
    var apnsID: String?
    var payload: [UInt8]

    /// Builds the request.
    /// - Parameter keptField: name of the header field that is kept from the answer.
    func request(_ token: SignedToken, keptField: String) -> APNSProbe.Request {
        func text(_ name: StaticString, _ value: String) -> (name: String, value: [UInt8]) {
            ("\(name)", Array(value.utf8))
        }
        var fields = [
            (name: "\(DeviceRequest.authorizationName)", value: token.authorization),
            text(DeviceRequest.topicName, self.topic), text(DeviceRequest.pushTypeName, self.pushType),
            text(DeviceRequest.priorityName, "\(self.priority)"),
        ]
        if let expirationSeconds { fields.append(text(DeviceRequest.expirationName, "\(expirationSeconds)")) }
        if let apnsID { fields.append(text(DeviceRequest.idName, apnsID)) }
        return APNSProbe.Request(
            method: "\(DeviceRequest.method)", path: "\(DeviceRequest.pathPrefix)\(self.token)", fields: fields,
            body: self.payload, keptField: keptField)
    }

    /// A push that reaches nobody, because its token is invalid. It only shows whether APNs accepts key and topic.
    static func probe(bundleID: String, nowSeconds: Int64) -> DevicePush {
        DevicePush(
            token: "mailboat-doctor",
            topic: String(decoding: DeviceRequest.topicValue(bundleID: bundleID), as: UTF8.self),
            pushType: "\(DeviceRequest.pushTypeValue)", priority: 5, expirationSeconds: 0,
            payload: Array(
                "{\"aps\":{\"timestamp\":\(nowSeconds),\"event\":\"update\",\"content-state\":{}}}".utf8))
    }
}
