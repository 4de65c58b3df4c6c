extension ContainerStatus {
    /// Whether the mount goes on when its daemon is killed, where it was asked to (`survive`).
    package struct Survival: Hashable, Sendable, Codable {
        /// How often a daemon was replaced.
        package var replacements: Int
        /// Why the mount ends with its daemon all the same; `nil` when it does not.
        package var obstacle: String?

        package init(replacements: Int, obstacle: String? = nil) {
            self.replacements = replacements
            self.obstacle = obstacle
        }

        package var sentence: String {
            if let obstacle { return "the mount ends with its daemon: \(obstacle)" }
            return switch replacements {
            case 0: "the mount goes on when its daemon is killed"
            case 1: "the mount goes on when its daemon is killed, as it did once"
            default: "the mount goes on when its daemon is killed, as it did \(replacements) times"
            }
        }
    }
}
