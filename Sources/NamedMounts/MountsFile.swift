package import Daemon
import Foundation
import Glibc
import Linux
import Model

/// The file with the named mounts of a user: `$XDG_CONFIG_HOME/dewpoint/mounts.toml`, by default in `~/.config`; for
/// root without that variable `/etc/dewpoint/mounts.toml`.
package struct MountsFile: Sendable {
    /// Absolute. It may be a symbolic link, which changes follow.
    package let path: String
    private let surroundings: MountSurroundings

    /// The longest file: 1 MiB.
    static let byteLimit = 1 << 20

    package init(_ surroundings: MountSurroundings, user: UInt32 = geteuid()) {
        self.surroundings = surroundings
        let home = surroundings.variables["XDG_CONFIG_HOME"].flatMap { ItemPath($0).isAbsolute ? $0 : nil }
        path =
            switch home {
            case let home?: "\(home)/dewpoint/mounts.toml"
            case nil: user == 0 ? "/etc/dewpoint/mounts.toml" : "\(surroundings.home)/.config/dewpoint/mounts.toml"
            }
    }

    /// Reads the file. A missing file has no mounts.
    ///
    /// - Throws: ``DaemonError`` when it cannot be read, or others may have written it. What is wrong in it is among the
    ///   document's ``MountsDocument/problems``.
    package func read() throws(DaemonError) -> MountsDocument {
        MountsDocument(try text() ?? "", surroundings)
    }

    /// - Returns: `nil` if there is no file.
    func text() throws(DaemonError) -> String? {
        let file: Descriptor
        do throws(FileError) {
            file = try Descriptor(path, O_RDONLY | O_NONBLOCK, as: "\(path) cannot be read")
        } catch {
            if error.code == .notFound { return nil }
            throw DaemonError(.denied, error.detail)
        }
        try check(file)
        // Read errors of an open regular file are those of its disk.
        guard let bytes = try? file.read(byteCount: Self.byteLimit, at: 0),
            let text = String(validating: bytes, as: UTF8.self),
            !bytes.contains(0)
        else {
            throw DaemonError(
                .failed,
                "\(path) is not a text in UTF-8; restore it from a backup, or remove it and add the mounts again")
        }
        return text
    }

    /// What it says is carried out with this user's rights, so that others must not have written it.
    private func check(_ file: Descriptor) throws(DaemonError) {
        guard let status = try? file.status(), status.kind == S_IFREG else {
            throw DaemonError(.failed, "\(path) is not a file; remove it")
        }
        guard status.size <= Self.byteLimit else {
            throw DaemonError(.failed, "\(path) is larger than \(Self.byteLimit >> 20) MiB, so it is no list of mounts")
        }
        guard status.owner == geteuid() || status.owner == 0 else {
            throw DaemonError(
                .denied, "\(path) belongs to \(TrustedPath.name(ofUser: status.owner)); make it yours with: chown")
        }
        guard status.mode & S_IWOTH == 0 else {
            throw DaemonError(.denied, "\(path) can be written by everyone; restrict it with: chmod 600 \(path)")
        }
    }
}
