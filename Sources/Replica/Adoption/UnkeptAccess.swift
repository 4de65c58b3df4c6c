import Linux
import Model

/// What an object has that decides who may do what with it, and that an item does not have: access lists and capabilities.
package enum UnkeptAccess {
    private static let reasons: KeyValuePairs = [
        AccessList.attribute: "an access list (ACL)", AccessList.defaultAttribute: "an access list for new files",
        "security.capability": "capabilities",
    ]

    /// - Parameter names: The names of its attributes, of all kinds.
    /// - Returns: What of them it is, for people; `nil` when it has none.
    package static func reason(in names: [String]) -> String? {
        guard !names.isEmpty else { return nil }
        let found = reasons.filter { reason in names.contains { $0.isBytewiseEqual(to: reason.key) } }.map(\.value)
        return found.isEmpty ? nil : found.joined(separator: ", ")
    }
}
