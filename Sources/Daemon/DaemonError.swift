import FileSystem
import Model
import Mount
import Remote

/// Why a daemon could not start, or a command that needs none could not be done: one sentence that says what to do.
package struct DaemonError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// A location, option or mountpoint that cannot be meant.
        case usage
        /// There is no such container, directory or state.
        case notFound
        /// The store does not answer.
        case unreachable
        /// It exists already, or cannot be made.
        case cannotCreate
        /// Something else has it now: another daemon, another mount.
        case busy
        /// A permission is missing.
        case denied
        /// Anything else.
        case failed
    }

    package let kind: Kind
    package let description: String

    package init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}

extension DaemonError {
    /// What a store said while a container was opened or made.
    init(_ error: StoreError, url: String) {
        let reason = error.detail.isEmpty ? error.description : error.detail
        switch error.code {
        case .notFound:
            self.init(
                .notFound,
                "there is no container at \(url); check the URL, or run: dewpoint container create \(url) --id ID")
        case .preconditionFailed:
            self.init(.cannotCreate, "there is already a container at \(url); mount it, or choose an empty place")
        case .throttled, .unavailable:
            self.init(.unreachable, "the store at \(url) does not answer; try again when it does: \(reason)")
        case .denied:
            // A bucket's reason says itself what to do.
            let hint = url.lowercased().hasPrefix("s3:") ? "" : "; check its permissions"
            self.init(.denied, "the store at \(url) refuses\(hint): \(reason)")
        case .full:
            self.init(.cannotCreate, "the store at \(url) is full; make room there: \(reason)")
        case .invalid:
            self.init(.usage, "\(url) cannot be used: \(reason)")
        case .corrupt:
            self.init(.failed, "the container at \(url) is damaged: \(reason)")
        case .cancelled:
            self.init(.failed, "cancelled before the store at \(url) had answered")
        }
    }

    /// What the file system said of the state directory.
    init(_ error: FileError, state: String) {
        switch error.code {
        case .busy, .wouldBlock:
            self.init(
                .busy,
                "another daemon uses the state \(state); unmount it first, or give this mount its own --state DIR")
        case .denied, .notPermitted, .readOnly:
            self.init(.denied, "the state \(state) cannot be written; check its owner and mode: \(error.detail)")
        case .notFound: self.init(.notFound, error.detail)
        case .invalid: self.init(.usage, "\(error.detail); give this mount its own --state DIR")
        case .offline, .unreachable, .timedOut: self.init(.unreachable, error.detail)
        default: self.init(.failed, "the state \(state) cannot be opened: \(error.detail)")
        }
    }

    init(_ error: MountError) {
        let kind: Kind =
            switch error {
            case .mountpointMissing: .notFound
            case .notDirectory: .usage
            case .notEmpty, .alreadyMounted, .staleMount, .busy: .busy
            case .deviceDenied, .mountpointDenied: .denied
            case .noDevice, .helperMissing, .notMounted, .refused: .failed
            }
        self.init(kind, error.description)
    }
}
