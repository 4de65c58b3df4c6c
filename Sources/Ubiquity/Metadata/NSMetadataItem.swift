import Model
import Synchronization

/// An item of a metadata query: a file or directory in a container with its attributes, without its bytes.
///
/// Nothing is downloaded to answer. A query keeps one object for an item, through updates, renames and moves; its
/// attributes are those of the last notification.
///
/// Differences from Apple's: only the attributes that Apple documents for ubiquitous items have values, and the dates of
/// the content.
open class NSMetadataItem: NSObject, @unchecked Sendable {
    // Unchecked, since an open class cannot be checked: the state is behind the mutex.
    private let state: Mutex<ItemStatus>
    let mountpoint: String

    init(_ status: ItemStatus, mountpoint: String) {
        state = Mutex(status)
        self.mountpoint = mountpoint
        super.init()
    }

    /// The attributes of a file in a mounted container, as they are now.
    ///
    /// - Returns: `nil` for a file outside of containers, for a missing one, and when the daemon does not answer.
    public convenience init?(url: URL) {
        guard let (container, path) = MountedContainer.containing(url),
            let text = (try? ExtendedAttribute.control("status", of: container.path(path))) ?? nil,
            let status = try? JSONDecoder().decode(ItemStatus.self, from: Data(text.utf8))
        else { return nil }
        self.init(status, mountpoint: container.mountpoint)
    }

    /// The value of an attribute.
    ///
    /// Numbers and booleans are `NSNumber` objects, which can be cast to `Int`, `Double` and `Bool`.
    /// - Parameter key: One of the constants `NSMetadataItem…Key` and `NSMetadataUbiquitousItem…Key`.
    /// - Returns: `nil` for an attribute that the item does not have.
    open func value(forAttribute key: String) -> Any? {
        guard let attribute = Self.attribute(key) else { return nil }
        return value(of: attribute).map(Self.object)
    }

    /// The values of several attributes; those that the item does not have are left out.
    open func values(forAttributes keys: [String]) -> [String: Any]? {
        let status = status
        return Dictionary(
            keys.compactMap { key in
                Self.attribute(key).flatMap { value(of: $0, status) }.map { (key, Self.object($0)) }
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The names of the attributes that the item has.
    open var attributes: [String] {
        let status = status
        return ItemAttribute.inQueries.filter { value(of: $0, status) != nil }.compactMap(\.metadataKey)
    }

    private static func attribute(_ key: String) -> ItemAttribute? {
        switch key {
        case NSMetadataItemContentCreationDateKey: ItemAttributes.table.created
        case NSMetadataItemContentModificationDateKey: ItemAttributes.table.modified
        default: ItemAttribute(metadataKey: key)
        }
    }

    var status: ItemStatus { state.withLock { $0 } }

    func update(_ status: ItemStatus) { state.withLock { $0 = status } }

    func value(of attribute: ItemAttribute) -> ItemAttribute.Value? { value(of: attribute, status) }

    private func value(of attribute: ItemAttribute, _ status: ItemStatus) -> ItemAttribute.Value? {
        if let declared = declaredType(status) {
            switch attribute {
            case ItemAttributes.table.contentType: return .text(declared.identifier)
            case ItemAttributes.table.contentTypeTree: return .texts(Self.tree(of: declared))
            default: break
            }
        }
        let item = ItemAttribute.Item(status, mountpoint: mountpoint) { [mountpoint] in
            (try? ExtendedAttribute.control("containerDisplayName", of: mountpoint)) ?? nil
        }
        return attribute.value(of: item)
    }

    /// The type that the program declares for the name's extension; for a directory only if that is a package.
    private func declaredType(_ status: ItemStatus) -> ProgramInfo.DeclaredType? {
        let types = ProgramInfo.main.types
        guard !types.isEmpty, let last = status.path.utf8.split(separator: UInt8(ascii: "/")).last,
            let name = try? ItemName(String(Substring(last))),
            let type = types[name.pathExtension.lowercased()]
        else { return nil }
        switch status.kind {
        case .file: return type
        case .directory: return ProgramInfo.main.isPackage(name.string) ? type : nil
        default: return nil
        }
    }

    private static func tree(of type: ProgramInfo.DeclaredType) -> [String] {
        let above = type.conformsTo.flatMap { UniformType.tree(of: $0) }
        return above.reduce(into: [type.identifier]) { if !$0.contains($1) { $0.append($1) } }
    }

    static func object(_ value: ItemAttribute.Value) -> Any {
        switch value {
        case .flag(let flag): NSNumber(value: flag)
        case .integer(let number): NSNumber(value: number)
        case .real(let number): NSNumber(value: number)
        case .text(let text): text
        case .texts(let texts): texts
        case .time(let time): Date(time)
        case .file(let path, let isDirectory): URL(fileURLWithPath: path, isDirectory: isDirectory)
        case .state(let state): state.metadataValue
        case .fault(let fault):
            NSError(domain: NSCocoaErrorDomain, code: fault.code, userInfo: [NSLocalizedDescriptionKey: fault.text])
        }
    }

    /// The attributes, for people.
    open override var description: String {
        "<NSMetadataItem \(value(forAttribute: NSMetadataItemPathKey) as? String ?? "")>"
    }
}

extension Date {
    fileprivate init(_ time: Timestamp) {
        self.init(timeIntervalSince1970: Double(time.seconds) + Double(time.nanoseconds) / 1e9)
    }
}
