package import Model

extension ItemRecord {
    /// The longest target of a symbolic link in bytes (`PATH_MAX` without its NUL).
    package static let targetByteLimit = 4095

    /// The longest value of an attribute in bytes (`XATTR_SIZE_MAX`).
    package static let xattrByteLimit = 64 << 10

    /// How a record from another device violates the format, or `nil` when it is valid.
    ///
    /// A record is self-contained, so it is checked alone; whether its parent exists and is no descendant of it is
    /// checked with the other items.
    /// - Parameter sequence: The number of its commit.
    package func fault(in sequence: CommitNumber) -> String? {
        if id == .root { return "the root has no record" }
        if parent == id { return "it lies in itself" }
        if !kind.isSynced { return "an item of kind \(kind.rawValue) is never synced" }
        if mode > 0o7777 { return "mode \(mode)" }
        if base >= sequence { return "based on commit \(base), which is not before \(sequence)" }
        return faultOfKind ?? faultOfXattrs ?? faultOfConflicts
    }

    private var faultOfConflicts: String? {
        if kind != .file, !conflicts.isEmpty { return "a \(kind.rawValue) with conflict versions" }
        if Set(conflicts.map(\.id)).count < conflicts.count { return "two conflict versions with one id" }
        for version in conflicts {
            guard version.deviceName.string.utf8.count <= Commit.deviceNameByteLimit else {
                return "a device's name too long"
            }
            if let fault = fault(of: version.content, size: version.size) { return "conflict version: \(fault)" }
        }
        return nil
    }

    private func fault(of content: Reference, size: Int64) -> String? {
        switch content {
        case .manifest: return (0...Content.byteLimit).contains(size) ? nil : "a size of \(size)"
        case .inline(let content):
            if let fault = content.fault { return fault }
            return content.byteCount == size ? nil : "a size of \(size), and a content size of \(content.byteCount)"
        }
    }

    private var faultOfKind: String? {
        if (target != nil) != (kind == .symbolicLink) { return "a wrong or missing target for a \(kind.rawValue)" }
        if let target = target?.string,
            !(1...Self.targetByteLimit).contains(target.utf8.count) || target.utf8.contains(0)
        {
            return "an invalid target of a symbolic link"
        }
        switch (kind, content) {
        case (.file, nil): return "a file without content"
        case (.file, let content?): return fault(of: content, size: size)
        case (_, .some): return "a \(kind.rawValue) with content"
        case (_, nil): return size == 0 ? nil : "a \(kind.rawValue) with a size"
        }
    }

    private var faultOfXattrs: String? {
        for (attribute, value) in xattrs {
            let name = attribute.string
            let isUser = name.utf8.starts(with: "user.".utf8) && name.utf8.count > "user.".utf8.count
            guard isUser, name.utf8.count <= ItemName.byteLimit, !name.utf8.contains(0) else {
                return "an attribute that cannot be synced, \(name)"
            }
            guard !name.utf8.starts(with: "user.dewpoint.".utf8) else { return "an attribute of our own, \(name)" }
            guard value.count <= Self.xattrByteLimit else { return "attribute \(name) with \(value.count) bytes" }
        }
        return nil
    }
}
