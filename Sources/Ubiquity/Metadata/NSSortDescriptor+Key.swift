import Model

extension NSSortDescriptor {
    /// Sorts metadata items by an attribute, or dictionaries by a key.
    ///
    /// Texts are ordered by their characters, numbers and dates by their value; objects without the attribute come
    /// first.
    /// - Parameter key: An attribute such as `NSMetadataItemFSNameKey`; `nil` for the object itself.
    public convenience init(key: String?, ascending: Bool) {
        self.init(
            keyPath: \NSObject[sortKey: key ?? SortKey.own], ascending: ascending,
            comparator: { left, right in
                guard let left = left as? SortKey, let right = right as? SortKey else { return .orderedSame }
                return left.order(to: right)
            })
    }

    /// Sorts metadata items by an attribute, or dictionaries by a key, with a comparator of their values.
    ///
    /// - Parameter cmptr: Called with two values; `NSNull` stands for a missing one.
    public convenience init(key: String?, ascending: Bool, comparator cmptr: @escaping Comparator) {
        self.init(
            keyPath: \NSObject[comparedKey: key ?? SortKey.own], ascending: ascending,
            comparator: { left, right in
                guard let left = left as? ComparedKey, let right = right as? ComparedKey else { return .orderedSame }
                return cmptr(left.value ?? NSNull(), right.value ?? NSNull())
            })
    }

    /// The attribute that it sorts by; `nil` for a descriptor made with a Swift key path.
    public var key: String? {
        // A key path does not tell its arguments, but the subscript that it calls does.
        switch keyPath {
        case let path as KeyPath<NSObject, SortKey>: SortKeyProbe()[keyPath: path].value as? String
        case let path as KeyPath<NSObject, ComparedKey>: SortKeyProbe()[keyPath: path].value as? String
        default: nil
        }
    }

    /// Whether it orders by ``key`` in the order of ``SortKey``.
    var isByAttribute: Bool { keyPath is KeyPath<NSObject, SortKey> }
}

/// The value of an attribute, to be ordered.
struct SortKey {
    /// The key of the object itself.
    static let own = "self"

    let value: Any?

    /// Missing values come first; values of different types are not ordered.
    func order(to other: SortKey) -> ComparisonResult {
        switch (value, other.value) {
        case (nil, nil): .orderedSame
        case (nil, _): .orderedAscending
        case (_, nil): .orderedDescending
        case (let left as String, let right as String): Self.order(left, right)
        case (let left as NSNumber, let right as NSNumber): left.compare(right)
        case (let left as Date, let right as Date): Self.order(left, right)
        case (let left as URL, let right as URL): Self.order(left.absoluteString, right.absoluteString)
        default: .orderedSame
        }
    }

    private static func order<Value: Comparable>(_ left: Value, _ right: Value) -> ComparisonResult {
        left == right ? .orderedSame : left < right ? .orderedAscending : .orderedDescending
    }
}

/// The value of an attribute, to be ordered by a comparator of the program.
struct ComparedKey {
    let value: Any?
}

/// Answers ``Foundation/NSObject/subscript(sortKey:)`` with the key itself.
private final class SortKeyProbe: NSObject {}

extension NSObject {
    fileprivate subscript(sortKey key: String) -> SortKey {
        switch self {
        case is SortKeyProbe: SortKey(value: key)
        case _ where key == SortKey.own: SortKey(value: self)
        case let item as NSMetadataItem: SortKey(value: item.value(forAttribute: key))
        case let dictionary as NSDictionary: SortKey(value: dictionary[key])
        default: SortKey(value: nil)
        }
    }

    fileprivate subscript(comparedKey key: String) -> ComparedKey { ComparedKey(value: self[sortKey: key].value) }
}
