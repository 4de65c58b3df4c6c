import Foundation

/// Evaluates a condition for one object.
struct PredicateEvaluator {
    let current: () -> PredicateValue
    let lookup: (String) -> PredicateValue
    let typeTree: (String) -> [String]
    /// Whether a comparison of an attribute that has several values holds if it does for one of them, as in queries.
    var matchesAnyValue = false

    func evaluate(_ condition: PredicateCondition) -> Bool {
        switch condition {
        case .constant(let value): value
        case .not(let condition): !evaluate(condition)
        case .and(let conditions): conditions.allSatisfy(evaluate)
        case .or(let conditions): conditions.contains(where: evaluate)
        case .comparison(let comparison): evaluate(comparison)
        }
    }

    private func evaluate(_ comparison: PredicateComparison) -> Bool {
        let left = value(of: comparison.left)
        let right = value(of: comparison.right)
        guard let quantifier = comparison.quantifier ?? implied(comparison, left, right) else {
            return holds(comparison, left, right)
        }
        let members: [PredicateValue] =
            switch left {
            case .list(let members): members
            case .missing: []
            default: [left]
            }
        return switch quantifier {
        case .any: members.contains { holds(comparison, $0, right) }
        case .all: members.allSatisfy { holds(comparison, $0, right) }
        case .none: !members.contains { holds(comparison, $0, right) }
        }
    }

    /// `kMDItemContentTypeTree == "public.image"` means any of the types, and `!=` none of them.
    private func implied(
        _ comparison: PredicateComparison, _ left: PredicateValue, _ right: PredicateValue
    ) -> PredicateComparison.Quantifier? {
        guard matchesAnyValue, case .path(let steps) = comparison.left, steps.count == 1, case .key = steps[0],
            case .list = left
        else { return nil }
        switch (comparison.relation, right) {
        case (.contains, _), (.conformsToType, _), (_, .missing): return nil
        case (.between, _), (.isIn, _): return .any
        case (_, .list): return nil
        case (.notEqual, _): return .all
        default: return .any
        }
    }

    private func value(of expression: PredicateExpression) -> PredicateValue {
        switch expression {
        case .constant(let value): value
        case .list(let members): .list(members.map(value))
        case .path(let steps):
            if case .key(let name) = steps.first {
                lookup(name).value(at: steps.dropFirst())
            } else {
                current().value(at: steps[...])
            }
        }
    }

    private func holds(_ comparison: PredicateComparison, _ left: PredicateValue, _ right: PredicateValue) -> Bool {
        let options = comparison.options
        return switch comparison.relation {
        case .equal: left.isEqual(to: right, options: options)
        case .notEqual: !left.isEqual(to: right, options: options)
        case .less: left.order(to: right, options: options) == .orderedAscending
        case .greater: left.order(to: right, options: options) == .orderedDescending
        case .lessOrEqual: [.orderedAscending, .orderedSame].contains(left.order(to: right, options: options))
        case .greaterOrEqual: [.orderedDescending, .orderedSame].contains(left.order(to: right, options: options))
        case .between: isBetween(left, right, options)
        case .isIn: contains(right, left, options)
        case .contains: contains(left, right, options)
        case .beginsWith: compareTexts(left, right, options) { $0.hasPrefix($1) }
        case .endsWith: compareTexts(left, right, options) { $0.hasSuffix($1) }
        case .like: compareTexts(left, right, options) { LikePattern($1).matches($0) }
        case .matches: matches(comparison, left, right)
        case .equalsType: left.isEqual(to: right)
        case .conformsToType: conforms(left, to: right)
        }
    }

    private func isBetween(
        _ value: PredicateValue, _ bounds: PredicateValue, _ options: PredicateComparison.Options
    ) -> Bool {
        guard case .list(let bounds) = bounds, bounds.count == 2 else { return false }
        return [.orderedDescending, .orderedSame].contains(value.order(to: bounds[0], options: options))
            && [.orderedAscending, .orderedSame].contains(value.order(to: bounds[1], options: options))
    }

    /// Whether a list has a member, or a text a part.
    private func contains(
        _ whole: PredicateValue, _ part: PredicateValue, _ options: PredicateComparison.Options
    ) -> Bool {
        if case .list(let members) = whole { return members.contains { $0.isEqual(to: part, options: options) } }
        return compareTexts(whole, part, options) { $1.isEmpty || $0.contains($1) }
    }

    private func compareTexts(
        _ left: PredicateValue, _ right: PredicateValue, _ options: PredicateComparison.Options,
        _ holds: (String, String) -> Bool
    ) -> Bool {
        guard case .string(let left) = left, case .string(let right) = right else { return false }
        return holds(options.folded(left), options.folded(right))
    }

    private func matches(
        _ comparison: PredicateComparison, _ left: PredicateValue, _ right: PredicateValue
    ) -> Bool {
        guard case .string(let text) = left, case .string(let pattern) = right,
            let pattern = comparison.pattern ?? WholeStringPattern(pattern, options: comparison.options)
        else { return false }
        let options = comparison.options.subtracting(.caseInsensitive)
        return pattern.matches(options.folded(text))
    }

    private func conforms(_ value: PredicateValue, to type: PredicateValue) -> Bool {
        switch (value, type) {
        case (.string(let value), .string(let type)): typeTree(value).contains(type)
        case (.list(let types), .string): types.contains { $0.isEqual(to: type) }
        default: false
        }
    }
}
