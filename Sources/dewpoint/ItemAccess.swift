import Model

/// How a command accesses an item, named like the options of `coordinate`.
enum ItemAccess: CaseIterable {
    case reading, writing, deleting, moving, replacing, merging, metadata

    /// Whether the claim is granted only once the item is local.
    var needsBytes: Bool {
        switch self {
        case .reading, .writing, .merging: true
        case .deleting, .moving, .replacing, .metadata: false
        }
    }

    func item(_ path: String) -> ClaimRequest.Item {
        switch self {
        case .reading: ClaimRequest.Item(path, reading: [])
        case .writing: ClaimRequest.Item(path, writing: "plain")
        case .deleting: ClaimRequest.Item(path, writing: "forDeleting")
        case .moving: ClaimRequest.Item(path, writing: "forMoving")
        case .replacing: ClaimRequest.Item(path, writing: "forReplacing")
        case .merging: ClaimRequest.Item(path, writing: "forMerging")
        case .metadata: ClaimRequest.Item(path, writing: "contentIndependentMetadataOnly")
        }
    }
}
