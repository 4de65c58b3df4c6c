/// A predicate in the format language of `NSPredicate`.
///
///     kMDItemFSName LIKE[cd] "*.pdf" AND (kMDItemFSSize > 1000000 OR NOT kMDItemPath CONTAINS "Archive")
///
/// Left out, and refused with their position: variables (`$NAME`), arithmetic, functions, `SUBQUERY`, `CAST`, `TERNARY`
/// and indexes (`list[0]`). Source: Apple's Predicate Programming Guide, "Predicate Format String Syntax".
package struct MetadataPredicate: Sendable {
    let condition: PredicateCondition
    /// The names that the key paths begin with, in order of their appearance.
    package let keys: [Key]

    /// A name that is looked up in the evaluated object.
    package struct Key: Hashable, Sendable {
        package let name: String
        /// Where it stands, in Unicode scalars from the start of the format.
        package let offset: Int
    }

    /// How deep parentheses, lists and negations may nest.
    package static let nestingLimit = 100

    /// - Parameters:
    ///   - format: For example `%K == %@`.
    ///   - arguments: The values of the placeholders: numbers, strings, dates, URLs, arrays, sets, `nil`. Surplus ones
    ///     are ignored.
    package init(format: String, arguments: [Any?] = []) throws(PredicateFormatError) {
        var parser = try PredicateParser(format: format, arguments: arguments)
        condition = try parser.predicate()
        keys = parser.keys
    }

    /// Evaluates it for an object that is known by its attributes.
    ///
    /// A comparison of an attribute with several values holds if it does for one of them.
    /// - Parameters:
    ///   - identity: The value of `SELF`.
    ///   - typeTree: All uniform types that a type conforms to, for `UTI-CONFORMS-TO`.
    ///   - lookup: The value of an attribute; `nil` for a missing one.
    package func evaluate(
        identity: Any? = nil, typeTree: (String) -> [String] = { [$0] }, lookup: (String) -> Any?
    ) -> Bool {
        withoutActuallyEscaping(lookup) { lookup in
            withoutActuallyEscaping(typeTree) { typeTree in
                PredicateEvaluator(
                    current: { PredicateValue(identity) }, lookup: { PredicateValue(lookup($0)) },
                    typeTree: typeTree, matchesAnyValue: true
                ).evaluate(condition)
            }
        }
    }

    /// Evaluates it for a value: a string, a number, a dictionary, an array …
    package func evaluate(with value: Any?, typeTree: (String) -> [String] = { [$0] }) -> Bool {
        let value = PredicateValue(value)
        return withoutActuallyEscaping(typeTree) { typeTree in
            PredicateEvaluator(current: { value }, lookup: value.value(forKey:), typeTree: typeTree).evaluate(condition)
        }
    }
}
