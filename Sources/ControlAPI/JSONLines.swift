/// An answer of lines of JSON, until the client disconnects.
package enum JSONLines<Line: Codable & Sendable> {}

/// An answer of bytes as they are.
package enum RawBytes {}

/// An answer of text for people or for monitors.
package enum PlainText {}
