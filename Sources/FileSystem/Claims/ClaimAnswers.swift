import Coordination
import Model

// The table's decisions in the terms of the control API.

extension ClaimEnded {
    init(claim: UInt64, _ end: ClaimEnd, naming name: (WaitNode) -> String) {
        switch end {
        case .revoked:
            self.init(claim: claim, reason: .revoked, code: .cancelled, message: "the claim was revoked")
        case .cancelled:
            self.init(claim: claim, reason: .cancelled, code: .cancelled, message: "the claim was cancelled")
        case .failed(let failure):
            let reason: Reason =
                switch failure {
                case .timedOut: .timedOut
                case .presenter, .unresponsive, .presented: .presenter
                case .download: .download
                case .deadlock: .deadlock
                case .claimed: .invalid
                }
            let error = FileError(failure, naming: name)
            self.init(claim: claim, reason: reason, code: error.code, message: error.detail)
        }
    }
}

extension FileError {
    /// - Parameter name: Describes the process behind a node of the wait-for graph, for people.
    init(_ failure: ClaimFailure, naming name: (WaitNode) -> String) {
        switch failure {
        case .timedOut: self.init(.timedOut, "the claim was not granted in time")
        case .presenter(let presenter, let error): self.init(.busy, "\(name(.presenter(presenter))) refused: \(error)")
        case .unresponsive(let presenter): self.init(.timedOut, "\(name(.presenter(presenter))) does not answer")
        case .download(let code, let detail): self.init(code, detail)
        case .deadlock(let links):
            self.init(
                .deadlock, links.map { name($0.waiter) }.joined(separator: " waits for ") + ", which waits for it")
        case .presented(let presenter):
            self.init(.busy, "\(name(.presenter(presenter))) presents the item and does not permit its eviction")
        case .claimed(let set): self.init(.busy, "\(name(.claims(set))) has claimed the item")
        }
    }
}

extension PresenterNews {
    init(presenter: UInt64, _ notice: PresenterNotice, _ places: ItemResolver) {
        self.init(presenter: presenter, notice: notice.method)
        switch notice {
        case .didChange: break
        case .didMove(let item): path = places.path(item)
        case .didChangeUbiquityAttributes(let keys): self.keys = keys.sorted()
        case .version(_, let id): version = id
        case .subitemDidAppear(let item), .subitemDidChange(let item): path = places.path(item)
        case .subitemDidMove(let from, let to):
            self.from = places.path(from)
            path = places.path(to)
        case .subitemVersion(_, let id, let item):
            version = id
            path = places.path(item)
        }
    }

    var event: SessionEvent { .notice(self) }
}

extension FileError {
    init(_ error: ClaimError) {
        switch error {
        case .unknownOptions(let bits): self.init(.invalid, "unknown option bits \(bits)")
        case .severalWritingOptions: self.init(.invalid, "a claim has at most one writing option")
        case .notForBatches(let kind):
            self.init(
                .invalid, "\(kind.optionNames.joined(separator: ", ")) does not apply to a batch")
        case .noItems: self.init(.invalid, "a claim needs at least one item")
        case .tooMany: self.init(.busy, "there are too many claims or presenters; release some")
        case .idInUse(let id): self.init(.exists, "claim \(id.rawValue) already exists")
        case .cancelled: self.init(.cancelled, "all calls of this coordinator were cancelled")
        }
    }
}
