import Model
import Sync

/// The directory of the container that a tree goes into.
struct Destination {
    /// From the top of the container; empty for the top itself.
    let names: [ItemName]

    /// How far it is there.
    struct ResolvedPath {
        /// The deepest directory of the path that is there.
        var directory: ItemID
        /// What has to be made below it.
        var missing: ArraySlice<ItemName>

        /// The directory itself, if it is there.
        var existing: ItemID? { missing.isEmpty ? directory : nil }
    }

    /// - Parameter path: Components with slashes between them.
    /// - Throws: ``FileError`` with `badName` and a sentence.
    init(_ path: String, _ rule: SyncRule) throws(FileError) {
        var names: [ItemName] = []
        for component in path.split(separator: "/") {
            switch rule.name(component.utf8) {
            case .success(let name): names.append(name)
            case .failure(let refusal): throw FileError(.badName, "\(component) in \(path): \(refusal.reason)")
            }
            if let refusal = rule.refusal(ofDirectoryAt: names) { throw FileError(.notPermitted, refusal.reason) }
        }
        self.names = names
    }

    /// - Throws: ``FileError`` with `notDirectory` when something else is in the way.
    func find(_ sender: TreeSender) async throws -> ResolvedPath {
        var place = ResolvedPath(directory: .root, missing: names[...])
        while let name = place.missing.first {
            guard let occupant = try await sender.occupant(name, in: place.directory) else { return place }
            guard occupant.kind == .directory else {
                throw FileError(
                    .notDirectory, "\(name) is no directory in the container; give another place with --into")
            }
            place.directory = occupant.item
            place.missing.removeFirst()
        }
        return place
    }

    /// Makes what is missing.
    func make(_ place: ResolvedPath, _ sender: inout TreeSender, _ visitor: ScratchReplica) async throws -> ItemID {
        var parent = place.directory
        var arrivals: [Arrival] = []
        for name in place.missing {
            let record = visitor.record(name, in: parent, .directory, mode: 0o755, modified: visitor.now)
            arrivals.append(Arrival(record: record, path: name.string))
            parent = record.id
        }
        guard !arrivals.isEmpty else { return parent }
        _ = try await sender.send(arrivals)
        return parent
    }
}

/// Names of a tree that are taken in the container, by something else.
struct NameClashes {
    /// How many are named.
    static let nameLimit = 10

    private var names: [String] = []
    private var count = 0

    mutating func add(_ name: String) {
        count += 1
        if names.count < Self.nameLimit { names.append(name) }
    }

    /// - Parameter isContinued: Whether equal things would have been passed over.
    /// - Throws: ``FileError`` with `exists`, if there are any.
    func refuse(isContinued: Bool) throws(FileError) {
        guard count > 0 else { return }
        let list = names.joined(separator: ", ") + (count > names.count ? " and \(count - names.count) more" : "")
        throw FileError(
            .exists,
            isContinued
                ? "the container has something else there already: \(list); nothing was sent"
                : "the container has these already: \(list); nothing was sent. Give another place with --into, or, to go on "
                    + "with what was cut off, --continue")
    }
}
