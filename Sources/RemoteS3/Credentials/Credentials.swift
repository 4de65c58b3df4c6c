import Foundation

/// A key pair that signs requests. No printed form contains the secret.
struct Credentials: Hashable, Sendable {
    /// Public: it is part of every request, and S3's own messages name it.
    let accessKeyID: String
    let secretAccessKey: String
    /// For temporary credentials.
    let sessionToken: String?
    /// When the store stops accepting them; `nil` for never.
    let expiration: Date?
    /// Their source, for messages: `the environment`.
    let origin: String

    init(
        accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil,
        origin: String
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
        self.origin = origin
    }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var description: String { "key \(accessKeyID) from \(origin)" }
    var debugDescription: String { description }
    /// For `dump` and debuggers: no secrets.
    var customMirror: Mirror { Mirror(self, children: ["key": accessKeyID, "origin": origin]) }
}
