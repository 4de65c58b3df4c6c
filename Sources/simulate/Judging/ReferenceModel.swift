import Model
import Synchronization

/// The promises to users, independent of the rules for merging.
///
/// Every write has its own ``Token``, so that each cell of each file identifies its write. An acknowledged write is
/// kept until a user overwrites, truncates or deletes it *after having seen it*: on a device that showed it at that
/// instant. Until then every device must show it at the next quiet point, under any name, or keep it as the loser of a
/// conflict. And every content must be one that a file had at some instant on some device: nothing torn, nothing mixed.
final class ReferenceModel: Sendable {
    private struct Origin {
        let text: String
        /// How many copies of it must exist: acknowledged ones, without those that a user saw and removed.
        var livingCount = 0
    }

    private struct State {
        var origins: [Token: Origin] = [:]
        var lastToken: Token = 0
        var contents: Set<UInt64> = [FileContent.empty.fingerprint]
        var attributes: Set<String> = []
        var copies: [(file: NamedContent, device: String)] = []
        /// Files that a user moved to another name.
        var moved: [(file: NamedContent, device: String)] = []
        /// The files that commits created or changed, and the devices that made these commits.
        var committed: [NamedContent: Set<String>] = [:]
    }

    /// A file, as the rule for equal files compares it.
    private struct NamedContent: Hashable {
        /// Without the number that the rule for conflicts adds: files of one name may get the same one.
        let name: String
        let fingerprint: UInt64
        let tokens: [Token]

        init(name: ItemName, content: FileContent) {
            self.name = name.string.replacing(#/ [0-9]+/#, with: "")
            fingerprint = content.fingerprint
            tokens = Array(content.cells.values)
        }

        static func == (left: Self, right: Self) -> Bool {
            left.name.isBytewiseEqual(to: right.name) && left.fingerprint == right.fingerprint
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(fingerprint)
        }
    }

    private let state = Mutex(State())

    /// The outcome of a change of files.
    enum Outcome {
        case done
        /// The device died during it: it may have happened.
        case unknown
        /// The file no longer has a name, and its writes are removed with it.
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

    /// Notes a change of files: `before` is what the device showed of them, `after` what it shows now.
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
                // The contents that the change would have removed may be gone.
                return
            }
        }
    }

    private static func has(_ contents: [FileContent], _ token: Token) -> Bool {
        contents.contains { $0.cells.values.contains(token) }
    }

    /// Allows these to be lost from now on: the newest state of a link or an attribute wins, and no other is kept.
    func release(_ content: FileContent) {
        state.withLock { state in
            for token in content.cells.values { state.origins[token]?.livingCount -= 1 }
        }
    }

    /// Notes that a device made a copy of a file; ``note(_:before:after:)`` is called for it as well.
    ///
    /// If another device uploads a file of this name and content, the copy may be merged with it, and disappears with
    /// the next change of that file, by the rule for equal files.
    func noteCopy(of content: FileContent, as name: ItemName, on device: String) {
        state.withLock { $0.copies.append((NamedContent(name: name, content: content), device)) }
    }

    /// Notes that a device moved a file to another name, possibly over a new file, whose item it then is.
    ///
    /// It may be merged like a copy: then its device never uploads it.
    func noteMove(of content: FileContent, to name: ItemName, on device: String) {
        state.withLock { $0.moved.append((NamedContent(name: name, content: content), device)) }
    }

    /// Notes that a device uploaded the bytes of a file.
    func noteCommitted(_ content: FileContent, as name: ItemName, by device: String) {
        _ = state.withLock { $0.committed[NamedContent(name: name, content: content), default: []].insert(device) }
    }

    /// Notes an attribute's value that some device set.
    func noteAttribute(_ text: String) { _ = state.withLock { $0.attributes.insert(text) } }

    func wasSet(_ attribute: String) -> Bool { state.withLock { $0.attributes.contains(attribute) } }

    /// Whether some file had this content at some instant.
    func hadFile(_ content: FileContent) -> Bool { state.withLock { $0.contents.contains(content.fingerprint) } }

    /// The tokens that must exist and are not among `present`, with their writers' descriptions.
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
        for file in state.moved {
            guard let devices = state.committed[file.file], !devices.contains(file.device) else { continue }
            for token in file.file.tokens { state.origins[token]?.livingCount -= 1 }
        }
        // All devices have applied all commits by now: none of them can meet a new file.
        state.copies = []
        state.moved = []
        state.committed = [:]
    }

    func origin(of token: Token) -> String {
        state.withLock { $0.origins[token].map { "token \(token): \($0.text)" } }
            ?? "token \(token), which was never written"
    }

    func wasWritten(_ token: Token) -> Bool { state.withLock { $0.origins[token] != nil } }
}
