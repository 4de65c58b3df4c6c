/// One line of a directory's listing.
package struct Child: Hashable, Sendable {
    package var name: ItemName
    package var attributes: Attributes

    package init(name: ItemName, attributes: Attributes) {
        self.name = name
        self.attributes = attributes
    }
}

/// A name of a directory with its position there.
package struct PositionedChild: Hashable, Sendable {
    package var name: ItemName
    /// From 1 on; kept by the name until it is removed.
    package var position: Int64
    package var attributes: Attributes

    package init(name: ItemName, position: Int64, attributes: Attributes) {
        self.name = name
        self.position = position
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
