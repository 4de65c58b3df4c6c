import Control
import FileSystem
import Model

extension SimulatedDevice {
    /// Checks that nothing is locked and nobody waits, now that no program does anything.
    ///
    /// - Throws: ``Violation`` otherwise. A turn of a file that is open is in order: it ends with the last close.
    func checkLocks() throws {
        let open = Set(programs.openFiles.values)
        for node in try fileSystem.locks() {
            let holders = node.holders.filter { $0.claim != nil || !open.contains(node.inode) }
            guard holders.isEmpty, node.waiters.isEmpty, node.presenters.isEmpty else {
                throw Violation("\(name): nobody does anything, and \(node.path) is locked: \(node)")
            }
        }
        guard programs.claims.all.isEmpty else {
            throw Violation("\(name): claims were never ended: \(programs.claims.all)")
        }
    }
}
