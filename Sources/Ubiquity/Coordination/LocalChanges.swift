import Coordination
import Model

/// A change of a file that an accessor made.
struct LocalChange: Sendable {
    var event: ItemEvent
    var path: String
    /// The former path of a moved file.
    var from: String?
    /// The file that had the name before.
    var replaced: InodeNumber?
}

/// Finds what an accessor did to the items of its call.
enum LocalChanges {
    static func of(_ call: LocalDomain.Call) -> [LocalChange] {
        let after = call.urls.map { FileStamp($0.path) }
        var changes: [LocalChange] = []
        var moved: Set<Int> = []
        for (index, before) in call.before.enumerated() where call.items[index].access.isWriting {
            guard let before, after[index]?.isSameFile(as: before) != true else { continue }
            guard let target = target(of: before, index, call, after) else { continue }
            changes += move(call.urls[index], before, to: target.url)
            moved.formUnion([index] + (target.index.map { [$0] } ?? []))
        }
        for (index, url) in call.urls.enumerated()
        where call.items[index].access.isWriting && !moved.contains(index) && index < call.before.count {
            changes += change(url, before: call.before[index], after: after[index])
        }
        return changes
    }

    /// Where a file of the call is now: at another item's place, or where the program says that it moved it.
    private static func target(
        of before: FileStamp, _ index: Int, _ call: LocalDomain.Call, _ after: [FileStamp?]
    ) -> (url: URL, index: Int?)? {
        if let other = after.indices.first(where: { $0 != index && after[$0]?.isSameFile(as: before) == true }) {
            return (call.urls[other], other)
        }
        let reported = call.moves.first { $0.from.standardizedFileURL == call.urls[index].standardizedFileURL }
        guard let reported, FileStamp(reported.to.path)?.isSameFile(as: before) == true else { return nil }
        return (reported.to, nil)
    }

    private static func move(_ url: URL, _ before: FileStamp, to target: URL) -> [LocalChange] {
        // Names that cannot be items cannot be claimed either.
        guard var old = try? LocalPlaces.item(at: url.path), let new = try? LocalPlaces.item(at: target.path) else {
            return []
        }
        old.inode = LocalPlaces.number(before)
        old.isDirectory = before.isDirectory
        return [LocalChange(event: .moved(from: old, to: new), path: target.path, from: url.path)]
    }

    private static func change(_ url: URL, before: FileStamp?, after: FileStamp?) -> [LocalChange] {
        guard before != after, var item = try? LocalPlaces.item(at: url.path) else { return [] }
        switch (before, after) {
        case (nil, nil): return []
        case (nil, .some):
            return [LocalChange(event: .appeared(item), path: url.path)]
        case (let before?, nil):
            item.inode = LocalPlaces.number(before)
            return [LocalChange(event: .deleted(item), path: url.path)]
        case (let before?, let after?):
            let replaced = after.isSameFile(as: before) ? nil : LocalPlaces.number(before)
            return [LocalChange(event: .changed(item), path: url.path, replaced: replaced)]
        }
    }
}

extension NSFileAccessIntent.Access {
    /// The claim in the terms of the lock table.
    var kind: AccessKind {
        switch self {
        case .reading(let options):
            .read(ReadingOptions(rawValue: options.rawValue & 15).subtracting(.resolvesSymbolicLink))
        case .writing(let options):
            .write(
                options.contains(.forDownloading)
                    ? .contentIndependentMetadataOnly : WritingOption(rawValue: options.rawValue) ?? .plain)
        }
    }
}

extension CoordinationFailure {
    static func error(_ end: ClaimEnd, _ url: URL?) -> NSError {
        switch end {
        case .cancelled: cancelled
        case .revoked: locking("the claim was revoked", url)
        case .failed(.presenter(_, let text)): PresenterErrors.shared.error(endingOf: text) ?? locking(text, url)
        case .failed(.timedOut): locking("the claim was not granted in time", url)
        case .failed(.unresponsive): locking("a presenter does not answer", url)
        case .failed(.download(let code, let detail)): NSError(FileError(code, detail), url: url)
        case .failed(.deadlock): locking("the calls wait for each other", url)
        case .failed(.presented), .failed(.claimed): locking("the item is in use", url)
        }
    }
}
