/// Puts the program as it is installed now in the place of the daemon; programs on the mount do not notice.
package struct UpgradeRequest: ControlOrder {
    package static let route = "/v1/upgrade"
    package static let answers =
        "`{}`; the daemon then ends, and the next one has another `processID` in the status. 501 `unsupported` when the mount "
        + "ends with its daemon, or when the program cannot go on with what the daemon leaves"
    package static let example = Self(program: "/usr/bin/dewpoint", handles: 1, index: 17)
    /// It ends the daemon.
    package static let endsWithDaemon = false

    /// The absolute path of the program. It must be that which the daemon was started from.
    package var program: String
    /// The form in which it reads what is noted of open files.
    package var handles: Int
    /// The newest form of the index that it reads.
    package var index: Int

    package init(program: String, handles: Int, index: Int) {
        self.program = program
        self.handles = handles
        self.index = index
    }
}
