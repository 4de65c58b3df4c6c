// The compiler finds `struct stat` in whichever of these two modules it reads first.
import CDispatch
import Foundation
import Glibc
import Model

/// Whether only the caller and root can change what a path refers to.
///
/// Like sshd(8)'s check of `authorized_keys`: each directory of the path belongs to the caller or root, and other users
/// may write to it only if it has the sticky bit. A user's private group, as created by useradd(8), does not count as
/// other users.
package struct TrustedPath {
    /// Absolute and without symbolic links.
    let path: String
    private let user = geteuid()
    private let namespace = UserNamespace()

    /// What is wrong with a directory of the path, as a sentence without its subject.
    struct Problem: Error, Equatable {
        let directory: String
        let sentence: String
    }

    /// Checks every existing directory of the path.
    func check() throws(Problem) {
        var current = ""
        try checkDirectory("/")
        for component in ItemPath(path).components {
            current += "/\(component)"
            guard try checkDirectory(current) else { return }
        }
    }

    /// - Returns: Whether it exists.
    @discardableResult
    private func checkDirectory(_ directory: String) throws(Problem) -> Bool {
        var status = stat()
        guard lstat(directory, &status) == 0 else {
            if errno == ENOENT { return false }
            throw Problem(directory: directory, sentence: "cannot be examined: \(String(cString: strerror(errno)))")
        }
        switch status.st_mode & S_IFMT {
        case S_IFDIR: break
        case S_IFLNK: throw Problem(directory: directory, sentence: "is a symbolic link")
        default: throw Problem(directory: directory, sentence: "is not a directory")
        }
        guard status.st_uid == user || status.st_uid == 0 || namespace.hides(status.st_uid) else {
            throw Problem(directory: directory, sentence: "belongs to \(Self.name(ofUser: status.st_uid))")
        }
        if status.st_mode & S_ISVTX != 0 { return true }
        if status.st_mode & S_IWOTH != 0 {
            throw Problem(directory: directory, sentence: "is writable by everyone")
        }
        if status.st_mode & S_IWGRP != 0, !Self.isPrivate(group: status.st_gid, of: status.st_uid) {
            throw Problem(directory: directory, sentence: "is writable by its group")
        }
        return true
    }

    /// Whether a group has the name of its user and no other members.
    private static func isPrivate(group: gid_t, of user: uid_t) -> Bool {
        guard let entry = getpwuid(user), entry.pointee.pw_gid == group else { return false }
        let name = String(cString: entry.pointee.pw_name)
        guard let found = getgrgid(group), String(cString: found.pointee.gr_name) == name else { return false }
        var member = found.pointee.gr_mem
        while let text = member?.pointee {
            if String(cString: text) != name { return false }
            member = member?.successor()
        }
        return true
    }

    package static func name(ofUser user: UInt32) -> String {
        getpwuid(user).map { "\(String(cString: $0.pointee.pw_name)) (user \(user))" } ?? "user \(user)"
    }
}

/// In an unprivileged container the machine's root has no id: its files seem to belong to nobody. Related:
/// user_namespaces(7).
private struct UserNamespace {
    private let overflowUser: uid_t?

    init() {
        func text(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
        // Outside such a namespace one line maps all ids to themselves.
        let isWhole = text("/proc/self/uid_map").split(whereSeparator: \.isWhitespace) == ["0", "0", "4294967295"]
        overflowUser =
            isWhole ? nil : uid_t(text("/proc/sys/kernel/overflowuid").trimmingCharacters(in: .whitespacesAndNewlines))
    }

    func hides(_ user: uid_t) -> Bool { user == overflowUser }
}
