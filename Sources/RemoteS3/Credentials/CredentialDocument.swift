import Foundation

/// Credentials as a document in JSON: what servers send, and what a `credential_process` prints.
///
///     {"AccessKeyId": …, "SecretAccessKey": …, "Expiration": ISO 8601}
///     servers     "Token", and "Code": "Success"
///     commands    "SessionToken", and "Version": 1
struct CredentialDocument: Decodable {
    var version: Int?
    var code: String?
    private var accessKeyId: String?
    private var secretAccessKey: String?
    private var token: String?
    private var sessionToken: String?
    private var expiration: String?

    private enum CodingKeys: String, CodingKey {
        case version = "Version"
        case code = "Code"
        case accessKeyId = "AccessKeyId"
        case secretAccessKey = "SecretAccessKey"
        case token = "Token"
        case sessionToken = "SessionToken"
        case expiration = "Expiration"
    }

    enum Fault: Error { case noCredentials, invalidExpiration }

    /// - Parameter origin: Their source, for messages.
    /// - Throws: ``Fault``, without the document, which may contain a secret.
    func credentials(origin: String) throws(Fault) -> Credentials {
        guard let id = accessKeyId, let secret = secretAccessKey, !id.isEmpty, !secret.isEmpty else {
            throw .noCredentials
        }
        let end = expiration.map(Self.date)
        if let end, end == nil { throw .invalidExpiration }
        return Credentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: token ?? sessionToken, expiration: end ?? nil,
            origin: origin)
    }

    /// ISO 8601, with or without fractions of a second.
    static func date(_ text: String) -> Date? {
        if let date = try? Date(text, strategy: .iso8601) { return date }
        return try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
