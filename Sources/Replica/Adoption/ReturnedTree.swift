import Model

/// What a return has given back.
package struct ReturnedTree: Hashable, Sendable {
    /// How many names the directory has.
    package var nameCount = 0
    /// What could not be given back as it was on the mount: the first of them.
    package private(set) var faults: [Fault] = []
    package private(set) var faultCount = 0

    package struct Fault: Hashable, Sendable, Encodable {
        /// From the directory on.
        package let path: String
        package let reason: String
    }

    /// How many are kept; the others are counted.
    package static let faultLimit = 1000

    package init() {}

    mutating func note(_ path: ItemPath, _ reason: String) {
        faultCount += 1
        if faults.count < Self.faultLimit { faults.append(Fault(path: path.string, reason: reason)) }
    }
}
