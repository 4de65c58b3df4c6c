import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// Limits the work of reading another device's snapshot in proportion to its length. Statements that exceed the limit
/// are interrupted.
final class SnapshotEffort: Sendable {
    /// The number of steps of SQLite's virtual machine between two checks.
    private static let stepsPerLook: Int32 = 100_000
    /// The allowance of steps for any snapshot, and the additional steps for each of its bytes. One of a million items
    /// takes some ten for a byte.
    static let stepLimit: Int64 = 100_000_000
    private static let stepsPerByte: Int64 = 60

    private let looksLeft: Atomic<Int64>

    /// - Parameters:
    ///   - path: The unpacked file.
    ///   - stepLimit: How many steps an empty file may take.
    init(path: String, stepLimit: Int64 = SnapshotEffort.stepLimit) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let byteCount = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
        let steps = stepLimit + min(byteCount, .max >> 8) * Self.stepsPerByte
        looksLeft = Atomic(steps / Int64(Self.stepsPerLook))
    }

    /// Begins to count the steps of a connection; ``end(_:)`` must follow while this object exists.
    func begin(_ database: Database) {
        let effort = Unmanaged.passUnretained(self).toOpaque()
        sqlite3_progress_handler(
            database.sqliteConnection, Self.stepsPerLook,
            { effort in
                guard let effort else { return 0 }
                let this = Unmanaged<SnapshotEffort>.fromOpaque(effort).takeUnretainedValue()
                // A value other than 0 interrupts the statement.
                return this.looksLeft.subtract(1, ordering: .relaxed).newValue < 0 ? 1 : 0
            }, effort)
    }

    func end(_ database: Database) { sqlite3_progress_handler(database.sqliteConnection, 0, nil, nil) }
}
