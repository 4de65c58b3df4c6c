/// A name in an open directory.
package struct Place: Sendable {
    package var directory: Descriptor
    package var name: String

    package init(directory: Descriptor, name: String) {
        self.directory = directory
        self.name = name
    }
}
