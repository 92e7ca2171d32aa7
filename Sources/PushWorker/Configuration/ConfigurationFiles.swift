import Glibc
import KafkaLog
import LocalFiles
import Logging
import PushTransport
import Redaction
import TLSSession

/// Checks the files that a configuration names, before anything is started.
extension WorkerConfiguration {
    /// Properties of librdkafka that name a file.
    private static let kafkaFileProperties = [
        "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location", "ssl.crl.location",
    ]

    /// Faults that would keep the worker from starting, as far as they are found without connecting. These are faults
    /// of files. If Kafka's files have no fault, properties that librdkafka refuses are included.
    public func startFaults() -> [ConfigurationFault] {
        let faults = self.fileFaults()
        // A missing file is reported once: librdkafka's own message about it would say nothing more.
        let all = faults.contains { $0.setting.hasPrefix("kafka.") } ? faults : faults + self.clientFaults()
        return all.map { fault in
            var fault = fault
            fault.location = fault.location ?? self.locations[fault.setting]
            return fault
        }.inOrderOfLines.sayingFromWhereOnce
    }

    /// A fault for each file that is missing, cannot be read or has wrong content, once for each setting that names it.
    /// Reads the files and connects to nothing. librdkafka checks the content of Kafka's files: see `clientFaults`.
    func fileFaults() -> [ConfigurationFault] {
        let faults =
            self.apps.flatMap { Self.appFileFaults($0) }.eachOnce + self.kafkaFileFaults() + self.oauthFileFaults()
            + self.adminFileFaults()
        return faults.map(Self.sayingFromWhere)
    }

    /// A fault about a missing file, with the directory from which a relative path is read. Many people expect that to
    /// be the directory of the settings file.
    private static func sayingFromWhere(_ fault: ConfigurationFault) -> ConfigurationFault {
        // The fault's text begins with the path, or with words such as "the provider key" and then the path. A path
        // that is not shown is called "the file", and may be absolute.
        let isRelative = !fault.text.hasPrefix("/") && !fault.text.contains(" /") && !fault.text.hasPrefix("the file ")
        guard isRelative, fault.text.hasSuffix(String(cString: strerror(ENOENT))) else { return fault }
        var fault = fault
        fault.text += [ConfigurationFault].fromWhere
        return fault
    }

    private func adminFileFaults() -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        for (setting, path) in [
            ("admin.channels-token-file", self.admin.channelsTokenFile), ("admin.token-file", self.admin.tokenFile),
        ] {
            guard let path else { continue }
            do throws(BearerToken.Fault) { _ = try BearerToken.read(path: path) } catch {
                faults.append(ConfigurationFault(setting: setting, text: error.description))
            }
        }
        if let path = self.proxy.credentialsFile {
            do throws(ProxyCredentials.Fault) { _ = try ProxyCredentials.read(path: path) } catch {
                faults.append(ConfigurationFault(setting: "apns.proxy-credentials-file", text: error.description))
            }
        }
        if let path = self.tracing.headersFile {
            do throws(OTLPHeaders.Fault) { _ = try OTLPHeaders.read(path: path) } catch {
                faults.append(ConfigurationFault(setting: "tracing.headers-file", text: error.description))
            }
        }
        if let path = self.tracing.caFile {
            do throws(TLSError) { _ = try TLSContext.client(roots: .file(path: path)) } catch {
                faults.append(ConfigurationFault(setting: "tracing.ca-file", text: "\(error)"))
            }
        }
        if let tls = self.admin.tls {
            do throws(AdminTLS.Fault) { _ = try AdminTLS(tls, logger: Logger(label: "mailboat")) } catch {
                faults.append(ConfigurationFault(setting: error.setting, text: error.text))
            }
        }
        return faults
    }

    static func appFileFaults(_ app: AppSettings) -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        func complain(_ setting: String, _ text: String) { faults.append(app.fault(setting, text)) }
        // Reads the keys as a worker does when it starts, but only once, because both environments use the same files.
        do throws(TransportError) {
            _ = try ProviderTokenStore(keys: [app.providerKey()], logger: Logger(label: "mailboat"))
        } catch { complain(app.providerKey().setting, "\(error)") }
        for environment in app.environments {
            guard let path = app.endpoint(environment).caFile else { continue }
            do throws(FileFailure) {
                let pem = try InputFile.read(path)
                if (try? TLSContext.client(roots: .pem(pem))) == nil {
                    complain(
                        "apns.\(environment.rawValue).ca-file",
                        "\(ShownText.path(path) ?? "the file"): expected certificates in PEM, found \(PEMContent.found(in: pem))"
                    )
                }
            } catch { complain("apns.\(environment.rawValue).ca-file", "\(error)") }
        }
        return faults
    }

    private func kafkaFileFaults() -> [ConfigurationFault] {
        let settings = [self.kafka.consumerSettings, self.kafka.producerSettings]
        var faults: [ConfigurationFault] = []
        for name in Self.kafkaFileProperties {
            // For authorities, librdkafka also accepts a directory, or `probe`, which makes it look for the system's
            // authorities.
            let paths = Set(settings.compactMap { $0[name] }).filter { !$0.isEmpty && $0 != "probe" }
            for path in paths.sorted() {
                guard let failure = InputFile.failure(path, directoryIsFine: name == "ssl.ca.location") else {
                    continue
                }
                // The path of a key is never shown.
                let isHidden = KafkaSettings.isSecret(name) && ShownText.path(path) != nil
                let shown = isHidden ? "the file \(failure.complaint)" : "\(failure)"
                faults.append(ConfigurationFault(setting: "kafka.properties.\(name)", text: shown))
            }
        }
        return faults
    }
}

extension [ConfigurationFault] {
    /// The end of a fault about a file that is not found under a relative path.
    fileprivate static let fromWhere = ". The path is relative to the directory in which this process was started"

    /// The faults. Only the last one says from where a relative path is read.
    fileprivate var sayingFromWhereOnce: [ConfigurationFault] {
        let last = self.lastIndex { $0.text.hasSuffix(Self.fromWhere) }
        return self.enumerated().map { index, fault in
            guard index != last, fault.text.hasSuffix(Self.fromWhere) else { return fault }
            var fault = fault
            fault.text.removeLast(Self.fromWhere.count)
            return fault
        }
    }
}
