import Model
import Remote
import Replica
import Sync

/// Compares the listing of a remote with the container, item by item: makes a ``RclonePlan``.
struct RclonePlanner {
    private let rule: SyncRule
    private let maker: DeviceID
    private let destination: [ItemName]
    private let lookup: (ItemName, ItemID) throws -> Entry?
    private let directoriesHaveTimes: Bool
    private(set) var plan = RclonePlan()
    private(set) var problems: [TransferProblem] = []
    private var places: [ItemPath: Place] = [:]

    /// The place of a directory of the remote in the container.
    private enum Place {
        case parent(RclonePlan.Parent)
        /// It is left out, with all that is in it.
        case none
    }

    /// - Parameters:
    ///   - destination: The path in the container of the directory that receives the import.
    ///   - existing: That directory; `nil` when it is missing.
    ///   - directoriesHaveTimes: Whether the times of directories mean something.
    ///   - lookup: Finds the item that has a name in a directory.
    init(
        into destination: [ItemName], existing: ItemID?, rule: SyncRule, maker: DeviceID, directoriesHaveTimes: Bool,
        lookup: @escaping (ItemName, ItemID) throws -> Entry?
    ) {
        self.destination = destination
        self.rule = rule
        self.maker = maker
        self.directoriesHaveTimes = directoriesHaveTimes
        self.lookup = lookup
        places[""] = .parent(existing.map { .existing($0) } ?? .destination)
    }

    /// - Parameter item: Comes after the directory that it is in, if that is listed too.
    mutating func add(_ item: RcloneItem) throws {
        // An empty name, also that of an absolute path, would be dropped by the rest.
        let components = item.path.string.utf8.split(separator: ItemPath.separator, omittingEmptySubsequences: false)
        guard !components.isEmpty, components.allSatisfy({ !$0.isEmpty }) else {
            return report(.skipped, item.path, "its path has an empty name")
        }
        guard !components.contains(where: { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }) else {
            return report(.skipped, item.path, "its path leads elsewhere")
        }
        guard !item.path.string.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
            return report(.skipped, item.path, "its name has control characters")
        }
        if item.isDirectory {
            _ = try place(of: item.path, modified: directoriesHaveTimes ? item.modified : nil)
        } else {
            try addFile(item)
        }
    }

    mutating func noteGone(_ path: ItemPath) { plan.gone.append(path) }

    mutating func report(_ kind: TransferProblem.Kind, _ path: ItemPath, _ reason: String) {
        problems.append(TransferProblem(kind, path: path.string, reason))
    }

    private mutating func addFile(_ item: RcloneItem) throws {
        let (directory, last) = Self.split(item.path)
        guard case .parent(let parent) = try place(of: directory, modified: nil) else { return }
        guard item.byteCount ?? 0 <= Content.byteLimit else {
            return report(.failed, item.path, "it exceeds the size limit of an item")
        }
        let sample = ItemSample(kind: .file, byteCount: item.byteCount ?? 0, age: .seconds(Int64(Int32.max)))
        let name: ItemName
        switch rule.name(last.utf8, sample) {
        case .success(let found): name = found
        case .failure(let refusal): return report(.skipped, item.path, refusal.reason)
        }
        let action: RclonePlan.Action
        switch RcloneChange(item, meeting: try entry(name, in: parent), maker: maker) {
        case .new: action = .file
        case .changed(let base, let number): action = .replacement(base, number)
        case .unchanged:
            plan.presentCount += 1
            return
        case .kept(let reason): return report(.failed, item.path, reason)
        }
        plan.items.append(
            RclonePlan.Item(
                path: item.path, name: name, parent: parent, action: action, modified: item.modified,
                byteCount: item.byteCount, hash: item.hash))
    }

    private mutating func place(of path: ItemPath, modified: Timestamp?) throws -> Place {
        if let known = places[path] { return known }
        let place = try newPlace(of: path, modified: modified)
        places[path] = place
        return place
    }

    private mutating func newPlace(of path: ItemPath, modified: Timestamp?) throws -> Place {
        let (above, last) = Self.split(path)
        guard case .parent(let parent) = try place(of: above, modified: nil) else { return .none }
        let name: ItemName
        switch rule.name(last.utf8, ItemSample(new: .directory)) {
        case .success(let found): name = found
        case .failure(let refusal):
            report(.skipped, path, refusal.reason)
            return .none
        }
        // The names above it were accepted before.
        let names = path.components.dropLast().compactMap { try? ItemName(String($0)) }
        if let refusal = rule.refusal(ofDirectoryAt: destination + names + [name]) {
            report(.skipped, path, refusal.reason)
            return .none
        }
        if let entry = try entry(name, in: parent) {
            guard entry.kind == .directory, let item = entry.item else {
                report(
                    .failed, path,
                    "the container has a \(RcloneChange.noun(entry.kind)) of this name, which is kept; what is in this "
                        + "directory is left out")
                return .none
            }
            return .parent(.existing(item))
        }
        plan.items.append(
            RclonePlan.Item(
                path: path, name: name, parent: parent, action: .directory, modified: modified, byteCount: nil,
                hash: nil))
        return .parent(.planned(plan.items.count - 1))
    }

    private func entry(_ name: ItemName, in parent: RclonePlan.Parent) throws -> Entry? {
        guard case .existing(let item) = parent else { return nil }
        return try lookup(name, item)
    }

    /// The path of the directory that an item is in, empty for the top, and its name.
    private static func split(_ path: ItemPath) -> (ItemPath, Substring) {
        let components = path.components
        return (ItemPath(components.dropLast()), components.last ?? "")
    }
}
