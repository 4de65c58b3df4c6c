package import Model

/// Why a store could not do what it was asked: a code, the key it was about, and words for people.
package struct StoreError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// There is no such object.
        case notFound
        /// The key is taken, so nothing was created.
        case preconditionFailed
        /// The store asks for patience.
        case throttled
        /// The store does not answer, or not with an answer; the same call may succeed later.
        case unavailable
        /// The store refuses, and will until somebody changes a permission.
        case denied
        /// The bytes are not what they should be.
        case corrupt
        /// There is no room left.
        case full
        /// The request makes no sense to this store, or the object none to this version.
        case invalid
        /// The task was cancelled.
        case cancelled
    }

    package let code: Code
    /// The object's key; the URL or prefix where there is no key.
    package let key: String
    /// What happened, for people; never compared.
    package let detail: String

    package init(_ code: Code, key: String, _ detail: String = "") {
        self.code = code
        self.key = key
        self.detail = detail
    }

    /// Two errors are the same when code and key are: details are for people.
    package static func == (left: StoreError, right: StoreError) -> Bool {
        left.code == right.code && left.key == right.key
    }
}

extension StoreError: CustomStringConvertible {
    package var description: String {
        detail.isEmpty ? "\(key): \(code.rawValue)" : "\(key): \(detail) (\(code.rawValue))"
    }
}

extension StoreError {
    /// What a program that reads or writes a file is told.
    package var fileError: FileError {
        let code: FileError.Code =
            switch self.code {
            // The log names the object and it is not there: it may still be on its way, as behind a store that replicates.
            // ENOENT would say that the file is gone.
            case .notFound: .notInContainer
            case .corrupt: .corrupt
            // Another device was faster. Who races for a key looks at the code; whoever passes it on has an old view.
            case .preconditionFailed: .superseded
            // To the program a store that is too busy to answer is one that does not answer.
            case .throttled, .unavailable: .unreachable
            case .denied: .denied
            // EDQUOT: the room is short there, not on this disk.
            case .full: .overQuota
            case .invalid: .invalid
            case .cancelled: .cancelled
            }
        return FileError(code, description)
    }
}

extension StoreError {
    /// Whether the same call may succeed a little later.
    package var isTransient: Bool { code == .unavailable || code == .throttled }
}
