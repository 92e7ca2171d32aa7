import COpenSSL
public import Redaction

/// The certificate authorities that a client trusts.
public enum TLSTrustRoots: Equatable, Sendable {
    /// The authorities of the operating system, where OpenSSL looks for them. `SSL_CERT_FILE` and `SSL_CERT_DIR` can
    /// name other places.
    case system
    /// The path of a file with certificates in PEM.
    case file(path: String)
    /// One or several certificates in PEM.
    case pem([UInt8])
}

/// The settings that TLS sessions share: trust roots or certificate, protocol versions, ALPN. Only TLS 1.2 or later is
/// used. A client always verifies its server.
///
/// A context never changes, and may be used from any thread.
///
/// `@unchecked`: the SSL_CTX is configured before `client` or `server` returns, and only read afterwards. OpenSSL
/// allows several threads to read it.
public final class TLSContext: @unchecked Sendable {
    let handle: OpaquePointer
    let isServer: Bool
    /// Application protocols for ALPN, the preferred one first. The peer must agree to one of them.
    let applicationProtocols: [String]
    /// The protocols in ALPN's form: each name after its length. The server's callback reads the list, so the list is
    /// freed together with the context.
    private let protocolList: UnsafeMutableBufferPointer<UInt8>

    private init(isServer: Bool, applicationProtocols: [String]) throws(TLSError) {
        let list = applicationProtocols.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        guard applicationProtocols.allSatisfy({ (1...255).contains($0.utf8.count) }) else {
            throw TLSError(kind: .library, detail: "an application protocol's name must have 1 to 255 bytes")
        }
        OpenSSLError.clear()
        guard let handle = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw OpenSSLError.make(.library, "no TLS context can be made")
        }
        self.handle = handle
        self.isServer = isServer
        self.applicationProtocols = applicationProtocols
        self.protocolList = .allocate(capacity: list.count)
        _ = self.protocolList.initialize(from: list)

