package import Daemon
import Model

/// Changes that leave everything else in the file as the user wrote it, comments included: tables are appended and cut
/// as text, and the result is read again.
extension MountsDocument {
    /// The comment at the top of a new file.
    package static let introduction = """
        # The mounts of Dewpoint: see `dewpoint help add`, and change this file with `dewpoint edit`.

        """

    /// The document with one more mount.
    ///
    /// - Throws: ``DaemonError`` with `cannotCreate` for a name that is taken, `usage` for a mount that cannot be
    ///   mounted.
    package func adding(_ mount: NamedMount) throws(DaemonError) -> MountsDocument {
        if let taken = mounts.first(where: { $0.name == mount.name }) {
            throw DaemonError(
                .cannotCreate,
                "there is a mount \(mount.name) already, of \(taken.url) at \(surroundings.mountpoint(of: taken)); choose "
                    + "another name, or remove it first with: dewpoint remove \(mount.name)")
        }
        if let mistake = mount.mistakes(in: surroundings).first { throw DaemonError(.usage, mistake.sentence) }
        for other in mounts {
            guard let mistake = mount.conflict(with: other, in: surroundings) else { continue }
            throw DaemonError(.cannotCreate, mistake.sentence)
        }
        let place = surroundings.mountpoint(of: mount)
        if let around = surroundings.container(around: place) {
            throw DaemonError(
                .usage,
                "\(place) is inside the container that is mounted at \(around); choose a directory outside of it")
        }
        var lines = text.isEmpty ? Self.introduction : text
        if !lines.hasSuffix("\n") { lines += "\n" }
        let after = MountsDocument("\(lines)\n\(mount.table)", surroundings)
        guard after.mounts == mounts + [mount], after.problems.count == problems.count else {
            throw DaemonError(
                .failed,
                "the mount cannot be added to the file as it is written; write each mount as a table [mounts.NAME], with: "
                    + "dewpoint edit")
        }
        return after
    }

    /// The document without a mount.
    ///
    /// - Throws: ``DaemonError`` when the file is written so that its lines cannot be cut.
    package func removing(_ name: MountName) throws(DaemonError) -> MountsDocument {
        let after = MountsDocument(withoutLines(of: [Self.root, name.description]), surroundings)
        let left = problems.filter { $0.name != name.description }
        guard after.mounts == mounts.filter({ $0.name != name }), after.problems.count <= left.count else {
            throw DaemonError(
                .failed,
                "the mount \(name) cannot be removed from the file as it is written; remove its lines with: dewpoint edit"
            )
        }
        return after
    }

    /// The text without the statements of a table, the comments between them and those directly above it.
    private func withoutLines(of path: [String]) -> String {
        let lines = text.splitBytes(at: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(String.init)
        let statements = TOMLOutline(text).statements
        var cut: Set<Int> = []
        for (index, statement) in statements.enumerated() where statement.path.starts(with: path) {
            // Its number counts from 1, so this is the line after it.
            var last = statement.lines.upperBound
            if index + 1 < statements.count, statements[index + 1].path.starts(with: path) {
                last = statements[index + 1].lines.lowerBound - 1
            }
            cut.formUnion(statement.lines.lowerBound...max(last, statement.lines.upperBound))
            var above = statement.lines.lowerBound - 1
            while above >= 1, Self.isComment(lines[above - 1]) {
                cut.insert(above)
                above -= 1
            }
        }
        var kept: [String] = []
        for (index, line) in lines.enumerated() where !cut.contains(index + 1) {
            // Where a table was cut, one empty line is enough.
            if cut.contains(index), Self.isBlank(line), kept.last.map(Self.isBlank) ?? true { continue }
            kept.append(line)
        }
        return kept.joined(separator: "\n")
    }

    private static func isComment(_ line: String) -> Bool { line.first { $0 != " " && $0 != "\t" } == "#" }

    private static func isBlank(_ line: String) -> Bool { line.allSatisfy(\.isWhitespace) }
}
