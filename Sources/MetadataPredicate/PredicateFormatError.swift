/// Why a predicate format cannot be parsed.
package struct PredicateFormatError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Where, in Unicode scalars from the start of the format.
    package let offset: Int
    /// What is wrong and what to write instead: one sentence without a full stop.
    package let sentence: String

    init(at offset: Int, _ sentence: String) {
        self.offset = offset
        self.sentence = sentence
    }

    package var description: String { "\(sentence), at offset \(offset)" }
}
