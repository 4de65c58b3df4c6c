import FileSystem
import Model
import Mount
import Remote

/// Why a daemon could not start, or a command without a daemon failed: one sentence that says how to fix it.
package struct DaemonError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// An invalid location, option or mountpoint.
        case usage
        /// There is no such container, directory or state.
        case notFound
        /// The store does not answer.
        case unreachable
        /// It exists already, or cannot be created.
        case cannotCreate
        /// In use by another daemon or mount.
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
    /// The error of a store while a container was opened or created.
    init(_ error: StoreError, url: String) {
        let reason = error.detail.isEmpty ? error.description : error.detail
        switch error.code {
        case .notFound where error.remedy == .putBackDescription:
            self.init(.notFound, "the container at \(url) is incomplete: \(reason)")
        case .preconditionFailed where error.remedy == .putBackDescription:
            self.init(.cannotCreate, "nothing was created or changed at \(url): \(reason)")
        case .notFound:
            self.init(
                .notFound,
                "there is no container at \(url); check the URL, or run: dewpoint container create \(url) --id ID")
        case .preconditionFailed:
            self.init(.cannotCreate, "there is already a container at \(url); mount it, or choose an empty place")
        case .unavailable where error.remedy == .mendConnection:
            self.init(.unreachable, "the store at \(url) cannot be reached: \(reason)")
        case .throttled, .unavailable:
            self.init(.unreachable, "the store at \(url) does not answer; try again later: \(reason)")
        case .denied:
            // A bucket's reason says how to fix it.
            let hint = url.lowercased().hasPrefix("s3:") ? "" : "; check its permissions"
            self.init(.denied, "the store at \(url) denied access\(hint): \(reason)")
        case .full:
            self.init(.cannotCreate, "the store at \(url) is full; free space there: \(reason)")
        case .invalid where error.remedy == .createPlace:
            self.init(.notFound, reason)
        case .invalid:
            self.init(.usage, "\(url) cannot be used: \(reason)")
        case .corrupt:
            self.init(.failed, "the container at \(url) is damaged: \(error.sentence)")
        case .cancelled:
            self.init(.failed, "cancelled before the store at \(url) had answered")
        }
    }

    /// The error of creating a container within another one.
    init(creating url: String, inside outer: String, _ name: String) {
        self.init(.cannotCreate, "\(url) is inside \(name) at \(outer); choose a place outside of it")
    }

    /// The error of the file system about the state directory.
    init(_ error: FileError, state: String) {
        switch error.code {
        case .busy, .wouldBlock:
            self.init(
                .busy,
                "the container is mounted already: another daemon uses its state \(state); for where, run: dewpoint status"
            )
        case .denied, .notPermitted, .readOnly:
            self.init(.denied, "the state \(state) cannot be written; check its owner and mode: \(error.detail)")
        case .notFound: self.init(.notFound, error.detail)
        case .invalid: self.init(.usage, error.detail)
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
