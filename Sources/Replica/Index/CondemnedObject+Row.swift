import Foundation
import GRDB
package import Model

/// Packs and manifests that no new record may refer to: they were found to be unreferenced.
///
/// Condemning is final: the rows are kept, so that a device that remembers chunks from long ago does not refer to
/// objects that are deleted by now.
extension Rows {
    package func isCondemned(_ object: CondemnedObject) throws -> Bool {
        try exists("SELECT 1 FROM condemned WHERE object = ?", [object.row])
    }

    /// Whether some of the bytes are in condemned packs.
    package func refersToCondemned(_ content: Content) throws -> Bool {
        // Runs of one pack are adjacent.
        var last: PackID?
        for pack in content.packs where pack != last {
            if try isCondemned(.pack(pack)) { return true }
            last = pack
        }
        return false
    }

    /// The given objects that may be deleted: condemned by a commit of that time, or an earlier one.
    package func condemned(among objects: [CondemnedObject], upTo time: Timestamp) throws -> Set<CondemnedObject> {
        Set(
            try objects.filter {
                try exists("SELECT 1 FROM condemned WHERE object = ? AND time <= ?", [$0.row, time.rawValue])
            })
    }
}

extension ReplicaTransaction {
    /// Notes the objects that a commit condemns, and forgets the chunks in them.
    package func condemn(_ objects: [CondemnedObject], number: CommitNumber, time: Timestamp) throws {
        guard !objects.isEmpty else { return }
        for object in objects {
            try rows.execute(
                "INSERT OR IGNORE INTO condemned(object, number, time) VALUES(?, ?, ?)",
                [object.row, Int64(bitPattern: number), time.rawValue])
        }
        try rows.execute("DELETE FROM chunks WHERE pack IN (SELECT object FROM condemned)")
    }
}

extension CondemnedObject {
    /// As in the index: 16 bytes for a pack, adopted or not, 32 for a manifest.
    var row: Data {
        switch self {
        case .pack(let id), .adopted(let id): withUnsafeBytes(of: id.uuid.uuid) { Data($0) }
        case .manifest(let hash): Data(hash.bytes)
        }
    }

    init?(row: Data) {
        if let hash = ChunkHash(bytes: row) {
            self = .manifest(hash)
        } else if let uuid = UUID.fromDatabaseValue(row.databaseValue) {
            let pack = PackID(uuid: uuid)
            self = pack.mayBeAdopted ? .adopted(pack) : .pack(pack)
        } else {
            return nil
        }
    }
}
