import CFuse
import FileSystem
import Glibc
import Metering
import Model
import Sync

/// The requests of the ``AnnouncementHelper``, which are answered from what is done already: nothing is changed, no file is
/// opened, nothing waits for a turn, and nothing counts as used.
extension Operations {
    /// - Returns: The announcer, if the request is its helper's.
    static func announcer(of request: Request) -> ChangeAnnouncer? {
        guard let announcer = request.session.announcer,
            announcer.isHelper(fuse_req_ctx(request.pointer)!.pointee.pid)
        else { return nil }
        return announcer
    }

    /// - Returns: Whether the request was answered; otherwise the name is as for everybody.
    static func lookUp(_ entry: EntryName, for announcer: ChangeAnnouncer, _ request: Request) -> Bool {
        switch announcer.view(of: entry) {
        case .absent?: Reply(request).noEntry()
        case .present(let attributes)?: Reply(request).announced(current(attributes, request))
        case nil: return false
        }
        return true
    }

    /// Answers what creates, removes or moves a name, or sets times: done, if it is the call that is to be made now.
    static func answer(
        _ request: Request, of announcer: ChangeAnnouncer, _ isMade: (Announcement.Call) -> Bool
    ) {
        guard let call = announcer.current, isMade(call) else { return Reply(request).error(EPERM) }
        switch call {
        case .create(_, let attributes): Reply(request).announced(current(attributes, request))
        case .remove, .move, .replace: Reply(request).done()
        case .touch(_, let attributes), .modify(_, let attributes):
            Reply(request).attributes(current(attributes, request))
        }
    }

    /// - Returns: Whether the request was the helper's, and is answered.
    static func announcesCreation(_ request: Request, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) -> Bool {
        announces(request) { call in
            guard case .create(let entry, let attributes) = call, !attributes.inode.isVirtual else { return false }
            return entry.has(name, in: InodeNumber(parent))
        }
    }

    /// - Returns: Whether the request was the helper's, and is answered.
    static func announcesRemoval(_ request: Request, _ parent: fuse_ino_t, _ name: UnsafePointer<CChar>?) -> Bool {
        announces(request) { call in
            guard case .remove(let entry, _) = call else { return false }
            return entry.has(name, in: InodeNumber(parent))
        }
    }

    /// - Returns: Whether the request was the helper's, and is answered.
    static func announcesMove(
        _ request: Request, _ from: (parent: InodeNumber, name: UnsafePointer<CChar>?),
        _ to: (parent: InodeNumber, name: UnsafePointer<CChar>?)
    ) -> Bool {
        announces(request) { call in
            switch call {
            case .move(let old, let new, _): old.has(from.name, in: from.parent) && new.has(to.name, in: to.parent)
            case .replace(let entry, _, _): from.parent == .announcementDirectory && entry.has(to.name, in: to.parent)
            case .create, .remove, .modify, .touch: false
            }
        }
    }

    private static func announces(_ request: Request, _ isMade: (Announcement.Call) -> Bool) -> Bool {
        guard let announcer = announcer(of: request) else { return false }
        answer(request, of: announcer, isMade)
        return true
    }

    static func create(_ entry: EntryName, for announcer: ChangeAnnouncer, _ request: Request, _ file: fuse_file_info) {
        guard case .create(entry, let attributes)? = announcer.current, attributes.inode.isVirtual else {
            return Reply(request).error(EPERM)
        }
        var file = file
        file.direct_io = 1
        Reply(request).announced(attributes, &file)
    }

    /// The attributes as they are now: the kernel takes them over, and the file may have been written since.
    private static func current(_ attributes: Attributes, _ request: Request) -> Attributes {
        if attributes.inode.isVirtual { return attributes }
        return (try? request.fileSystem.current(of: attributes.inode)) ?? attributes
    }

    // MARK: Virtual inodes

    /// Answers a request for an inode that is there for the helper alone.
    ///
    /// - Returns: Whether it is such an inode.
    static func answerVirtual(_ request: Request, _ inode: InodeNumber) -> Bool {
        guard inode.isVirtual else { return false }
        if let attributes = request.session.announcer?.attributes(ofVirtual: inode) {
            Reply(request).attributes(attributes)
        } else {
            Reply(request).error(ESTALE)
        }
        return true
    }

    static func openVirtual(_ request: Request, _ inode: InodeNumber, _ file: fuse_file_info) -> Bool {
        guard inode.isVirtual else { return false }
        guard announcer(of: request) != nil else {
            Reply(request).error(ESTALE)
            return true
        }
        var file = file
        file.direct_io = 1
        _ = Reply(request).opened(&file)
        return true
    }

    /// - Returns: Whether it is such an inode, of which there is nothing to close or to forget.
    static func endVirtual(_ request: Request, _ inode: InodeNumber) -> Bool {
        guard inode.isVirtual else { return false }
        Reply(request).done()
        return true
    }
}

extension EntryName {
    fileprivate func has(_ name: UnsafePointer<CChar>?, in parent: InodeNumber) -> Bool {
        guard self.parent == parent, let name = try? ItemName(name) else { return false }
        return self.name == name
    }
}

extension Announcement.Call {
    /// Whether it sets times of an inode.
    func isTouch(of inode: InodeNumber) -> Bool {
        guard case .touch(_, let attributes) = self else { return false }
        return attributes.inode == inode
    }
}

extension Reply {
    /// An entry that the helper alone is shown, so that nobody may cache it.
    consuming func announced(_ attributes: Attributes) {
        let fileSystem = session.fileSystem
        var entry = fuse_entry_param(announced: attributes, fileSystem)
        let result = fuse_reply_entry(request, &entry)
        if result != 0, !attributes.inode.isVirtual { fileSystem.forget(attributes.inode) }
        measurement.end()
        discard self
    }

    consuming func announced(_ attributes: Attributes, _ file: inout fuse_file_info) {
        var entry = fuse_entry_param(announced: attributes, session.fileSystem)
        fuse_reply_create(request, &entry, &file)
        measurement.end()
        discard self
    }
}

extension fuse_entry_param {
    /// How long the kernel may cache attributes that the helper was shown, in seconds: of an item that is gone it cannot ask
    /// for them again.
    private static let announcedTime = 1.0

    /// Counts the kernel's reference.
    fileprivate init(announced attributes: Attributes, _ fileSystem: FileSystem) {
        if !attributes.inode.isVirtual { _ = fileSystem.referenced(attributes) }
        self.init(attributes, .none)
        attr_timeout = Self.announcedTime
    }
}
