import GRDB
package import Model

/// Earlier states of items, and deleted ones.
extension Replica {
    /// The earlier states of an item, the newest first.
    package func history(of item: ItemID) throws(FileError) -> [EarlierState] {
        try read { try $0.history(of: item) }
    }

    /// The ids of an item's versions that were discarded here.
    package func discardedVersions(of item: ItemID) throws(FileError) -> Set<String> {
        try read { try $0.discardedVersions(of: item) }
    }

    /// The last state of every item that was deleted and not restored, the latest deletion first.
    package func deletedItems() throws(FileError) -> [EarlierState] { try readSnapshot { try $0.deletedItems() } }

    /// The last state of an item whose deletion waits to be uploaded.
    package func queuedDeletion(of item: ItemID) throws(FileError) -> ItemRecord? {
        try readSnapshot { rows in
            guard try rows.outboxRow(of: item)?.deletedBase != nil else { return nil }
            return try rows.deletedItem(item)?.record
        }
    }

    /// - Returns: `nil` when the item was never deleted, was restored, or is no longer kept.
    package func deletedItem(_ item: ItemID) throws(FileError) -> EarlierState? {
        try readSnapshot { try $0.deletedItem(item) }
    }

    /// Forgets earlier states that were replaced before `time`.
    package func dropHistory(before time: Timestamp) throws(FileError) {
        try change { try $0.rows.dropHistory(before: time) }
    }

    /// The devices whose commits were applied here, with their human names, in the order of the names.
    package func devices() throws(FileError) -> [(device: String, name: String)] { try read { try $0.devices() } }

    /// The human name of a device, if a commit of it was applied here.
    package func deviceName(_ device: DeviceID) throws(FileError) -> String? {
        try read { try $0.deviceName(device) }
    }
}