        // AES-128 comes first: it is safe enough here, and cheaper than OpenSSL's first choice. h2load uses the same
        // order.
        let cipherSuites = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
        guard mailboat_SSL_CTX_set_min_proto_version(handle, TLS1_2_VERSION) == 1,
            SSL_CTX_set_ciphersuites(handle, cipherSuites) == 1
        else {
            throw OpenSSLError.make(.library, "TLS 1.2 or later cannot be set")
        }
        mailboat_SSL_CTX_no_renegotiation_no_compression(handle)
        // Sessions are not resumed: connections last for hours, and each may go to another address.
        mailboat_SSL_CTX_set_session_cache_mode(handle, Int(SSL_SESS_CACHE_OFF))
        // OpenSSL reads all available bytes at once, not a record's header first and then its body.
        mailboat_SSL_CTX_set_read_ahead(handle, 1)
    }

    deinit {
        SSL_CTX_free(self.handle)
        self.protocolList.deallocate()
    }

    /// Makes a context for clients. Their sessions verify the server's certificate chain and host name. A session fails
    /// if the server agrees to none of the application protocols. Throws `.badTrustRoots` if the roots cannot be read.
    public static func client(roots: TLSTrustRoots = .system, applicationProtocols: [String] = ["h2"]) throws(TLSError)
        -> TLSContext
    {
        let context = try TLSContext(isServer: false, applicationProtocols: applicationProtocols)
        SSL_CTX_set_verify(context.handle, SSL_VERIFY_PEER, nil)
        try context.load(roots)
        // This function returns 0 for success, unlike OpenSSL's others.
        guard
            context.protocolList.isEmpty
                || SSL_CTX_set_alpn_protos(
                    context.handle, context.protocolList.baseAddress, UInt32(context.protocolList.count)) == 0
        else { throw OpenSSLError.make(.library, "ALPN cannot be set") }
        return context
    }

    private func load(_ roots: TLSTrustRoots) throws(TLSError) {
        OpenSSLError.clear()
        switch roots {
        case .system:
            guard SSL_CTX_set_default_verify_paths(self.handle) == 1 else {
                throw OpenSSLError.make(.badTrustRoots, "the system's certificate authorities cannot be read")
            }
        case .file(let path):
            guard SSL_CTX_load_verify_file(self.handle, path) == 1 else {
                throw OpenSSLError.make(
                    .badTrustRoots,
                    ShownText.path(path).map {
                        "no certificate authority can be read from \($0) (expected: a PEM file)"
                    }
                        ?? "no certificate authority can be read: \(ShownText.notPath(path))")
            }
        case .pem(let pem):
            let certificates = PEM.readCertificates(pem)
            defer { for certificate in certificates { X509_free(certificate) } }
            guard !certificates.isEmpty else {
                throw TLSError(
                    kind: .badTrustRoots,
                    detail: "the certificate authorities: "
                        + PEMContent.complaint(expected: "certificates in PEM", noun: "certificate", pem))
            }
            for certificate in certificates {
                guard X509_STORE_add_cert(SSL_CTX_get_cert_store(self.handle), certificate) == 1 else {
                    throw OpenSSLError.make(.badTrustRoots, "a certificate authority cannot be taken")
                }
            }
        }
    }

    /// Makes a context for servers. `certificateChainPEM` has the server's certificate first, then intermediate ones.
    /// The handshake fails if there is no common application protocol. With an empty list, the server does not answer
    /// ALPN. Throws `.badKeyMaterial` if certificate or key cannot be used.
    public static func server(
        certificateChainPEM: [UInt8], privateKeyPEM: [UInt8], applicationProtocols: [String] = ["h2"]
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isServer: true, applicationProtocols: applicationProtocols)
        let certificates = PEM.readCertificates(certificateChainPEM)
        defer { for certificate in certificates { X509_free(certificate) } }
        guard let leaf = certificates.first else {
            throw TLSError(
                kind: .badKeyMaterial,
                detail: "the certificate: "
                    + PEMContent.complaint(
                        expected: "certificates in PEM, the server’s first", noun: "certificate", certificateChainPEM))
        }
        guard SSL_CTX_use_certificate(context.handle, leaf) == 1 else {
            throw OpenSSLError.make(.badKeyMaterial, "the server certificate cannot be taken")
        }
        for certificate in certificates.dropFirst() {
            guard mailboat_SSL_CTX_add1_chain_cert(context.handle, certificate) == 1 else {
                throw OpenSSLError.make(.badKeyMaterial, "a certificate of the chain cannot be taken")
            }
        }
        guard let key = PEM.readPrivateKey(privateKeyPEM) else {
            OpenSSLError.clear()
            throw TLSError(
                kind: .badKeyMaterial,
                detail: "the key: "
                    + PEMContent.complaint(
                        expected: "an unencrypted private key in PEM (-----BEGIN PRIVATE KEY-----)",
                        noun: "private key", privateKeyPEM))
        }
        defer { EVP_PKEY_free(key) }
        guard SSL_CTX_use_PrivateKey(context.handle, key) == 1, SSL_CTX_check_private_key(context.handle) == 1 else {
            throw OpenSSLError.make(.badKeyMaterial, "the private key does not belong to the server certificate")
        }
        guard !context.protocolList.isEmpty else { return context }
        // The pointer to the context is unretained. Each session holds the context, so it exists long enough.
        SSL_CTX_set_alpn_select_cb(
            context.handle,
            { _, selected, selectedCount, offered, offeredCount, context in
                let ours = Unmanaged<TLSContext>.fromOpaque(context!).takeUnretainedValue().protocolList
                var choice: UnsafeMutablePointer<UInt8>?
                guard
                    SSL_select_next_proto(
                        &choice, selectedCount, ours.baseAddress, UInt32(ours.count), offered, offeredCount)
                        == OPENSSL_NPN_NEGOTIATED
                else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                selected!.pointee = UnsafePointer(choice)
                return SSL_TLSEXT_ERR_OK
            }, Unmanaged.passUnretained(context).toOpaque())
        return context
    }
}

extension TLSTrustRoots: Redacted {}
