import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix

/// Why there was no response: the network, the connection or a time limit.
struct TransportFault: Error, Sendable {
    /// For people; without an object's name and without a secret.
    let sentence: String
    /// Whether a retry may succeed in a moment.
    let isTransient: Bool
    /// Whether a transfer may be continued where it broke. One that was too slow would be as slow again, and never end.
    let isResumable: Bool

    init(_ sentence: String, isTransient: Bool = true, isResumable: Bool = true) {
        self.sentence = sentence
        self.isTransient = isTransient
        self.isResumable = isResumable
    }

    init(_ error: any Error) {
        switch error {
        case let fault as TransportFault: self = fault
        case let error as HTTPClientError: self.init(Self.sentence(error))
        case let error as NIOConnectionError: self.init(Self.sentence(error))
        case let error as IOError: self.init("the connection failed: \(String(cString: strerror(error.errnoCode)))")
        default:
            // The TLS library's errors have no public type here.
            if String(reflecting: type(of: error)).hasPrefix("NIOSSL.") {
                self.init(tls: String(describing: error))
            } else {
                self.init("the connection failed: \(error)")
            }
        }
    }

    /// - Parameter text: The library's, which is for programmers: nothing of it is shown.
    init(tls text: String) {
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            self.init(
                "the server's certificate is not trusted: it has expired, or this machine does not know who signed it; check "
                    + "this machine's clock, or add the authority's certificate with update-ca-certificates",
                isTransient: false)
        } else if text.contains("ValidateHostname") || text.contains("in certificate from peer") {
            self.init(
                "the server's certificate is for another host name; use the name in it with --endpoint",
                isTransient: false)
        } else if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST") {
            self.init(
                "the server does not use TLS at this address; check the port, or write http:// with --endpoint",
                isTransient: false)
        } else {
            self.init("the TLS connection failed; check --endpoint, and whether a proxy or firewall is between")
        }
    }

    private static func sentence(_ error: HTTPClientError) -> String {
        switch error {
        case .connectTimeout, .getConnectionFromPoolTimeout: "no connection in time"
        case .tlsHandshakeTimeout: "the TLS handshake timed out"
        case .readTimeout, .deadlineExceeded: "no answer in time"
        case .writeTimeout: "the upload stalled"
        case .remoteConnectionClosed: "the connection was closed before the response arrived"
        default: "\(error)"
        }
    }

    private static func sentence(_ error: NIOConnectionError) -> String {
        if let connection = error.connectionErrors.first?.error as? IOError {
            return "cannot connect to \(error.host): \(String(cString: strerror(connection.errnoCode)))"
        }
        if error.dnsAError != nil || error.dnsAAAAError != nil {
            return "the name \(error.host) cannot be resolved; is the network up, and is the name correct?"
        }
        return "cannot connect to \(error.host)"
    }
}
