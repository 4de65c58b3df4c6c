import Model
import Replica
import Linux

/// How many of the mount's descriptors one process and one user may have: so many that there are always some left for
/// others, however many open as many files as they can.
///
/// A share is a multiple of what is left, not a number: whoever comes later still gets the same part of the rest.
enum OpenFileShare {
    /// A process alone may have fifteen sixteenths of them.
    private static let processFactor = 15
    /// The processes of a user together may have a little more, so that one of them leaves something to the others.
    private static let userFactor = 31
    /// What nobody's share counts: the daemon's own descriptors come and go, and take the lowest numbers that are free,
    /// so up to as many may be in use above those of files a moment later.
    private static let uncounted = 32
    /// A user with fewer files open than this is never refused for his share.
    private static let alwaysAllowed = 8

    /// - Parameters:
    ///   - process, user: How many files the process and its user have opened.
    ///   - left: How many descriptors are left.
    static func allows(process: Int, user: Int, left: Int) -> Bool {
        let shared = max(0, left - uncounted)
        return user < alwaysAllowed || (process <= processFactor * shared && user <= userFactor * shared)
    }

    /// Whether every share allows one more file, whoever has the others: then nobody needs to be counted.
    static func allowsAnyone(open: Int, left: Int) -> Bool { allows(process: open, user: open, left: left) }
}

extension FileSystem {
    /// Refuses a caller the descriptor of a file that is not open yet when its share is used up.
    /// - Throws: `openFileShareUsed`.
    func admit(_ descriptor: Descriptor, by caller: Caller) throws(FileError) {
        let left = DescriptorReserve.countLeft(besides: descriptor)
        // The kernel assigns the lowest free number, so no more are open than the number says.
        if OpenFileShare.allowsAnyone(open: Int(descriptor.rawValue), left: left) { return }
        let process = ProcessTable.process(ofThread: caller.thread)
        var processes: [Int32: Int32] = [caller.thread: process]
        var (ofProcess, ofUser) = (0, 0)
        for opener in files.open.openInodes.map(\.opener) {
            if opener.user == caller.user { ofUser += 1 }
            let other = processes[opener.thread] ?? ProcessTable.process(ofThread: opener.thread)
            processes[opener.thread] = other
            if other == process { ofProcess += 1 }
        }
        guard OpenFileShare.allows(process: ofProcess, user: ofUser, left: left) else {
            throw FileError(
                .openFileShareUsed,
                "\(ofProcess) files are open by this process and \(ofUser) by its user; others need the rest")
        }
    }
}
