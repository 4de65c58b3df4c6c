import Model

/// How a command accesses an item, as the options of `coordinate` call it.
enum ItemAccess: CaseIterable {
    case reading, writing, deleting, moving, replacing, merging, metadata

    /// Whether the claim is only granted when the item's bytes are here.
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
