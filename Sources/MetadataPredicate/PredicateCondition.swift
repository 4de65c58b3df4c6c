import Foundation

/// A parsed predicate.
indirect enum PredicateCondition: Sendable {
    case constant(Bool)
    case not(PredicateCondition)
    case and([PredicateCondition])
    case or([PredicateCondition])
    case comparison(PredicateComparison)
}

/// A comparison of two expressions.
struct PredicateComparison: Sendable {
    enum Quantifier: Sendable { case any, all, none }

    enum Relation: Sendable {
        case equal, notEqual, less, greater, lessOrEqual, greaterOrEqual
        case between, isIn, beginsWith, endsWith, contains, like, matches, conformsToType, equalsType
    }

    var quantifier: Quantifier?
    var left: PredicateExpression
    var relation: Relation
    var options: Options
    var right: PredicateExpression
    /// The compiled pattern of ``Relation/matches``, if it is constant.
    var pattern: WholeStringPattern?

    /// The letters in brackets after an operator.
    struct Options: OptionSet, Hashable, Sendable {
        let rawValue: UInt8

        static let caseInsensitive = Options(rawValue: 1)
        static let diacriticInsensitive = Options(rawValue: 2)
        /// The strings are compared as they are, whatever the other options say.
        static let normalized = Options(rawValue: 4)
        /// Strings are ordered as the user's language orders them.
        static let localeSensitive = Options(rawValue: 8)
    }
}

/// One side of a comparison.
indirect enum PredicateExpression: Sendable {
    case constant(PredicateValue)
    /// `{a, b}` with a member that is not constant.
    case list([PredicateExpression])
    /// `SELF`, or a key path below it.
    case path([KeyStep])

    var constantValue: PredicateValue? {
        guard case .constant(let value) = self else { return nil }
        return value
    }
}

/// One step of a key path.
enum KeyStep: Hashable, Sendable {
    /// A key, looked up in every member of a list.
    case key(String)
    case collection(Operator)

    /// A collection operator: `@count`, and `@min`, `@max`, `@sum`, `@avg` of the values that the rest of the path has.
    enum Operator: String, CaseIterable, Hashable, Sendable { case count, min, max, sum, avg }
}
