import Model
import Synchronization

/// What users are promised, whatever the rules for merging say.
///
/// Every write has a ``Token`` of its own, so that each cell of each file says who wrote it. A write that was acknowledged lives on
/// until someone overwrites, truncates or deletes it *who had it before his eyes*: on a device that showed it at that moment. Until
/// then every device must show it at the next quiet point, under whatever name, or keep it as the loser of a conflict.
/// And every content must be one that a file had at some moment on some device: nothing torn, nothing mixed.
final class ReferenceModel: Sendable {
    private struct Origin {
        let text: String
        /// How many copies of it must be there: acknowledged ones, without those that someone saw and let go.
        var livingCount = 0
    }

    private struct State {
        var origins: [Token: Origin] = [:]
        var lastToken: Token = 0
        var contents: Set<UInt64> = [FileContent.empty.fingerprint]
        var attributes: Set<String> = []
        var copies: [(file: NamedContent, device: String)] = []
        /// The files that commits made or changed, and the devices that made these commits.
        var committed: [NamedContent: Set<String>] = [:]
    }

    /// A file as the rule for equal files looks at it.
    private struct NamedContent: Hashable {
        let name: ItemName
        let fingerprint: UInt64
        let tokens: [Token]

        init(name: ItemName, content: FileContent) {
            self.name = name
            fingerprint = content.fingerprint
            tokens = Array(content.cells.values)
        }

        static func == (left: Self, right: Self) -> Bool {
            left.name == right.name && left.fingerprint == right.fingerprint
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(fingerprint)
        }
    }

    private let state = Mutex(State())

    /// How a change of files ended.
    enum Outcome {
        case done
        /// The device died in the middle of it: it may have happened.
        case unknown
        /// What was written is on its way out with a file that has no name any more.
        case nameless
    }

    /// A token for one cell, or for one link, that is about to be written.
    func makeToken(_ origin: String) -> Token {
        state.withLock { state in
            state.lastToken += 1
            state.origins[state.lastToken] = Origin(text: origin)
            return state.lastToken
        }
    }

    /// Files were changed: `before` is what the device showed of them, `after` what it shows now.
    func note(_ outcome: Outcome, before: [FileContent], after: [FileContent]) {
        state.withLock { state in
            for content in after { state.contents.insert(content.fingerprint) }
            guard outcome != .nameless else { return }
            for content in before {
                for token in content.cells.values { state.origins[token]?.livingCount -= 1 }
            }
            for content in after {
                for token in content.cells.values where outcome == .done || Self.has(before, token) {
                    state.origins[token]?.livingCount += 1
                }
            }
            if outcome == .unknown {
                // What the change would have removed may be gone.
                return
            }
        }
    }

    private static func has(_ contents: [FileContent], _ token: Token) -> Bool {
        contents.contains { $0.cells.values.contains(token) }
    }

    /// These may be lost from now on: the newest state of a link or an attribute wins, and no other is kept.
    func release(_ content: FileContent) {
        state.withLock { state in
            for token in content.cells.values { state.origins[token]?.livingCount -= 1 }
        }
    }

    /// A device made a copy of a file, which ``note(_:before:after:)`` was told of as well.
    ///
    /// Where another device gives a file of this name and content to the container, the copy may become one with it, and goes
    /// with the next change of that file, as the rule for equal files says.
    func noteCopy(of content: FileContent, as name: ItemName, on device: String) {
        state.withLock { $0.copies.append((NamedContent(name: name, content: content), device)) }
    }

    /// A device gave a file to the container.
    func noteCommitted(_ content: FileContent, as name: ItemName, by device: String) {
        _ = state.withLock { $0.committed[NamedContent(name: name, content: content), default: []].insert(device) }
    }

    /// An attribute's value that some device set.
    func noteAttribute(_ text: String) { _ = state.withLock { $0.attributes.insert(text) } }

    func wasSet(_ attribute: String) -> Bool { state.withLock { $0.attributes.contains(attribute) } }

    /// Whether some file had this content at some moment.
    func hadFile(_ content: FileContent) -> Bool { state.withLock { $0.contents.contains(content.fingerprint) } }

    /// What must be there and is not among `present`: in the words of its writers.
    func missing(from present: Set<Token>) -> [String] {
        state.withLock { state in
            Self.forgetCopiesOfEqualFiles(&state)
            return state.origins.filter { $0.value.livingCount > 0 && !present.contains($0.key) }
                .sorted { $0.key < $1.key }.map { "token \($0.key): \($0.value.text)" }
        }
    }

    private static func forgetCopiesOfEqualFiles(_ state: inout State) {
        for copy in state.copies {
            guard let devices = state.committed[copy.file], devices != [copy.device] else { continue }
            for token in copy.file.tokens { state.origins[token]?.livingCount -= 1 }
        }
        // All devices have heard of what is committed by now: nothing of it can meet a new file.
        state.copies = []
        state.committed = [:]
    }

    func origin(of token: Token) -> String {
        state.withLock { $0.origins[token].map { "token \(token): \($0.text)" } }
            ?? "token \(token), which nobody wrote"
    }

    func wasWritten(_ token: Token) -> Bool { state.withLock { $0.origins[token] != nil } }
}
