/// One line of a directory's listing.
package struct Child: Hashable, Sendable {
    package var name: ItemName
    package var attributes: Attributes

    package init(name: ItemName, attributes: Attributes) {
        self.name = name
        self.attributes = attributes
    }
}

/// How a rename treats a name that exists. Related: renameat2(2).
package enum RenameMode: Hashable, Sendable {
    case replace
    case noReplace
    case exchange
}

/// How setxattr(2) treats an attribute that exists.
package enum XattrMode: Hashable, Sendable {
    case any
    case create
    case replace
}
