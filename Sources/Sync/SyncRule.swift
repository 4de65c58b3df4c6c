package import Model
import Replica

/// Which names reach the container, by the rules of a mount.
package struct SyncRule {
    /// How many directories may nest below `Documents`; `nil` for no limit.
    let levelLimit: Int?
    let isLocalOnly: @Sendable (ItemName, ItemSample) throws -> Bool

    package init(
        _ identity: ContainerIdentity, isLocalOnly: @escaping @Sendable (ItemName, ItemSample) throws -> Bool
    ) {
        levelLimit = identity.settings.folderLevels.limit
        self.isLocalOnly = isLocalOnly
    }

    /// A valid name, or why it is refused.
    ///
    /// - Parameter sample: What the item is.
    package func name(_ bytes: some Sequence<UInt8>, _ sample: ItemSample) -> Result<ItemName, Refusal> {
        let bytes = Array(bytes)
        let name: ItemName
        do throws(FileError) {
            name = try bytes.withUnsafeBufferPointer { buffer throws(FileError) in try ItemName(bytes: buffer) }
        } catch {
            let reason =
                switch error.code {
                case .notUTF8: "its name is not UTF-8"
                case .nameTooLong: "its name is longer than \(ItemName.byteLimit) bytes"
                default: "it has a name that no item can have"
                }
            return .failure(Refusal(reason))
        }
        do {
            if try !isLocalOnly(name, sample) { return .success(name) }
            return .failure(Refusal("files with such names are not synced"))
        } catch {
            return .failure(Refusal("it cannot be read: \(error)"))
        }
    }

    /// Why there may be no directory at a path of the container; `nil` when it is allowed.
    package func refusal(ofDirectoryAt path: [ItemName]) -> Refusal? {
        guard let levelLimit, let first = path.first, first.string.utf8.elementsEqual("Documents".utf8),
            path.count - 1 > levelLimit
        else { return nil }
        return Refusal(
            levelLimit == 0
                ? "this container allows no directories below Documents"
                : "this container allows \(levelLimit) level of directories below Documents")
    }

    /// The reason, for people.
    package struct Refusal: Error, Equatable {
        package let reason: String

        package init(_ reason: String) { self.reason = reason }
    }
}
