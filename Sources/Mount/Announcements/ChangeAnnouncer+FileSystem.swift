import FileSystem
import Logging
import Model
import Sync

extension ChangeAnnouncer {
    /// Announces the changes of a file system.
    convenience init(_ fileSystem: FileSystem, logger: Logger) {
        let tree = AnnouncementPlan.Tree(
            attributes: { try? fileSystem.current(of: $0) },
            names: { (try? fileSystem.entryNames(of: $0)) ?? [] },
            isLocal: { (try? fileSystem.isLocal($0)) ?? false })
        self.init(logger: logger, tree: tree) { fileSystem.unavailable(.watchEvents, because: $0) }
    }
}
