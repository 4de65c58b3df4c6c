import NIOSSL

/// The authorities whose certificates are trusted: the system's, or those of a file that the environment names.
///
///     AWS_CA_BUNDLE, ca_bundle of the profile     as AWS's own tools read it
///     SSL_CERT_FILE                               as OpenSSL reads it
///
/// As there, the file replaces the system's list.
struct CertificateRoots: Sendable {
    /// `nil` for the system's.
    let path: String?
    /// Where the path is from.
    private let origin: String

    init(_ environment: [String: String]) {
        let settings = environment.nonEmpty("AWS_CA_BUNDLE") == nil ? Profile(environment: environment).settings : nil
        let candidates = [
            ("AWS_CA_BUNDLE", environment.nonEmpty("AWS_CA_BUNDLE")), ("ca_bundle", settings?.nonEmpty("ca_bundle")),
            ("SSL_CERT_FILE", environment.nonEmpty("SSL_CERT_FILE")),
        ]
        let found = candidates.first { $0.1 != nil }
        path = found?.1
        origin = found?.0 ?? ""
    }

    /// Reads the file. Blocks for a moment.
    ///
    /// - Throws: ``TransportFault`` with what to do when the file cannot be read: nothing else is trusted in its place.
    func configuration() throws(TransportFault) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        guard let path else { return configuration }
        let certificates = (try? NIOSSLCertificate.fromPEMFile(path)) ?? []
        guard !certificates.isEmpty else {
            throw TransportFault(
                "\(origin) is \(path), which is not a readable file of certificates in PEM format", isTransient: false)
        }
        configuration.trustRoots = .certificates(certificates)
        return configuration
    }
}
