import Model
import Sync

/// The directory of the container that receives a tree.
struct Destination {
    /// From the root of the container; empty for the root itself.
    let names: [ItemName]

    /// How much of the path exists.
    struct ResolvedPath {
        /// The deepest existing directory of the path.
        var directory: ItemID
        /// The directories to create below it.
        var missing: ArraySlice<ItemName>

        /// The directory itself, if it exists.
        var existing: ItemID? { missing.isEmpty ? directory : nil }
    }

    /// - Parameter path: Components separated by slashes.
    /// - Throws: ``FileError`` with `badName` and a sentence.
    init(_ path: String, _ rule: SyncRule) throws(FileError) {
        var names: [ItemName] = []
        for component in ItemPath(path).components {
            switch rule.name(component.utf8, ItemSample(new: .directory)) {
            case .success(let name): names.append(name)
            case .failure(let refusal): throw FileError(.badName, "\(component) in \(path): \(refusal.reason)")
            }
            if let refusal = rule.refusal(ofDirectoryAt: names) { throw FileError(.notPermitted, refusal.reason) }
        }
        self.names = names
    }

    /// - Throws: ``FileError`` with `notDirectory` when another item is in the way.
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

    /// Creates the missing directories.
    func make(_ place: ResolvedPath, _ sender: inout TreeSender, _ scratch: ScratchReplica) async throws -> ItemID {
        var parent = place.directory
        var arrivals: [Arrival] = []
        for name in place.missing {
            let record = scratch.record(name, in: parent, .directory, mode: 0o755, modified: scratch.now)
            arrivals.append(Arrival(record: record, path: name.string))
            parent = record.id
        }
        guard !arrivals.isEmpty else { return parent }
        _ = try await sender.send(arrivals)
        return parent
    }
}

/// Names of a tree that other items in the container have already.
struct NameClashes {
    /// How many names are listed.
    static let nameLimit = 10

    private var names: [String] = []
    private var count = 0

    mutating func add(_ name: String) {
        count += 1
        if names.count < Self.nameLimit { names.append(name) }
    }

    /// - Parameter isContinued: Whether equal items would have been skipped.
    /// - Throws: ``FileError`` with `exists`, if there are any.
    func refuse(isContinued: Bool) throws(FileError) {
        guard count > 0 else { return }
        let list = names.joined(separator: ", ") + (count > names.count ? " and \(count - names.count) more" : "")
        throw FileError(
            .exists,
            isContinued
                ? "the container has something else there already: \(list); nothing was sent"
                : "the container has these already: \(list); nothing was sent. Give another place with --into, or "
                    + "continue an interrupted run with --continue")
    }
}
