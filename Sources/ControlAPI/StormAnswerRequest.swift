/// The body of ``ControlRoute/answerStorm``.
package struct StormAnswerRequest: Codable, Hashable, Sendable {
    /// A process, or the number of its group, as shown by ``ControlRoute/status``.
    package var process: Int32
    /// Whether its reads proceed rather than fail.
    package var allowed: Bool

    package init(process: Int32, allowed: Bool) {
        self.process = process
        self.allowed = allowed
    }
}
