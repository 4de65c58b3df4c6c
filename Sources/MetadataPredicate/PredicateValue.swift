import Foundation

/// A value that predicates compare. All numbers and booleans are numbers, as in `NSNumber`.
enum PredicateValue: Sendable {
    /// `nil`, `NSNull`, or a missing attribute.
    case missing
    case integer(Int64)
    case real(Double)
    case string(String)
    case date(Date)
    case url(URL)
    case list([PredicateValue])
    case dictionary([String: PredicateValue])
    /// Another object, compared by its description.
    case other(String)

    init(_ value: Any?) {
        guard let value = Self.unwrapped(value) else {
            self = .missing
            return
        }
        if let scalar = Self.scalar(value) {
            self = scalar
        } else if let collection = Self.collection(value) {
            self = collection
        } else if let raw = (value as? any RawRepresentable)?.rawValue {
            self = PredicateValue(raw)
        } else if let data = value as? Data {
            self = .other(data.base64EncodedString())
        } else {
            self = .other(String(describing: value))
        }
    }

    private static func scalar(_ value: Any) -> PredicateValue? {
        switch value {
        case let string as String: .string(string)
        case let string as Substring: .string(String(string))
        case let flag as Bool: .integer(flag ? 1 : 0)
        case let number as any BinaryInteger: Int64(exactly: number).map(integer) ?? .real(Double(number))
        case let number as any BinaryFloatingPoint: .real(Double(number))
        case let number as Decimal: .real(NSDecimalNumber(decimal: number).doubleValue)
        case let number as NSNumber: Self.number(number)
        case let date as Date: .date(date)
        case let url as URL: .url(url)
        case let string as NSString: .string(string as String)
        case let date as NSDate: .date(date as Date)
        case let url as NSURL: .url(url as URL)
        default: nil
        }
    }

    private static func number(_ number: NSNumber) -> PredicateValue {
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "d"), UInt8(ascii: "f"): .real(number.doubleValue)
        case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): .real(number.doubleValue)
        default: .integer(number.int64Value)
        }
    }

    private static func collection(_ value: Any) -> PredicateValue? {
        switch value {
        case let list as [Any?]: .list(list.map { PredicateValue($0) })
        case let list as NSArray: .list(list.map { PredicateValue($0) })
        case let set as Set<AnyHashable>: .list(set.map { PredicateValue($0.base) })
        case let set as NSSet: .list(set.allObjects.map { PredicateValue($0) })
        case let dictionary as [String: Any?]: .dictionary(dictionary.mapValues { PredicateValue($0) })
        case let dictionary as NSDictionary:
            .dictionary(
                Dictionary(
                    dictionary.allKeys.compactMap { key in
                        (key as? String).map { ($0, PredicateValue(dictionary[key])) }
                    }, uniquingKeysWith: { first, _ in first }))
        default: nil
        }
    }

    /// Without any level of optionality.
    private static func unwrapped(_ value: Any?) -> Any? {
        guard let value, !(value is NSNull) else { return nil }
        guard let optional = value as? any OptionalValue else { return value }
        return unwrapped(optional.payload)
    }
}

/// An optional that is hidden in an `Any`.
private protocol OptionalValue {
    var payload: Any? { get }
}

extension Optional: OptionalValue {
    var payload: Any? { self }
}
