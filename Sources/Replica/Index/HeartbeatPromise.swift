import GRDB
package import Model

/// What a device's newest commit promises: another one.
package struct HeartbeatPromise: Hashable, Sendable {
    package let device: DeviceID
    /// When the commit was written by its device's clock, or applied here if that was earlier.
    package let time: Timestamp
    /// Within how many seconds the next one follows: 60 to 2,592,000.
    package let seconds: Int
}

extension Rows {
    /// The promises of all devices, this one's among them.
    package func heartbeats() throws -> [HeartbeatPromise] {
        try all("SELECT device, time, seconds FROM heartbeats ORDER BY device", []) { row in
            guard let device = DeviceID(row[0] as String) else {
                throw FileError(.inputOutput, "the index names a device \(row[0] as String)")
            }
            return HeartbeatPromise(device: device, time: Timestamp(rawValue: row[1]), seconds: row[2])
        }
    }
}
