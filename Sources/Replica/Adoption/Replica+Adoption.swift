import GRDB
import Glibc
package import Linux
package import Model

/// Taking over a directory that was there before the container: see ``TreeTaking``.
extension Replica {
    /// What is under way; `nil` as a rule.
    package var taking: TreeTaking? { get throws(FileError) { try TreeTaking(of: state.path) } }

    /// Takes over everything that is in a directory, which is empty then. Blocks; nothing else may use the replica.
    ///
    /// What was noted in the state is continued. After an error nothing is moved, unless the error says so.
    ///
    /// - Parameters:
    ///   - source: The directory, open.
    ///   - directory: Its path, as it is noted.
    package func take(_ source: Descriptor, at directory: String) throws(FileError) -> AdoptedTree {
        var taking: TreeTaking
        if let noted = try self.taking { taking = noted } else { taking = try TreeTaking(of: source, at: directory) }
        let files = try BackingDirectory.openDirectory(state.files)
        var tree = AdoptedTree()
        if taking.phase == .moving {
            do throws(FileError) {
                try taking.note(in: state.path)
                try TreeMove(from: source, to: files).run()
                tree = try TreeAdoption.run(taking, from: source, in: self)
                try makeDurable()
                try SystemCalls.syncFileSystem(of: files)
                try taking.begin(.finishing, in: state.path)
            } catch {
                do throws(FileError) { try giveBack(files, to: source) } catch let second {
                    throw FileError(
                        error.code,
                        "\(error.detail); and what was moved before could not be moved back: \(second.detail)")
                }
                throw error
            }
        }
        try AdoptionFinish.run(in: self)
        try makeDurable()
        try SystemCalls.syncFileSystem(of: files)
        try TreeTaking.end(in: state.path)
        return tree
    }

    /// Nothing on the disk has been changed but the places. What the index has of it goes too: the state is a new one again.
    private func giveBack(_ files: Descriptor, to source: Descriptor) throws(FileError) {
        try TreeMove(from: files, to: source).run()
        try change(freeing: true, isLong: true) { try $0.rows.removeAllItems() }
        try makeDurable()
        try TreeTaking.end(in: state.path)
    }

    /// Passes on each file whose bytes are local, open for reading alone. Nothing else may use the replica.
    package func forEachLocalFile(_ body: (InodeNumber, Descriptor) -> Void) throws(FileError) {
        var last: Int64 = 0
        while true {
            let numbers = try read { rows in
                let numbers = try rows.all(
                    "SELECT id FROM inodes WHERE kind = 0 AND local = 1 AND links > 0 AND id > ? ORDER BY id LIMIT ?",
                    [last, Self.fileBatchCount]
                ) { InodeNumber(row: $0[0]) }
                for number in numbers {
                    let place = try backing.objectPlace(of: number, rows)
                    // What another program has put there is not the file: its bytes are not shown as those of the file.
                    guard let file = try rows.inodeRow(number).held(at: place) else { continue }
                    body(number, try file.opened(O_RDONLY | O_NONBLOCK))
                }
                return numbers
            }
            guard let end = numbers.last else { return }
            last = end.row
        }
    }

    /// How many files are looked at in one state of the index.
    private static let fileBatchCount = 1000
}

extension Rows {
    /// Whether there is anything besides the root.
    package var hasItems: Bool { get throws { try exists("SELECT 1 FROM entries LIMIT 1", []) } }
}
