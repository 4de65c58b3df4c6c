/// What a survey has to say of items of one kind: the first ones by name, and how many there are.
package struct SurveyFindings: Sendable {
    /// Something in the directory, and what is to be said of it.
    package struct Finding: Hashable, Sendable, Encodable {
        /// From the directory on, `.` for itself; what is not UTF-8 in it is replaced.
        package let path: String
        package let reason: String
    }

    /// How many are kept; the others are counted.
    package static let limit = 1000

    package private(set) var first: [Finding] = []
    package private(set) var count = 0

    mutating func note(_ path: String, _ reason: String) {
        count += 1
        if first.count < Self.limit { first.append(Finding(path: path, reason: reason)) }
    }
}
