package import Model

/// Why a store call failed: a code, the key that it was about, and text for people.
package struct StoreError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// There is no such object.
        case notFound
        /// The key is taken, so nothing was created.
        case preconditionFailed
        /// The store asks to slow down.
        case throttled
        /// The store does not answer, or not usefully; the same call may succeed later.
        case unavailable
        /// The store refuses, until a permission is changed.
        case denied
        /// The bytes are not as expected.
        case corrupt
        /// There is no space left.
        case full
        /// The request is not valid for this store, or the object not for this version.
        case invalid
        /// The task was cancelled.
        case cancelled
    }

    package let code: Code
    /// The object's key; the URL or prefix if there is no key.
    package let key: String
    /// What happened, for people; never compared.
    package let detail: String
    /// What the user can do about it, where the code does not tell; never compared.
    package let remedy: Remedy?
    /// How long no request will be made, where a store has asked to slow down; never compared.
    package let retryAfter: Duration?

    package enum Remedy: String, Sendable {
        /// The place of the container, such as its bucket, does not exist.
        case createPlace
        /// The connection is not possible as it is set up, such as with a certificate that is not trusted: to try again
        /// changes nothing.
        case mendConnection
        /// The description of a container is missing where its other objects are.
        case putBackDescription
        /// The log cannot be followed, but from a later snapshot.
        case takeSnapshot
    }

    package init(
        _ code: Code, key: String, _ detail: String = "", remedy: Remedy? = nil, retryAfter: Duration? = nil
    ) {
        self.code = code
        self.key = key
        self.detail = detail
        self.remedy = remedy
        self.retryAfter = retryAfter
    }

    /// As with ``FileError``, two errors are equal when their codes are, and what they are about: here the key. The rest
    /// explains them to people, and each store explains in its own way.
    package static func == (left: StoreError, right: StoreError) -> Bool {
        left.code == right.code && left.key == right.key
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String { detail.isEmpty ? sentence : "\(sentence) (\(code.rawValue))" }
}

extension StoreError {
    /// For people: without the code, unless there is nothing else to say, and with the key once.
    package var sentence: String {
        if detail.isEmpty { return "\(key): \(code.rawValue)" }
        return detail.hasBytePrefix("\(key) ") ? detail : "\(key): \(detail)"
    }
}

extension StoreError {
    /// The error for a program that reads or writes a file.
    package var fileError: FileError {
        let code: FileError.Code =
            switch self.code {
            // The log names the object and it is missing: it may still be in transit, as with a store that replicates.
            // ENOENT would say that the file does not exist.
            case .notFound: .notInContainer
            case .corrupt: .corrupt
            // Another device was faster. A caller that races for a key handles the code; one that passes it on has an
            // outdated view.
            case .preconditionFailed: .superseded
            // To the program, a throttling store is one that does not answer.
            case .throttled, .unavailable: .unreachable
            case .denied: .denied
            // EDQUOT: the space is short there, not on this disk.
            case .full: .overQuota
            case .invalid: .invalid
            case .cancelled: .cancelled
            }
        return FileError(code, sentence, cause: self)
    }
}

extension StoreError {
    /// Whether the same call may succeed a little later.
    package var isTransient: Bool { code == .unavailable || code == .throttled }
}
