import CLinux
import Glibc

/// The extended attributes of an item. Reading them downloads nothing.
final class DocumentAttributes {
    /// The longest list of names, and the largest value, that Linux has: 64 KiB each.
    private static let byteCountLimit = 65_536

    private let file: Int32

    /// - Returns: `nil` when the item cannot be opened.
    init?(path: String) {
        // Without waiting for another program, which an open for reading might of a FIFO.
        file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
    }

    deinit { close(file) }

    /// The value; `nil` when there is none, or it cannot be read.
    subscript(name: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Self.byteCountLimit)
        let count = bytes.withUnsafeMutableBytes { CLinux_fgetxattr(file, name, $0.baseAddress, $0.count) }
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// The value of `user.dewpoint.NAME`; `nil` outside of containers.
    func status(_ name: String) -> String? { self["user.dewpoint.\(name)"].map { String(decoding: $0, as: UTF8.self) } }

    /// As far as the caller may, and the file system takes it.
    func set(_ name: String, _ value: [UInt8]) {
        _ = value.withUnsafeBytes { CLinux_fsetxattr(file, name, $0.baseAddress, $0.count, 0) }
    }

    var names: [String] {
        var bytes = [UInt8](repeating: 0, count: Self.byteCountLimit)
        let count = bytes.withUnsafeMutableBytes { CLinux_flistxattr(file, $0.baseAddress, $0.count) }
        guard count > 0 else { return [] }
        return bytes.prefix(count).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }
}
