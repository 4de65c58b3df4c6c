import Model

/// The attributes under `user.dewpoint.` and `dewpoint.`: read and set by name, never listed and never stored.
///
/// Each one of ``ItemAttributes`` that has a name, under that and under Apple's key. See "Extended attributes" in the
/// Semantics page.
enum ControlAttribute {
    /// The spellings of the prefix. The kernel refuses `user.*` on symbolic links, and allows setting only `system.*`
    /// on files that the caller may not write, even if they are the caller's own.
    static let prefixes = ["user.dewpoint.", "dewpoint.", ownersPrefix]

    /// The kernel checks no permissions under this prefix, so it is for an item's owner and root only. Related:
    /// xattr(7).
    static let ownersPrefix = "system.dewpoint."

    enum Name: Sendable {
        /// An ordinary attribute.
        case ordinary
        case control(ItemAttribute, isRaw: Bool)
        case openVFS(OpenVFSAttribute)
        /// Has the prefix, but no known name.
        case unknown
    }

    /// The meaning of a full attribute name.
    static func named(_ name: String) -> Name {
        guard let prefix = prefixes.first(where: { name.hasBytePrefix($0) }) else {
            return OpenVFSAttribute(name: name).map(Name.openVFS) ?? .ordinary
        }
        return known[AttributeName(name.droppingBytes(prefix.utf8.count))] ?? .unknown
    }

    /// By their names behind the prefix.
    private static let known: [AttributeName: Name] = {
        var known: [AttributeName: Name] = [:]
        for attribute in ItemAttributes.all {
            guard let name = attribute.name else { continue }
            known[AttributeName(name)] = .control(attribute, isRaw: false)
            if let key = attribute.urlKey { known[AttributeName(key)] = .control(attribute, isRaw: true) }
        }
        return known
    }()
}

extension ItemAttribute.Value {
    /// As the value of an extended attribute.
    ///
    /// - Parameter isRaw: Whether it is asked for by Apple's key.
    func text(isRaw: Bool) -> String {
        switch self {
        case .flag(let flag): flag ? "1" : "0"
        case .integer(let number): String(number)
        // Whole percents; 100 only when everything is local.
        case .real(let percent): String(Int(percent))
        case .text(let text): text
        case .texts(let texts): texts.joined(separator: ", ")
        case .time(let time): time.rfc3339
        case .file(let path, _): path
        case .fault(let fault): fault.description
        case .state(let state): isRaw ? state.resourceValue : state.rawValue
        }
    }
}

extension DirectoryRule {
    /// The rule that an attribute sets; `nil` for another one.
    init?(_ attribute: ItemAttribute) {
        let table = ItemAttributes.table
        switch attribute {
        case table.evictAfter: self = .evictAfter
        case table.keepRecent: self = .keepRecent
        case table.downloadSmall: self = .downloadSmall
        default: return nil
        }
    }
}
