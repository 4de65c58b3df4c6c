package import Model

extension ItemRecord {
    /// The longest record that is written, by ``byteCountInCommit``: 48 MiB. As base64 and compressed it still fits
    /// into one object.
    package static let byteLimit = 48 << 20

    /// The maximum size of the record in the text of a commit, in bytes.
    package var byteCountInCommit: Int {
        // Member names, ids and numbers.
        var byteCount = 1024 + Self.escaped(name.string) + Self.escaped(target?.string ?? "")
        for (name, value) in xattrs { byteCount += Self.escaped(name.string) + (value.count + 2) / 3 * 4 + 8 }
        if let content { byteCount += content.byteCountInCommit }
        if preview != nil { byteCount += 256 }
        for version in conflicts {
            byteCount += 512 + Self.escaped(version.deviceName.string) + version.content.byteCountInCommit
        }
        return byteCount
    }

    /// A control character takes six bytes.
    private static func escaped(_ text: String) -> Int { 6 * text.utf8.count }
}

extension ItemRecord.Reference {
    fileprivate var byteCountInCommit: Int {
        switch self {
        case .manifest: 128
        case .inline(let content): content.byteCountInCommit
        }
    }
}

extension Content {
    /// As a list in a record. A longer one is written as a manifest, and the record has only its name.
    fileprivate var byteCountInCommit: Int {
        let entryCount = runs.reduce(0) { count, run in
            switch run {
            case .stored(_, _, let chunks): count + chunks.count
            case .zeros: count + 1
            }
        }
        return 128 + 128 * runs.count + 256 * min(entryCount, ManifestStore.inlineLimit)
    }
}

extension Commit.Tombstone {
    /// The maximum size of one in the text of a commit, in bytes.
    package static let byteCountInCommit = 128
}
