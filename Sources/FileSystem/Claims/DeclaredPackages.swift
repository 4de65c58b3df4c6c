import Coordination
import Model
import Synchronization

/// The extensions that sessions declare to be those of file packages, besides the well-known ones of ``FilePackage``.
///
/// Without declarations, a look costs one load of a flag.
final class DeclaredPackages: Sendable {
    /// How many extensions one session declares, and how long each is at most, in bytes.
    static let extensionLimit = 256
    static let extensionByteLimit = 64

    private struct State {
        var sessions: [ClientID: Set<String>] = [:]
        var all: Set<String> = []
    }

    private let state = Mutex(State())
    private let isEmpty = Atomic(true)

    func isPackage(_ name: ItemName) -> Bool {
        if FilePackage.isPackage(name) { return true }
        guard !isEmpty.load(ordering: .acquiring) else { return false }
        let pathExtension = name.pathExtension.lowercased()
        return state.withLock { $0.all.contains(pathExtension) }
    }

    /// Checks and folds extensions.
    ///
    /// - Throws: ``FileError`` with `invalid`.
    static func folded(_ extensions: [String]) throws(FileError) -> Set<String> {
        guard extensions.count <= extensionLimit else {
            throw FileError(.invalid, "a session declares at most \(extensionLimit) extensions of packages")
        }
        for text in extensions {
            let isGood =
                (1...extensionByteLimit).contains(text.utf8.count)
                && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") || $0 == 0 }
            guard isGood else {
                throw FileError(
                    .invalid, "an extension has 1 to \(extensionByteLimit) bytes and no dot, as in csdoc; not: \(text)")
            }
        }
        return Set(extensions.map { $0.lowercased() })
    }

    /// Replaces what a session has declared.
    func set(_ extensions: Set<String>, of session: ClientID) {
        state.withLock { state in
            state.sessions[session] = extensions.isEmpty ? nil : extensions
            state.all = state.sessions.values.reduce(into: []) { $0.formUnion($1) }
            isEmpty.store(state.all.isEmpty, ordering: .releasing)
        }
    }
}
