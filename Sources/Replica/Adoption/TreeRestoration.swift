import CLinux
import Foundation
import Glibc
import Linux
import Model

/// Gives what lies in `files/` the names, modes, owners, times and attributes that the items have, and makes what is in the index
/// alone.
///
/// Programs may have directories of the tree open since before it was taken over, and put other objects at names in it: what is
/// not the object that the index knows is left as it is, and reported. It may be interrupted and run again.
struct TreeRestoration {
    private(set) var report = ReturnedTree()
    private let rows: Rows
    /// A directory that only this user can reach, on the same file system.
    private let workshop: Descriptor
    private let device: UInt64
    private let user = geteuid()

    init(_ rows: Rows, making workshop: Descriptor, device: UInt64) {
        self.rows = rows
        self.workshop = workshop
        self.device = device
    }

    /// An item whose name on the disk is another one than its own.
    private struct Escaped {
        let row: InodeRow
        let name: ItemName
        let backing: ItemName
    }

    mutating func restoreContents(of number: InodeNumber, in handle: Descriptor, at path: ItemPath) throws {
        var escaped: [ItemName: Escaped] = [:]
        var missing: [(row: InodeRow, name: ItemName)] = []
        for entry in try rows.entryRows(in: number) {
            let row = try rows.inodeRow(entry.inode)
            guard row.identity != nil else {
                missing.append((row, entry.name))
                continue
            }
            let backing = try ItemName(PlaceholderName.backingName(of: entry.name))
            let inner = path.appending(entry.name.string)
            guard let object = try find(row, [backing, entry.name], in: handle) else {
                report.note(inner, "it is not what the mount had; what is there now was left as it was")
                continue
            }
            try restore(row, object, at: inner)
            if backing != entry.name { escaped[backing] = Escaped(row: row, name: entry.name, backing: backing) }
        }
        try rename(&escaped, in: handle, at: path)
        for (row, name) in missing {
            try make(row, at: BackingPlace(directory: handle, name: name.string), path.appending(name.string))
        }
    }

    /// It has its own name where an earlier run has come so far.
    private func find(_ row: InodeRow, _ names: [ItemName], in handle: Descriptor) throws -> HeldObject? {
        for name in names {
            guard let object = try row.held(at: BackingPlace(directory: handle, name: name.string)) else { continue }
            if try object.descriptor.status().device == device { return object }
        }
        return nil
    }

    private mutating func rename(
        _ escaped: inout [ItemName: Escaped], in handle: Descriptor, at path: ItemPath
    ) throws {
        while var next = escaped.values.first {
            // The name of one can be that of another on the disk, which goes first. No two names lead to each other.
            for _ in escaped { next = escaped[next.name] ?? next }
            escaped[next.backing] = nil
            let place = BackingPlace(directory: handle, name: next.name.string)
            let backing = BackingPlace(directory: handle, name: next.backing.string)
            guard try next.row.held(at: place) == nil, try next.row.held(at: backing) != nil else { continue }
            do throws(FileError) { try SystemCalls.rename(backing, to: place) } catch {
                guard error.code == .exists else { throw error }
                report.note(
                    path.appending(next.name.string),
                    "another program has put something there; it is \(next.backing) now")
            }
        }
    }

    private mutating func restore(_ row: InodeRow, _ object: HeldObject, at path: ItemPath) throws {
        let mode = try SystemCalls.status(of: object.descriptor).mode & 0o7777
        switch row.kind {
        case .directory:
            // An earlier run may have given it a mode with which it cannot be entered.
            if mode & 0o700 != 0o700 { try object.setMode(mode | 0o700) }
            try restoreContents(of: row.number, in: object.descriptor, at: path)
            try restoreAttributes(of: try object.opened(O_RDONLY | O_DIRECTORY), row)
        case .file:
            if mode & 0o600 != 0o600 { try object.setMode(mode | 0o600) }
            try restoreAttributes(of: try object.opened(O_RDONLY | O_NONBLOCK), row)
        case .symbolicLink, .fifo, .socket, .characterDevice, .blockDevice: break
        }
        try restoreAccess(object, row)
    }

    /// Owner and attributes of the directory itself. Those of one that was only mounted on were never in the index.
    func restoreRoot(_ target: Descriptor) throws {
        guard try rows.meta(.rootTaken, as: Bool.self) == true else { return }
        let root = try rows.inodeRow(.root)
        let attributes = try rows.xattrs(of: .root)
        do throws(FileError) {
            let status = try target.status()
            let (owner, group) = (root.attributes.owner, root.attributes.group)
            if status.owner != owner || status.group != group {
                try SystemCalls.check("chown") { fchown(target.rawValue, owner, group) }
            }
            try restoreAttributes(of: target, attributes)
        } catch {
            // It may be another user's.
            guard error.code == .notPermitted || error.code == .denied else { throw error }
        }
    }

    private func restoreAttributes(of object: Descriptor, _ row: InodeRow) throws {
        try restoreAttributes(of: object, rows.xattrs(of: row.number))
    }

    private func restoreAttributes(of object: Descriptor, _ wanted: [AttributeName: Data]) throws(FileError) {
        for name in object.userAttributeNames where wanted[AttributeName(name)] == nil {
            try object.removeExtendedAttribute(name)
        }
        for (name, value) in wanted where object.extendedAttribute(name.string).map({ Data($0) }) != value {
            try object.setExtendedAttribute(name.string, to: Array(value))
        }
    }

