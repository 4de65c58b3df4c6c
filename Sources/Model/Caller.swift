/// The process that makes a request, as the kernel reports it for a FUSE request.
package struct Caller: Hashable, Sendable {
    /// A thread's id, which the engine maps to its process; 0 for requests of the kernel itself (write-back of mapped
    /// pages).
    package var thread: Int32
    package var user: UInt32
    package var group: UInt32
    /// The request, where it may come again; `nil` where a mount ends with its daemon.
    package var request: RequestNumber?

    package init(thread: Int32, user: UInt32, group: UInt32, request: RequestNumber? = nil) {
        self.thread = thread
        self.user = user
        self.group = group
        self.request = request
    }
}
