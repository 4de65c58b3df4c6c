import Foundation
import Model

/// Locks for people: the tree of items that are held or waited for, as `NSFileAccessNode` describes itself.
///
///     Documents
///     <NSFileAccessNode Documents> parent: <none>, name: "Documents"
///     presenters: <none>
///     access claims: <none>
///     children:
///       notes.txt
///       <NSFileAccessNode #42> parent: Documents, name: "notes.txt"
///       presenters: <none>
///       access claims:
///           write session client: python3(1234) state: granted age: 1.3 s
///       children: <none>
struct LockTree {
    private final class Node {
        let name: String
        var locks: [LockListing] = []
        var children: [Node] = []

        init(name: String) { self.name = name }

        func child(_ name: String) -> Node {
            // Bytes are compared: a String holds differently composed names for equal.
            if let child = children.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) { return child }
            let child = Node(name: name)
            children.append(child)
            return child
        }
    }

    private let root = Node(name: "/")
    /// Files that are open and have no name any more.
    private var nameless: [LockListing] = []

    init(_ locks: [LockListing]) {
        for lock in locks {
            guard !lock.path.isEmpty || lock.inode == .root else {
                nameless.append(lock)
                continue
            }
            let parts = lock.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
            parts.reduce(root) { $0.child($1) }.locks.append(lock)
        }
    }

    var text: String {
        var lines: [String] = []
        if !root.locks.isEmpty { lines += Self.lines(of: root, parent: nil, withChildren: false) }
        for child in root.children { lines += Self.lines(of: child, parent: nil, withChildren: true) }
        for lock in nameless {
            let node = Node(name: "(unlinked)")
            node.locks = [lock]
            lines += Self.lines(of: node, parent: nil, withChildren: false)
        }
        return lines.joined(separator: "\n")
    }

    private static func lines(of node: Node, parent: String?, withChildren: Bool) -> [String] {
        let label = node.locks.first.map { "\($0.inode)" } ?? node.name
        let claims = node.locks.flatMap { lock in
            lock.holders.map { line(of: $0, state: "granted") } + lock.waiters.map { line(of: $0, state: "waiting") }
        }
        var lines = [
            node.name, "<NSFileAccessNode \(label)> parent: \(parent ?? "<none>"), name: \"\(node.name)\"",
            "presenters: <none>",
        ]
        lines.append(claims.isEmpty ? "access claims: <none>" : "access claims:")
        lines += claims.map { "    \($0)" }
        guard withChildren, !node.children.isEmpty else { return lines + ["children: <none>"] }
        lines.append("children:")
        for child in node.children {
            lines += Self.lines(of: child, parent: label, withChildren: true).map { "  \($0)" }
        }
        return lines
    }

    private static func line(of party: LockListing.Party, state: String) -> String {
        let processes = party.processes.map(String.init).joined(separator: ", ")
        let detail = party.detail.isEmpty ? "" : " (\(party.detail))"
        let command = party.command.isEmpty ? "?" : party.command
        let waitsFor = party.waitsFor.map(String.init).joined(separator: ", ")
        let age = "\((party.ageSeconds * 10).rounded() / 10) s"
        return "\(party.kind)\(detail) client: \(command)(\(processes)) state: \(state) age: \(age)"
            + (waitsFor.isEmpty ? "" : " waits for: \(waitsFor)")
    }
}
