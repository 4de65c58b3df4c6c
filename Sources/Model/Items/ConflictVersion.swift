package import Foundation

/// The loser of two edits that met: kept with its bytes until somebody resolves the conflict.
///
/// It travels in the record of its item, so every device shows the same ones. Apple's name for it is a conflict version of
/// `NSFileVersion`.
package struct ConflictVersion: Hashable, Sendable, Codable {
    /// Names the version for as long as it is kept, on every device.
    package var id: UUID
    /// Who made it, and that device's human name, at most 255 bytes.
    package var device: DeviceID
    package var deviceName: String
    package var modified: Timestamp
    package var size: Int64
    package var content: ItemRecord.Reference

    package init(
        id: UUID, device: DeviceID, deviceName: String, modified: Timestamp, size: Int64, content: ItemRecord.Reference
    ) {
        self.id = id
        self.device = device
        self.deviceName = deviceName
        self.modified = modified
        self.size = size
        self.content = content
    }

    /// Whether the two are one edit that met another twice, on two devices that did not know of each other.
    package func isSameEdit(as other: ConflictVersion) -> Bool {
        device == other.device && modified == other.modified && size == other.size && content == other.content
    }
}
