/// The full name of an extended attribute, as in `user.comment`.
package struct AttributeName: PlainByteText {
    package let string: String

    package init(_ string: String) { self.string = string }
}
