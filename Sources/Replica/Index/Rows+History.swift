import Foundation
import GRDB
package import Model

/// The table `history`: the container's states of an item, until they were replaced or deleted.
extension Rows {
    private static let historyColumns = "h.item, h.number, h.replaced, h.deleted, h.record"

    private static func earlierState(_ row: ResultRow) throws -> EarlierState {
        EarlierState(
            number: CommitNumber(bitPattern: row[1] as Int64), replaced: Timestamp(rawValue: row[2]),
            isDeleted: row[3], record: try ItemRecord(packed: row[4]))
    }

    /// The earlier states of an item, the newest first.
    package func history(of item: ItemID) throws -> [EarlierState] {
        try all(
            "SELECT \(Self.historyColumns) FROM history h WHERE h.item = ? ORDER BY h.number DESC", [item.uuid],
            Self.earlierState)
    }

    /// The last state of every item that was deleted and not restored, the latest deletion first.
    package func deletedItems() throws -> [EarlierState] {
        try all(
            """
            SELECT \(Self.historyColumns) FROM history h WHERE h.deleted = 1
            AND NOT EXISTS(SELECT 1 FROM entries e WHERE e.item = h.item)
            AND NOT EXISTS(SELECT 1 FROM history n WHERE n.item = h.item AND n.number > h.number)
            ORDER BY h.replaced DESC, h.item
            """, [], Self.earlierState)
    }

    /// The last state of one item that was deleted.
    /// - Returns: `nil` when the item was never deleted, was restored, or is no longer kept.
    package func deletedItem(_ item: ItemID) throws -> EarlierState? {
        guard try entryRow(of: item) == nil, let state = try history(of: item).first, state.isDeleted else {
            return nil
        }
        return state
    }

    /// The last state of an item whose deletion waits to be uploaded.
    package func queuedDeletion(of item: ItemID) throws -> ItemRecord? {
        try outbox.isDeletionQueued(item) ? deletedItem(item)?.record : nil
    }

    /// The ids of an item's versions that were discarded here.
    package func discardedVersions(of item: ItemID) throws -> Set<String> {
        Set(try all("SELECT version FROM discarded WHERE item = ?", [item.uuid]) { $0[0] as String })
    }

    /// The devices whose commits were applied here, with their human names, in the order of the names.
    package func devices() throws -> [(device: String, name: String)] {
        try all("SELECT device, name FROM devices ORDER BY name, device", []) { ($0[0] as String, $0[1] as String) }
    }

    /// The human name of a device, if a commit of it was applied here.
    package func deviceName(_ device: DeviceID) throws -> String? {
        try first("SELECT name FROM devices WHERE device = ?", [device.description]) { $0[0] as String }
    }
}
