import Foundation
import Model

/// Locks for people: the tree of items that are held or waited for, in the format of `NSFileAccessNode`'s description.
///
///     Documents
///     <NSFileAccessNode #7> parent: <none>, name: "Documents"
///     presenters: <none>
///     access claims: <none>
///     children:
///       notes.txt
///       <NSFileAccessNode #42> parent: #7, name: "notes.txt"
///       presenters:
///           <NSFilePresenterProxy client: vim(99)> asked: save
///       access claims:
///           write claim (forMoving, purpose p) client: mv(1234) id: 88 state: granted age: 1.3 s
///       children: <none>
///
/// A directory without claims of its own is labelled with its inode if an item in it gives that, else with its name.
struct LockTree {
    private final class Node {
        let name: String
        var locks: [LockListing] = []
        var children: [Node] = []
        /// As given by an item in it.
        var inode: InodeNumber?

        init(name: String) { self.name = name }

        func child(_ name: String) -> Node {
            // Bytes are compared: a String treats differently composed names as equal.
            if let child = children.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) { return child }
            let child = Node(name: name)
            children.append(child)
            return child
        }
    }

    private let root = Node(name: "/")
    /// Open files that no longer have a name.
    private var nameless: [LockListing] = []

    init(_ locks: [LockListing]) {
        for lock in locks {
            guard !lock.path.isEmpty || lock.inode == .root else {
                nameless.append(lock)
                continue
            }
            let parts = lock.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
            if let parent = lock.parent { parts.dropLast().reduce(root) { $0.child($1) }.inode = parent }
            parts.reduce(root) { $0.child($1) }.locks.append(lock)
        }
    }

    var text: String {
        var lines: [String] = []
        if !root.locks.isEmpty { lines += Self.lines(of: root, parent: nil, withChildren: false) }
        let label = (root.locks.first?.inode ?? root.inode).map { "\($0)" }
        for child in root.children { lines += Self.lines(of: child, parent: label, withChildren: true) }
        for lock in nameless {
            let node = Node(name: "(unlinked)")
            node.locks = [lock]
            lines += Self.lines(of: node, parent: lock.parent.map { "\($0)" }, withChildren: false)
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(of node: Node, parent: String?, withChildren: Bool) -> [String] {
        let label = (node.locks.first?.inode ?? node.inode).map { "\($0)" } ?? node.name.printable
        let claims = node.locks.flatMap { lock in
            lock.holders.map { line(of: $0, state: "granted") } + lock.waiters.map { line(of: $0, state: "waiting") }
        }
        var lines = [
            node.name.printable,
            "<NSFileAccessNode \(label)> parent: \(parent ?? "<none>"), name: \"\(node.name.printable)\"",
        ]
        let presenters = node.locks.flatMap(\.presenters)
        lines.append(presenters.isEmpty ? "presenters: <none>" : "presenters:")
        lines += presenters.map { "    \(line(of: $0))" }
        lines.append(claims.isEmpty ? "access claims: <none>" : "access claims:")
        lines += claims.map { "    \($0)" }
        guard withChildren, !node.children.isEmpty else { return lines + ["children: <none>"] }
        lines.append("children:")
        for child in node.children {
            lines += Self.lines(of: child, parent: label, withChildren: true).map { "  \($0)" }
        }
        return lines
    }

    private static func line(of presenter: LockListing.PresenterProxy) -> String {
        let asked = presenter.unanswered.map(\.rawValue).joined(separator: ", ")
        return "<NSFilePresenterProxy client: \(client(presenter.command, [presenter.process]))>"
            + (asked.isEmpty ? "" : " asked: \(asked)") + (presenter.isUnresponsive ? " (does not answer)" : "")
    }

    private static func line(of party: LockListing.Party, state: String) -> String {
        let detail = party.detail.isEmpty ? "" : " (\(party.detail.printable))"
        let waitsFor = party.waitsFor.map(String.init).joined(separator: ", ")
        let age = "\((party.ageSeconds * 10).rounded() / 10) s"
        return "\(party.kind)\(detail) client: \(client(party.command, party.processes))"
            + (party.namespace.map { " in \($0)" } ?? "") + (party.claim.map { " id: \($0)" } ?? "")
            + " state: \(state) age: \(age)" + (waitsFor.isEmpty ? "" : " waits for: \(waitsFor)")
            + (party.isDeadlocked == true ? " (deadlock)" : "")
    }

    private static func client(_ command: String, _ processes: [Int32]) -> String {
        "\(command.isEmpty ? "?" : command.printable)(\(processes.map(String.init).joined(separator: ", ")))"
    }
}
