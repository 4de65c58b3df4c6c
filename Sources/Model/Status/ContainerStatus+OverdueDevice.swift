extension ContainerStatus {
    /// A device that promised to commit again, and nothing has come for twice that time.
    package struct OverdueDevice: Hashable, Sendable, Codable {
        package var device: DeviceID
        /// The human name, as its newest commit has it.
        package var name: String
        /// When its newest commit was written, RFC 3339.
        package var last: String
        /// Within how many seconds it promised the next one.
        package var seconds: Int

        package init(device: DeviceID, name: String, last: String, seconds: Int) {
            self.device = device
            self.name = name
            self.last = last
            self.seconds = seconds
        }

        /// `laptop promised to commit every 6 h, and nothing has come since 2026-…: it is off, or the store withholds it`
        package var sentence: String { sentence(since: last) }

        /// - Parameter time: When its newest commit was written, as people read it.
        package func sentence(since time: String) -> String {
            "\(name.printable) promised to commit every \(Self.text(seconds)), and nothing of it has come since \(time): "
                + "it is off or offline, or the store withholds its commits"
        }

        private static func text(_ seconds: Int) -> String {
            for (length, unit) in [(86_400, "d"), (3600, "h"), (60, "min")] where seconds.isMultiple(of: length) {
                return "\(seconds / length) \(unit)"
            }
            return "\(seconds) s"
        }
    }
}
