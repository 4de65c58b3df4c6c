package import Foundation
package import Model

/// What a device tells the other devices of a container: that it is there, and up to where it knows the log.
///
/// Nothing is trusted from it but that a look at the log may pay.
package struct CommitHint: Hashable, Sendable {
    package let device: DeviceID
    /// The newest commit that the device has applied or made: 0 to ``Commit/highestNumber``.
    package let number: CommitNumber
    /// When it was sent, by the device's clock. It rises with each hint of a device, so that a repeated one is noticed.
    package let time: Timestamp
    /// In an encrypted container, the SHA-256 of that commit's sealed object, as far as it is known: two devices with
    /// different ones have been shown different histories.
    package let hash: Data?

    package init(device: DeviceID, number: CommitNumber, time: Timestamp, hash: Data? = nil) {
        self.device = device
        self.number = number
        self.time = time
        self.hash = hash
    }
}
