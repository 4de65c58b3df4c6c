import Foundation
import Logging
package import Model
import Replica
import Sync

/// Items that stay on this device because of their names.
extension FileSystem {
    package func syncUnlikeTemporary() throws(FileError) {
        let count = try replica.syncUnlikeTemporary { [files] number in files.open.inode(number)?.hasWriters ?? false }
        guard count > 0 else { return }
        logger.info(
            "items that have the names of temporary files and are none are synced now", metadata: ["count": "\(count)"])
        activity.noteLocalChange()
    }

    /// Reports what a rename has taken from the container: it was not asked for in so many words.
    func noteDeparture(_ renamed: Renamed) {
        let departed = renamed.departed
        guard departed.itemCount > 0 else { return }
        let moved = [renamed.moved] + (renamed.exchanged.map { [$0] } ?? [])
        for number in moved
        where (try? replica.look { try $0.entries(of: number) }.contains { $0.item == nil }) ?? false {
            let path = (try? replica.look { try $0.path(of: number) }) ?? ""
            logger.warning(
                """
                an item was moved to a name or into a directory that is not synced: it stays on this device only, and is \
                deleted in the container; other devices find it in the trash
                """,
                metadata: [
                    "path": "\(path)", "items": "\(departed.itemCount)", "bytes": "\(departed.byteCount)",
                ])
            coordination.events.ubiquityAttributes(UbiquityKeys.isUbiquitous, of: number)
        }
    }
}
