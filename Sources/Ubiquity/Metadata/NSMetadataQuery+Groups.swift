/// How many results of a query have a value of an attribute; see ``NSMetadataQuery/valueLists``.
public final class NSMetadataQueryAttributeValueTuple: NSObject, @unchecked Sendable {
    // Unchecked, since the value is not declared Sendable. It is never changed.
    /// The attribute.
    public let attribute: String
    /// The value; `nil` for results without the attribute.
    public let value: Any?
    /// The number of results.
    public let count: Int

    init(attribute: String, value: Any?, count: Int) {
        self.attribute = attribute
        self.value = value
        self.count = count
    }
}

/// The results of a query that have the same value of an attribute; see ``NSMetadataQuery/groupedResults``.
open class NSMetadataQueryResultGroup: NSObject, @unchecked Sendable {
    // Unchecked, since results and values are not declared Sendable. They are never changed.
    /// The attribute.
    public let attribute: String
    /// The value that all results of the group have. `NSNull` for results without the attribute.
    public let value: Any
    /// The groups by the next attribute of ``NSMetadataQuery/groupingAttributes``; `nil` for the last one.
    public let subgroups: [NSMetadataQueryResultGroup]?
    /// The results, in the order of the query's.
    public let results: [Any]

    init(attribute: String, value: Any, subgroups: [NSMetadataQueryResultGroup]?, results: [Any]) {
        self.attribute = attribute
        self.value = value
        self.subgroups = subgroups
        self.results = results
    }

    /// The number of results.
    open var resultCount: Int { results.count }

    /// - Precondition: The index is less than ``resultCount``.
    open func result(at idx: Int) -> Any { results[idx] }
}

extension NSMetadataQuery {
    /// The results that have the same values, counted: for each of ``valueListAttributes``, its values in the order in
    /// which results have them.
    public var valueLists: [String: [NSMetadataQueryAttributeValueTuple]] {
        let rows = rows
        return Dictionary(
            valueListAttributes.map { attribute in
                let parts = Self.split(rows, by: attribute) { self.replaced($0, attribute) }
                return (
                    attribute,
                    parts.map {
                        NSMetadataQueryAttributeValueTuple(attribute: attribute, value: $0.value, count: $0.rows.count)
                    }
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    /// The results in groups by ``groupingAttributes``: by the first one, in each group by the second one, and so on.
    public var groupedResults: [NSMetadataQueryResultGroup] { groups(rows, by: groupingAttributes[...]) ?? [] }

    private func groups(_ rows: [MetadataResults.Row], by attributes: ArraySlice<String>)
        -> [NSMetadataQueryResultGroup]?
    {
        guard let attribute = attributes.first else { return nil }
        return Self.split(rows, by: attribute) { self.replaced($0, attribute) }.map { part in
            NSMetadataQueryResultGroup(
                attribute: attribute, value: part.value ?? NSNull(),
                subgroups: groups(part.rows, by: attributes.dropFirst()), results: part.rows.map(\.object))
        }
    }

    private func replaced(_ value: Any, _ attribute: String) -> Any {
        delegate?.metadataQuery(self, replacementValueForAttribute: attribute, value: value) ?? value
    }

    private static func split(
        _ rows: [MetadataResults.Row], by attribute: String, _ replace: (Any) -> Any
    ) -> [(value: Any?, rows: [MetadataResults.Row])] {
        var parts: [(value: Any?, rows: [MetadataResults.Row])] = []
        // Objects of Foundation are compared by their values.
        var indices: [AnyHashable: Int] = [:]
        for row in rows {
            let value = row.item.value(forAttribute: attribute).map(replace)
            let key = (value as? AnyHashable) ?? AnyHashable(NSNull())
            if let index = indices[key] {
                parts[index].rows.append(row)
            } else {
                indices[key] = parts.count
                parts.append((value, [row]))
            }
        }
        return parts
    }
}
