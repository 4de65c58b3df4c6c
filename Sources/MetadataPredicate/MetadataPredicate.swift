/// A predicate in the format language of `NSPredicate`, parsed.
package struct MetadataPredicate: Sendable {}
