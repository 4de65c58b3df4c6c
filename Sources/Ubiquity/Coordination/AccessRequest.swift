import Model

/// Coordinated access to the items of one call, before it is known where they are.
struct AccessRequest: Sendable {
    struct Item: Sendable {
        var url: URL
        var access: NSFileAccessIntent.Access
    }

    var items: [Item]
    /// Whether presenters are only prepared (`prepare(forReadingItemsAt:…)`).
    var isBatch = false
    /// The name of the coordinator: its calls never wait for each other.
    var coordinator: String
    /// Calls of one purpose never wait for each other, in any process.
    var purpose: String
    /// The number of the coordinator's presenter, which is not asked.
    var presenter: UInt64?
    /// The number of the presenter in whose message the call is made.
    var fromPresenter: UInt64?
    /// The claims in whose accessors the call is made.
    var within: [HeldClaim] = []
}

/// A claim that a thread holds while it runs an accessor.
struct HeldClaim: Hashable, Sendable {
    let domain: ObjectIdentifier
    /// The domain's number for it.
    let number: UInt64
}

extension NSFileAccessIntent.Access {
    var isWriting: Bool {
        switch self {
        case .reading: false
        case .writing: true
        }
    }

    /// The claim at a path, in the terms of the lock table and the control API.
    func claim(at path: String) -> ClaimRequest.Item {
        switch self {
        case .reading(let options): ClaimRequest.Item(path, reading: Self.names(of: options))
        case .writing(let options): ClaimRequest.Item(path, writing: Self.name(of: options))
        }
    }

    /// `resolvesSymbolicLink` is left out: the link was followed before, so that it may lead to another container.
    private static func names(of options: NSFileCoordinator.ReadingOptions) -> [String] {
        var names: [String] = []
        if options.contains(.withoutChanges) { names.append("withoutChanges") }
        if options.contains(.immediatelyAvailableMetadataOnly) { names.append("immediatelyAvailableMetadataOnly") }
        if options.contains(.forUploading) { names.append("forUploading") }
        return names
    }

    private static func name(of options: NSFileCoordinator.WritingOptions) -> String {
        if options.contains(.forDeleting) { return "forDeleting" }
        if options.contains(.forMoving) { return "forMoving" }
        if options.contains(.forMerging) { return "forMerging" }
        if options.contains(.forReplacing) { return "forReplacing" }
        // A download neither waits for the bytes nor for itself.
        if !options.isDisjoint(with: [.contentIndependentMetadataOnly, .forDownloading]) {
            return "contentIndependentMetadataOnly"
        }
        return "plain"
    }
}
