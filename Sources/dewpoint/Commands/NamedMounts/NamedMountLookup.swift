import ControlAPI
import Daemon
import Foundation
import Model
import NamedMounts

/// Finds the mounts that commands name.
enum NamedMountLookup {
    /// The mount of a name.
    ///
    /// - Throws: ``CommandFailure`` when there is none, or a mistake in the file concerns it.
    static func mount(_ text: String) throws -> NamedMount {
        let name = try MountName(text)
        let file = MountsFile(.current())
        let document = try file.read()
        do throws(MountsDocument.Problem) {
            if let mount = try document.mount(name) { return mount }
        } catch {
            throw CommandFailure(error, in: document, of: file)
        }
        throw absence(of: name, in: document)
    }

    /// - Throws: ``CommandFailure`` for a file that is no table of mounts, so that nothing in it can be found.
    static func checkSyntax(of document: MountsDocument, _ file: MountsFile) throws {
        guard let problem = document.problems.first(where: { $0.name == nil }) else { return }
        throw CommandFailure(problem, in: document, of: file)
    }

    static func absence(of name: MountName, in document: MountsDocument) -> CommandFailure {
        let hint =
            if let nearest = document.nearest(to: name.description) {
                "did you mean \(nearest)?"
            } else if document.mounts.isEmpty {
                "add one with: dewpoint add \(name) URL MOUNTPOINT"
            } else {
                "the named mounts are: \(document.mounts.map(\.name.description).joined(separator: ", "))"
            }
        return CommandFailure(.notFound, "there is no mount \(name); \(hint)")
    }

    /// Whether a mount is mounted, and its daemon alive: one whose daemon has died can be mounted again.
    static func isServed(_ mount: NamedMount, _ surroundings: MountSurroundings) -> Bool {
        guard surroundings.isMounted(mount),
            let entry = MountTable.current().mount(at: surroundings.mountpoint(of: mount))
        else { return false }
        if case .dead = MountCondition(unanswering: entry) { return false }
        return true
    }

    /// The mounted container at a path, or that of a name. A path wins, so that it works whatever is in the file.
    static func mountpoint(_ given: String) throws -> MountedPath {
        let place = try MountedPath.absolute(given)
        guard MountTable.current().mount(at: place)?.type != MountTable.type, MountName(valid: given) != nil else {
            return try MountedPath.mountpoint(given)
        }
        let surroundings = MountSurroundings.current()
        let document = try MountsFile(surroundings).read()
        guard let mount = document.mounts.first(where: { $0.name.description == given }) else {
            return try MountedPath.mountpoint(given)
        }
        guard surroundings.isMounted(mount) else {
            throw CommandFailure(
                .notFound, "\(given) is not mounted; its mountpoint is \(surroundings.mountpoint(of: mount))")
        }
        return try MountedPath.mountpoint(surroundings.mountpoint(of: mount))
    }
}

extension CommandFailure {
    /// A mistake in the mounts file, with the line that contains it.
    ///
    /// - Parameter isEditing: Whether the user is about to correct it.
    init(
        _ problem: MountsDocument.Problem, in document: MountsDocument, of file: MountsFile, isEditing: Bool = false
    ) {
        let lines = document.text.splitBytes(at: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        var log: [String] = []
        if 1...lines.count ~= problem.line {
            let line = String(lines[problem.line - 1]).replacingOccurrences(of: "\r", with: "")
            let before = String(String.UnicodeScalarView(line.unicodeScalars.prefix(problem.column - 1)))
            log = [line, String(repeating: " ", count: before.printable.count) + "^"]
        }
        let advice = isEditing || problem.sentence.hasSuffix("?") ? "" : "; correct it with: dewpoint edit"
        self.init(
            .usage, "\(file.path):\(problem.line):\(problem.column): \(problem.sentence)\(advice)", log: log)
    }
}