    // MARK: Access

    /// The owner before the mode, which loses bits with another owner, and the times last. What is as it should be is not touched.
    private func restoreAccess(_ object: HeldObject, _ row: InodeRow, adding bits: UInt16 = 0) throws {
        let before = try object.descriptor.status()
        try restoreOwner(object, row, before)
        if row.kind != .symbolicLink {
            let now = try object.descriptor.status()
            var mode = Self.mode(row, before, now, user) | bits
            // A file that has kept its access list keeps what that gives.
            if let list = object.accessList { mode = list.mode(for: mode, now: UInt16(now.mode & 0o7777)) }
            if now.mode & 0o7777 != UInt32(mode) { try object.setMode(mode) }
        }
        try object.setTimes(accessed: row.attributes.accessed, modified: row.attributes.modified)
    }

    private func restoreOwner(_ object: HeldObject, _ row: InodeRow, _ before: ObjectStatus) throws(FileError) {
        let (owner, group) = (row.attributes.owner, row.attributes.group)
        guard before.owner != owner || before.group != group else { return }
        // An ordinary user has only files of his own, and may give them to groups that he is in.
        guard user == 0 || before.owner == owner else { return }
        do throws(FileError) { try object.setOwner(owner, group: group) } catch {
            guard user != 0, error.code == .notPermitted || error.code == .denied else { throw error }
        }
    }

    /// Without the bits that let its users act as its owner or group where these are others than the item's, or where another user
    /// owned it on the disk: he could have written to it unseen.
    private static func mode(
        _ row: InodeRow, _ before: ObjectStatus, _ now: ObjectStatus, _ user: UInt32
    ) -> UInt16 {
        let mode = row.attributes.mode & 0o7777
        guard row.kind == .file, mode & 0o6000 != 0 else { return mode }
        func isItems(_ status: ObjectStatus) -> Bool {
            status.owner == row.attributes.owner && status.group == row.attributes.group
        }
        return isItems(before) || (before.owner == user && isItems(now)) ? mode : mode & 0o1777
    }

    // MARK: Making

    /// Where nobody else reaches it, and complete before it is moved to its place.
    private mutating func make(_ row: InodeRow, at place: BackingPlace, _ path: ItemPath) throws {
        guard row.kind != .file else { return report.note(path, "its bytes are missing from this disk") }
        // Of an earlier run, or of another program: it is not touched.
        guard try SystemCalls.statusIfPresent(place) == nil else {
            if ItemKind(try SystemCalls.entry(place)) == row.kind { return try endMove(row, of: HeldObject(place)) }
            return report.note(path, "another program has put something there")
        }
        let made = BackingPlace(directory: workshop, name: Self.workName)
        try removeLeftovers(made)
        guard let object = try build(row, at: made, path, adding: row.kind == .directory ? 0o200 : 0) else { return }
        try SystemCalls.rename(made, to: place)
        try endMove(row, of: object)
    }

    /// The entry `..` of a directory changes with a move, for which its owner may write to it.
    private func endMove(_ row: InodeRow, of object: HeldObject) throws(FileError) {
        let mode = row.attributes.mode & 0o7777
        guard row.kind == .directory, try object.descriptor.status().mode & 0o7777 == UInt32(mode | 0o200) else {
            return
        }
        if mode & 0o200 == 0 { try object.setMode(mode) }
    }

    private static let workName = "returning"

    private func removeLeftovers(_ place: BackingPlace) throws(FileError) {
        guard let status = try SystemCalls.statusIfPresent(place) else { return }
        guard status.isDirectory else { return try SystemCalls.unlink(place) }
        try TreeRemoval.remove(place.name, in: place.directory, owner: try SystemCalls.entry(place).owner)
    }

    private mutating func build(
        _ row: InodeRow, at place: BackingPlace, _ path: ItemPath, adding bits: UInt16 = 0
    ) throws -> HeldObject? {
        switch row.kind {
        case .file:
            report.note(path, "its bytes are missing from this disk")
            return nil
        case .directory: try SystemCalls.makeDirectory(place)
        case .symbolicLink: try SystemCalls.makeSymbolicLink(place, to: row.target?.string ?? "")
        case .fifo, .socket, .characterDevice, .blockDevice:
            do throws(FileError) { try makeNode(row, at: place) } catch {
                guard user != 0, error.code == .notPermitted || error.code == .denied else { throw error }
                report.note(path, "only root can make it")
                return nil
            }
        }
        let object = try HeldObject(place)
        if row.kind == .directory {
            for entry in try rows.entryRows(in: row.number) {
                let inner = BackingPlace(directory: object.descriptor, name: entry.name.string)
                _ = try build(try rows.inodeRow(entry.inode), at: inner, path.appending(entry.name.string))
            }
            try restoreAttributes(of: try object.opened(O_RDONLY | O_DIRECTORY), row)
        }
        try restoreAccess(object, row, adding: bits)
        return object
    }

    private func makeNode(_ row: InodeRow, at place: BackingPlace) throws(FileError) {
        let type: mode_t =
            switch row.kind {
            case .fifo: S_IFIFO
            case .socket: S_IFSOCK
            case .characterDevice: S_IFCHR
            default: S_IFBLK
            }
        try SystemCalls.check("mknod", place.name) {
            mknodat(place.directory.rawValue, place.name, type | 0o600, dev_t(row.attributes.device))
        }
    }
}
