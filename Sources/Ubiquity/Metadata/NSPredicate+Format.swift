import MetadataPredicate
import Model

extension NSPredicate {
    /// Parses a predicate format, for example `"%K LIKE %@"`.
    ///
    /// The predicate is evaluated with metadata items, dictionaries with string keys, and values such as texts and
    /// numbers, which are `SELF`. Attributes are looked up by their names; a missing one is `nil`.
    ///
    /// Differences from Apple's: variables (`$NAME`), arithmetic, functions, `SUBQUERY` and indexes are not supported.
    /// Objects other than metadata items and dictionaries have no attributes. A text in quotes may contain `%%` for a
    /// percent sign; an unknown escape is an error.
    /// - Precondition: The format is valid: a mistake ends the program with its position, as Apple's raises an
    ///   exception. For formats that users write, see ``init(parsing:arguments:)``.
    public convenience init(format predicateFormat: String, _ args: Any?...) {
        self.init(trusting: predicateFormat, args)
    }

    /// Parses a predicate format with its arguments in an array: see ``init(format:_:)``.
    public convenience init(format predicateFormat: String, argumentArray arguments: [Any]?) {
        self.init(trusting: predicateFormat, arguments ?? [])
    }

    /// Parses a predicate format that may be wrong. Not in Apple's SDK.
    ///
    /// - Throws: ``FormatError`` with the position of the mistake.
    public convenience init(parsing format: String, arguments: [Any?] = []) throws(FormatError) {
        do throws(PredicateFormatError) {
            self.init(try MetadataPredicate(format: format, arguments: arguments))
        } catch {
            throw FormatError(offset: error.offset, reason: error.sentence)
        }
    }

    /// A predicate made with `#Predicate`, for queries. An evaluation that throws is false, and so are other objects.
    ///
    /// `#Predicate` reads properties: a program declares those that it needs in an extension of ``NSMetadataItem``, for
    /// example `var size: Int { value(forAttribute: NSMetadataItemFSSizeKey) as? Int ?? 0 }`.
    public convenience init<Input>(_ predicate: Predicate<Input>) {
        self.init(block: { object, _ in
            guard let input = object as? Input else { return false }
            return (try? predicate.evaluate(input)) ?? false
        })
    }

    /// A mistake in a predicate format.
    public struct FormatError: Error, Hashable, Sendable, LocalizedError {
        /// Where, in Unicode scalars from the start of the format.
        public let offset: Int
        /// What is wrong, and what to write instead.
        public let reason: String

        /// What is wrong with the format, and where.
        public var errorDescription: String? { "\(reason), at offset \(offset)" }
    }

    private convenience init(trusting format: String, _ arguments: [Any?]) {
        do throws(PredicateFormatError) {
            self.init(try MetadataPredicate(format: format, arguments: arguments))
        } catch {
            preconditionFailure("Unable to parse the predicate format \"\(format)\": \(error)")
        }
    }

    private convenience init(_ predicate: MetadataPredicate) {
        self.init(block: { object, _ in
            guard let item = object as? NSMetadataItem else {
                return predicate.evaluate(with: object, typeTree: { UniformType.tree(of: $0) })
            }
            return predicate.evaluate(
                identity: item, typeTree: { UniformType.tree(of: $0, isDirectory: item.status.kind == .directory) },
                lookup: item.value(forAttribute:))
        })
        PredicateFormats.note(predicate.format, of: self)
    }
}
