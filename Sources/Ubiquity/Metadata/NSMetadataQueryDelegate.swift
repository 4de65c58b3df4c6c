/// Replaces the results and the values of a query.
public protocol NSMetadataQueryDelegate: NSObjectProtocol {
    /// The object to show as a result instead of a metadata item. Called once for each item, on the queue of the
    /// query's notifications. The default returns the item.
    func metadataQuery(
        _ query: NSMetadataQuery, replacementObjectForResultObject result: NSMetadataItem
    ) -> Any

    /// The value to return from ``NSMetadataQuery/value(ofAttribute:forResultAt:)`` instead of an attribute's value.
    /// The default returns the value.
    func metadataQuery(
        _ query: NSMetadataQuery, replacementValueForAttribute attrName: String, value attrValue: Any
    ) -> Any
}

extension NSMetadataQueryDelegate {
    /// The default: nothing is replaced.
    public func metadataQuery(
        _ query: NSMetadataQuery, replacementObjectForResultObject result: NSMetadataItem
    ) -> Any { result }

    /// The default: nothing is replaced.
    public func metadataQuery(
        _ query: NSMetadataQuery, replacementValueForAttribute attrName: String, value attrValue: Any
    ) -> Any { attrValue }
}
