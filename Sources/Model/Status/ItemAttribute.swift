/// An attribute of an item: its names, its value, and its documentation. ``ItemAttributes`` declares them all.
package struct ItemAttribute: Sendable {
    /// The name of the extended attribute behind its prefix: Apple's resource key without `NSURL`, `UbiquitousItem` and
    /// `Key` where there is one. `nil` for an attribute that only queries have.
    package let name: String?
    /// Apple's resource key (`NSURL…Key`), which is another name of the extended attribute; `nil` if Apple has none.
    package let urlKey: String?
    /// Apple's name of it in metadata queries (`NSMetadataItem…Key`); `nil` if it is in none.
    package let metadataKey: String?
    /// What values it has, for the page Semantics.
    package let documentation: String
    package let setting: Setting
    private let value: @Sendable (Item) -> Value?

    /// Whether it is set, in the words of the page Semantics.
    package enum Setting: String, Sendable {
        case readOnly = ""
        case settable = "yes"
        case inherited = "yes; after removing it, the item inherits again"
        case removable = "yes; it can be removed"
        case clearable = "removing it clears the error and retries"
    }

    /// What a value is read from.
    package struct Item {
        package let status: ItemStatus
        package let mountpoint: String
        /// The name of the container for people.
        package let containerName: () -> String?

        package init(_ status: ItemStatus, mountpoint: String, containerName: @escaping () -> String?) {
            self.status = status
            self.mountpoint = mountpoint
            self.containerName = containerName
        }
    }

    /// The value of an attribute.
    package enum Value: Hashable, Sendable {
        case flag(Bool)
        case integer(Int64)
        case real(Double)
        case text(String)
        case texts([String])
        case time(Timestamp)
        /// The absolute path of a URL.
        case file(path: String, isDirectory: Bool)
        case fault(ItemFault)
        /// Each interface has a prefix of its own for its name.
        case state(DownloadingStatus)

        static func text(_ text: String?) -> Value? { text.map { .text($0) } }
        static func fault(_ fault: ItemFault?) -> Value? { fault.map { .fault($0) } }
        static func time(rfc3339 text: String?) -> Value? {
            text.flatMap(Timestamp.init(rfc3339:)).map { .time($0) }
        }
    }

    /// An attribute with a value of its own, besides that of the status or instead of it, is given one where extended
    /// attributes are read.
    init(
        _ name: String? = nil, url urlKey: String? = nil, metadata metadataKey: String? = nil,
        _ documentation: String = "", _ setting: Setting = .readOnly,
        value: @escaping @Sendable (Item) -> Value? = { _ in nil }
    ) {
        self.name = name
        self.urlKey = urlKey
        self.metadataKey = metadataKey
        self.documentation = documentation
        self.setting = setting
        self.value = value
    }

    /// An attribute whose names Apple has made of one.
    init(
        ubiquitous name: String, _ documentation: String, _ setting: Setting = .readOnly,
        value: @escaping @Sendable (Item) -> Value?
    ) {
        let word = name.prefix(1).uppercased() + name.dropFirst()
        self.init(
            name, url: "NSURLUbiquitousItem\(word)Key", metadata: "NSMetadataUbiquitousItem\(word)Key", documentation,
            setting, value: value)
    }

    package func value(of item: Item) -> Value? { value(item) }

    package var isSettable: Bool { [.settable, .inherited, .removable].contains(setting) }

    /// The rows of the table in the page Semantics; neighbours of one meaning share one.
    package static var rows: [[String]] {
        var rows: [[String]] = []
        for attribute in ItemAttributes.all {
            guard let name = attribute.name else { continue }
            let row = ["`\(name)`", attribute.documentation, attribute.setting.rawValue]
            if let last = rows.last, last.dropFirst() == row.dropFirst() {
                rows[rows.count - 1][0] += ", \(row[0])"
            } else {
                rows.append(row)
            }
        }
        return rows
    }
}

/// Attributes are the same by their names.
extension ItemAttribute: Equatable, CustomStringConvertible {
    package var description: String { name ?? metadataKey ?? "" }

    package static func == (one: ItemAttribute, other: ItemAttribute) -> Bool {
        one.name == other.name && one.metadataKey == other.metadataKey
    }
}

/// Metadata queries.
extension ItemAttribute {
    /// Those that queries have.
    package static let inQueries = ItemAttributes.all.filter { $0.metadataKey != nil }

    /// - Returns: `nil` if queries have no such attribute.
    package init?(metadataKey: String) {
        guard let attribute = Self.inQueries.first(where: { $0.metadataKey == metadataKey }) else { return nil }
        self = attribute
    }
}
