/// How a claim reads. The raw values are those of `NSFileCoordinator.ReadingOptions`.
package struct ReadingOptions: OptionSet, Hashable, Sendable, Codable {
    package let rawValue: UInt

    package init(rawValue: UInt) { self.rawValue = rawValue }

    /// Presenters are not asked to save first. Nothing else changes.
    package static let withoutChanges = ReadingOptions(rawValue: 1)
    /// The claim is on the target of a symbolic link; the caller that resolves the item has followed the link already.
    package static let resolvesSymbolicLink = ReadingOptions(rawValue: 2)
    /// Granted without the bytes; readers, writers and presenters of this machine are respected all the same.
    package static let immediatelyAvailableMetadataOnly = ReadingOptions(rawValue: 4)
    /// A snapshot is made under the claim, which is released before the snapshot is read.
    package static let forUploading = ReadingOptions(rawValue: 8)

    /// - Throws: ``ClaimError/unknownOptions(_:)``.
    package init(checking bits: UInt) throws(ClaimError) {
        guard bits & ~15 == 0 else { throw .unknownOptions(bits) }
        self.init(rawValue: bits)
    }
}

/// The purpose of a write claim; one at a time. The raw values are those of `NSFileCoordinator.WritingOptions`.
package enum WritingOption: UInt, Hashable, Sendable, Codable, CaseIterable {
    /// Changing the content, without any option.
    case plain = 0
    case forDeleting = 1
    case forMoving = 2
    case forMerging = 4
    case forReplacing = 8
    case contentIndependentMetadataOnly = 16

    /// - Throws: ``ClaimError/unknownOptions(_:)``, ``ClaimError/severalWritingOptions(_:)``.
    package init(checking bits: UInt) throws(ClaimError) {
        guard bits & ~31 == 0 else { throw .unknownOptions(bits) }
        guard let option = WritingOption(rawValue: bits) else { throw .severalWritingOptions(bits) }
        self = option
    }
}

/// What a claim is for.
package enum AccessKind: Hashable, Sendable, Codable {
    case read(ReadingOptions)
    case write(WritingOption)

    package var isWrite: Bool {
        switch self {
        case .read: false
        case .write: true
        }
    }

    /// Whether it extends from a directory to everything in it.
    package var isDeep: Bool {
        switch self {
        case .read, .write(.plain), .write(.forMerging), .write(.contentIndependentMetadataOnly): false
        case .write(.forDeleting), .write(.forMoving), .write(.forReplacing): true
        }
    }

    /// Whether the bytes must be local before it is granted: other accesses never read them.
    package var wantsBytes: Bool {
        switch self {
        case .read(let options): !options.contains(.immediatelyAvailableMetadataOnly)
        case .write(.plain), .write(.forMerging): true
        case .write(.forDeleting), .write(.forMoving), .write(.forReplacing),
            .write(.contentIndependentMetadataOnly):
            false
        }
    }
}

/// Why a request was refused before it was queued.
package enum ClaimError: Error, Hashable, Sendable {
    /// Undefined bits.
    case unknownOptions(UInt)
    case severalWritingOptions(UInt)
    /// `resolvesSymbolicLink` and `forReplacing` do not apply to a batch, which accesses nothing itself.
    case notForBatches(AccessKind)
    case noItems
    /// A bound of ``ClaimLimits`` is reached.
    case tooMany
    /// The name of the set is in use.
    case idInUse(ClaimSetID)
    /// All calls of this coordinator were cancelled, future ones included.
    case cancelled(CoordinatorID)
}
