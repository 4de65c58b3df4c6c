import Glibc
import Linux
import Model

/// The extended attributes of an item. Reading them downloads nothing.
struct DocumentAttributes {
    private let file: Descriptor

    /// - Returns: `nil` when the item cannot be opened.
    init?(path: String) {
        // Without waiting for another program, which an open for reading might of a FIFO.
        guard let file = try? Descriptor(path, O_RDONLY | O_NONBLOCK) else { return nil }
        self.file = file
    }

    /// The value of `user.dewpoint.NAME`; `nil` outside of containers.
    func status(_ name: String) -> String? {
        file.extendedAttribute("user.dewpoint.\(name)").map { String(decoding: $0, as: UTF8.self) }
    }

    /// Gives another item the attributes that programs have set, as far as the caller may and the file system takes
    /// them.
    func copy(to other: DocumentAttributes) {
        for name in file.extendedAttributeNames where name.hasBytePrefix("user.") {
            guard let value = file.extendedAttribute(name) else { continue }
            try? other.file.setExtendedAttribute(name, to: value)
        }
    }
}
