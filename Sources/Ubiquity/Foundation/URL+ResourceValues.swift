extension URL {
    /// The values of an item for some keys; values that do not apply are missing.
    ///
    /// Downloads nothing, and works for items that are not local. Outside a container `isUbiquitousItem` is `false`, and
    /// all other values about sync are `nil`.
    ///
    /// Differences from Apple's: values about sync are not cached, so each call returns the present ones.
    /// - Throws: `NSCocoaErrorDomain` 260 for a missing item, 257 without permission, 4355 when the daemon of its
    ///   container has ended.
    public func resourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues {
        let others = keys.subtracting(UbiquityValues.keys).subtracting([.contentTypeKey])
        let values = try self.Foundation::resourceValues(forKeys: others)
        guard others.count < keys.count else { return values }
        var added = try UbiquityValues.read(keys, of: self)
        if keys.contains(.contentTypeKey), isFileURL, try checkResourceIsReachable() {
            added[.contentTypeKey] = UTType(of: self)
        }
        return ResourceValuesLayout.adding(added, to: values)
    }

    /// Sets the values that were set in `values`.
    ///
    /// ``URLResourceValues/ubiquitousItemIsExcludedFromSync`` is set by this library, last; all others by Foundation.
    /// - Throws: `NSCocoaErrorDomain` 3328 for that value outside a container, 513 without permission, 4355 when bytes
    ///   cannot be downloaded; and the errors of Foundation.
    public mutating func setResourceValues(_ values: URLResourceValues) throws {
        var values = values
        let isExcluded = ResourceValuesLayout.take(.ubiquitousItemIsExcludedFromSyncKey, from: &values)
        if isExcluded == nil || ResourceValuesLayout.isAnythingSet(in: values) {
            try self.Foundation::setResourceValues(values)
        }
        if let isExcluded, let isExcluded = isExcluded as? Bool { try UbiquityValues.setExcluded(isExcluded, self) }
    }

    /// The values of an item whose bytes need not be local: the same as ``resourceValues(forKeys:)``, without those
    /// that belong to bytes (`contentAccessDate`, `generationIdentifier`).
    public func promisedItemResourceValues(forKeys keys: Set<URLResourceKey>) throws -> URLResourceValues {
        try resourceValues(forKeys: keys.subtracting(PromisedItem.contentKeys))
    }

    /// Whether the item exists, local or not.
    ///
    /// - Returns: `true`.
    /// - Throws: `NSCocoaErrorDomain` 260 for a missing item.
    @discardableResult
    public func checkPromisedItemIsReachable() throws -> Bool { try checkResourceIsReachable() }
}

enum PromisedItem {
    /// The keys whose values belong to local bytes.
    static let contentKeys: Set<URLResourceKey> = [.contentAccessDateKey, .generationIdentifierKey]
}

extension NSURL {
    /// One value of an item; see `URL.resourceValues(forKeys:)`.
    public func getResourceValue(_ value: inout AnyObject?, forKey key: URLResourceKey) throws {
        guard UbiquityValues.keys.contains(key) else {
            return try self.Foundation::getResourceValue(&value, forKey: key)
        }
        // Swift's name of a bridged type: the object is an NSNumber, NSString or NSError.
        value = try UbiquityValues.read([key], of: self as URL)[key].map { $0 as AnyObject }
    }

    /// The values of an item as a dictionary; see `URL.resourceValues(forKeys:)`.
    public func resourceValues(forKeys keys: [URLResourceKey]) throws -> [URLResourceKey: Any] {
        let others = keys.filter { !UbiquityValues.keys.contains($0) }
        let values = try self.Foundation::resourceValues(forKeys: others)
        guard others.count < keys.count else { return values }
        return values.merging(try UbiquityValues.read(Set(keys), of: self as URL)) { $1 }
    }

    /// Sets one value; see `URL.setResourceValues(_:)`.
    public func setResourceValue(_ value: Any?, forKey key: URLResourceKey) throws {
        guard key == .ubiquitousItemIsExcludedFromSyncKey else {
            return try self.Foundation::setResourceValue(value, forKey: key)
        }
        if let isExcluded = value as? Bool { try UbiquityValues.setExcluded(isExcluded, self as URL) }
    }

    /// Sets several values; see `URL.setResourceValues(_:)`.
    public func setResourceValues(_ keyedValues: [URLResourceKey: Any]) throws {
        var others = keyedValues
        let isExcluded = others.removeValue(forKey: .ubiquitousItemIsExcludedFromSyncKey)
        if !others.isEmpty { try self.Foundation::setResourceValues(others) }
        if let isExcluded { try setResourceValue(isExcluded, forKey: .ubiquitousItemIsExcludedFromSyncKey) }
    }

    /// One value of an item whose bytes need not be local; see `URL.promisedItemResourceValues(forKeys:)`.
    public func getPromisedItemResourceValue(_ value: inout AnyObject?, forKey key: URLResourceKey) throws {
        if PromisedItem.contentKeys.contains(key) {
            value = nil
        } else {
            try getResourceValue(&value, forKey: key)
        }
    }

    /// The values of an item whose bytes need not be local; see `URL.promisedItemResourceValues(forKeys:)`.
    public func promisedItemResourceValues(forKeys keys: [URLResourceKey]) throws -> [URLResourceKey: Any] {
        try resourceValues(forKeys: keys.filter { !PromisedItem.contentKeys.contains($0) })
    }

    /// Whether the item exists, local or not.
    public func checkPromisedItemIsReachableAndReturnError(_ error: NSErrorPointer) -> Bool {
        do {
            return try (self as URL).checkPromisedItemIsReachable()
        } catch let failure as NSError {
            error?.pointee = failure
            return false
        }
    }
}
