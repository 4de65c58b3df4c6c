/// The target of a symbolic link: data, which is followed only where a function says so.
package struct LinkTarget: PlainByteText {
    package let string: String

    package init(_ string: String) { self.string = string }
}
