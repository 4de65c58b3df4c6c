import Model

extension NSFileVersion {
    /// The current version of a file; `nil` when there is none. For a directory or a package: the item as it is.
    public class func currentVersionOfItem(at url: URL) -> NSFileVersion? {
        let item = ItemVersions(url)
        guard item.exists else { return nil }
        let current = try? item.list().first { $0.kind == .current }
        return current.map { NSFileVersion(item: item.url, $0) } ?? NSFileVersion(item: item.url, id: currentID)
    }

    /// All versions but the current one whose bytes are at hand: those that lost a conflict, and earlier ones that this
    /// process has used.
    ///
    /// - Returns: `nil` when there is no such file, or its daemon does not answer.
    public class func otherVersionsOfItem(at url: URL) -> [NSFileVersion]? {
        list(url)?.filter { $0.isConflict || $0.hasLocalContents }
    }

    /// The versions that lost a conflict and wait to be resolved; empty without a conflict.
    ///
    /// - Returns: `nil` when there is no such file, or its daemon does not answer.
    public class func unresolvedConflictVersionsOfItem(at url: URL) -> [NSFileVersion]? {
        list(url)?.filter { $0.isConflict && !$0.isResolved }
    }

    /// Finds a version by its ``persistentIdentifier``.
    ///
    /// - Returns: `nil` when it is gone.
    public class func version(itemAt url: URL, forPersistentIdentifier persistentIdentifier: Any) -> NSFileVersion? {
        guard let id = persistentIdentifier as? String else { return nil }
        if id == currentID { return currentVersionOfItem(at: url) }
        return list(url)?.first { $0.id == id }
    }

    /// Finds a version by its ``persistentIdentifier``; see ``version(itemAt:forPersistentIdentifier:)``.
    public class func version(of url: URL, forPersistentIdentifier persistentIdentifier: Any) -> NSFileVersion? {
        version(itemAt: url, forPersistentIdentifier: persistentIdentifier)
    }

    /// Finds a version by its ``persistentIdentifier``; fails when it is gone.
    public convenience init?(itemAt url: URL, forPersistentIdentifier persistentIdentifier: Any) {
        guard let found = Self.version(itemAt: url, forPersistentIdentifier: persistentIdentifier) else { return nil }
        if let known = found.known {
            self.init(item: found.itemURL, known)
        } else {
            self.init(item: found.itemURL, id: found.id)
        }
    }

    /// Finds the versions that only the container has: earlier ones, up to 30 days old.
    ///
    /// Their bytes are fetched when their ``url`` is first used; they are among ``otherVersionsOfItem(at:)`` then, with
    /// the same identifier.
    /// - Parameter completionHandler: Called once, on another thread.
    public class func getNonlocalVersionsOfItem(
        at url: URL, completionHandler: @escaping @Sendable ([NSFileVersion]?, (any Error)?) -> Void
    ) {
        DispatchQueue.global().async {
            do {
                let item = ItemVersions(url)
                let versions = try item.list().filter { $0.kind == .earlier }.map { NSFileVersion(item: item.url, $0) }
                completionHandler(versions.filter { !$0.hasLocalContents }, nil)
            } catch {
                completionHandler(nil, error)
            }
        }
    }

    /// The versions that only the container has; see ``getNonlocalVersionsOfItem(at:completionHandler:)``.
    public class func nonlocalVersionsOfItem(at url: URL) async throws -> [NSFileVersion] {
        try await withCheckedThrowingContinuation { continuation in
            getNonlocalVersionsOfItem(at: url) { versions, error in
                continuation.resume(
                    with: versions.map { .success($0) } ?? .failure(error ?? CocoaError(.fileReadUnknown)))
            }
        }
    }

    /// All but the current one; `nil` for a missing file and without an answer.
    private class func list(_ url: URL) -> [NSFileVersion]? {
        let item = ItemVersions(url)
        guard item.exists, let versions = try? item.list() else { return nil }
        return versions.filter { $0.kind != .current }.map { NSFileVersion(item: item.url, $0) }
    }

    /// The item whose version is stored at a URL; `nil` for any other URL.
    static func item(ofStored url: URL) -> URL? { VersionStore.shared.item(of: url) }
}
