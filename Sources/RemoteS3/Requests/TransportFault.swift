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

    init(_ sentence: String, isTransient: Bool = true) {
        self.sentence = sentence
        self.isTransient = isTransient
    }

    init(_ error: any Error) {
        switch error {
        case let fault as TransportFault: self = fault
        case let error as HTTPClientError: self.init(Self.sentence(error))
        case let error as NIOConnectionError: self.init(Self.sentence(error))
        case let error as IOError: self.init("the connection failed: \(String(cString: strerror(error.errnoCode)))")
        default:
            let text = String(describing: error)
            // The TLS library's errors have no public type here; their text is for people only.
            if String(reflecting: type(of: error)).hasPrefix("NIOSSL.") {
                self.init("the TLS connection failed: \(text)", isTransient: !text.contains("CERTIFICATE"))
            } else {
                self.init("the connection failed: \(text)")
            }
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
