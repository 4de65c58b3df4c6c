import FileSystem
import Logging
import Model
import Sync

extension ChangeAnnouncer {
    /// Announces the changes of a file system.
    ///
    /// - Parameter slots: Where the helper is kept for the next daemon, which must not carry out its calls.
    convenience init(_ fileSystem: FileSystem, logger: Logger, slots: HandleSlots? = nil) {
        let tree = AnnouncementPlan.Tree(
            attributes: { try? fileSystem.current(of: $0) },
            names: { (try? fileSystem.entryNames(of: $0)) ?? [] },
            isLocal: { (try? fileSystem.isLocal($0)) ?? false })
        self.init(logger: logger, tree: tree) {
            slots?.helper = $0
        } unavailable: {
            fileSystem.unavailable(.watchEvents, because: $0)
        }
    }
}
