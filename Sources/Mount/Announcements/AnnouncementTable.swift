import Model
import Sync

/// The announcements that are still to be made, in order, and the tree as the helper sees it meanwhile: without the changes
/// that are not announced yet.
struct AnnouncementTable: Sendable {
    /// How many announcements wait at most, of some 500 bytes each.
    static let limit = 16_384
    /// How many directories are noted of which not every change could be announced.
    static let directoryLimit = 1_024

    private var waiting: [Announcement] = []
    /// How many of `waiting` are done: they are removed many at a time.
    private var doneCount = 0
    /// What each name refers to before each of the announcements that change it.
    private var views: [EntryName: [Announcement.View]] = [:]
    private var formers: [InodeNumber: [EntryName]] = [:]
    private var last: UInt64 = 0
    /// The last announcement that may be made.
    private var released: UInt64 = 0
    /// Directories with changes that found no room.
    private var overflown: Set<InodeNumber> = []

    var isEmpty: Bool { doneCount == waiting.count && overflown.isEmpty }

    /// The number of the last announcement.
    var newest: UInt64 { last }

    mutating func append(_ call: Announcement.Call) {
        let announcement = Announcement(number: last + 1, call: call.openingVirtualFile(last + 1))
        guard waiting.count - doneCount < Self.limit else {
            for (entry, _) in announcement.views where overflown.count < Self.directoryLimit {
                overflown.insert(entry.parent)
            }
            return
        }
        last += 1
        waiting.append(announcement)
        for (entry, view) in announcement.views { views[entry, default: []].append(view) }
        if let former = announcement.former { formers[former.inode, default: []].append(former.entry) }
    }

    /// Announcements up to a number may be made: the kernel has forgotten what it had cached.
    mutating func release(through number: UInt64) { released = max(released, number) }

    /// The announcement to be made now, until it is finished.
    var current: Announcement? {
        guard doneCount < waiting.count, waiting[doneCount].number <= released else { return nil }
        return waiting[doneCount]
    }

    /// The current announcement was made, or could not be made.
    ///
    /// - Parameter number: Its number: all may have been dropped meanwhile, and others be there.
    mutating func finish(_ number: UInt64) {
        guard let announcement = current, announcement.number == number else { return }
        // They are in the order of the announcements.
        for (entry, _) in announcement.views {
            views[entry]?.removeFirst()
            if views[entry]?.isEmpty ?? false { views[entry] = nil }
        }
        if let former = announcement.former {
            formers[former.inode]?.removeFirst()
            if formers[former.inode]?.isEmpty ?? false { formers[former.inode] = nil }
        }
        doneCount += 1
        if doneCount == waiting.count || doneCount == Self.limit / 2 {
            waiting.removeFirst(doneCount)
            doneCount = 0
        }
    }

    /// Directories of which not every change was announced, once the others are.
    mutating func takeOverflown() -> Set<InodeNumber> {
        guard doneCount == waiting.count else { return [] }
        defer { overflown = [] }
        return overflown
    }

    /// Drops everything: those who watch see no more of it.
    mutating func removeAll() {
        waiting = []
        doneCount = 0
        views = [:]
        formers = [:]
        overflown = []
    }

    /// What a name refers to for the helper; `nil` when it is as for everybody.
    func view(of entry: EntryName) -> Announcement.View? { views[entry]?.first }

    /// The name that leads the helper to a directory; `nil` when it is as for everybody.
    func former(of directory: InodeNumber) -> EntryName? { formers[directory]?.first }
}
