/// A process, by the id that its threads share (`tgid`).
package struct ProcessID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }
    package init(_ rawValue: Int32) { self.rawValue = rawValue }

    /// The kernel itself, writing mapped pages back: it is not a process and equals none, itself included.
    package static let kernel = ProcessID(0)

    package static func < (left: ProcessID, right: ProcessID) -> Bool { left.rawValue < right.rawValue }
}

/// An open file description: created by open(2), shared by dup(2) and fork(2). Ids are never reused.
package struct OpenHandleID: RawRepresentable, Hashable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }
}

/// A writer: a process and one of its open file descriptions.
package struct Writer: Hashable, Sendable {
    package var process: ProcessID
    /// `nil` when the file was given by its path, as in truncate(2).
    package var handle: OpenHandleID?

    package init(process: ProcessID, handle: OpenHandleID?) {
        self.process = process
        self.handle = handle
    }
}
