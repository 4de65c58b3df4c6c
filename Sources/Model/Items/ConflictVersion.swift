package import Foundation

/// The loser of two concurrent edits: kept with its bytes until the conflict is resolved.
///
/// It is part of the record of its item, so every device shows the same ones. Apple's term is a conflict version of
/// `NSFileVersion`.
package struct ConflictVersion: Hashable, Sendable, Codable {
    /// Identifies the version on every device, for as long as it is kept.
    package var id: UUID
    /// The device that made it, and its human name, at most 255 bytes.
    package var device: DeviceID
    package var deviceName: DeviceName
    package var modified: Timestamp
    package var size: Int64
    package var content: ItemRecord.Reference

    package init(
        id: UUID, device: DeviceID, deviceName: DeviceName, modified: Timestamp, size: Int64,
        content: ItemRecord.Reference
    ) {
        self.id = id
        self.device = device
        self.deviceName = deviceName
        self.modified = modified
        self.size = size
        self.content = content
    }

    /// Whether the two are the same edit, which lost twice on two devices that did not know of each other.
    package func isSameEdit(as other: ConflictVersion) -> Bool {
        device == other.device && modified == other.modified && size == other.size && content == other.content
    }
}
