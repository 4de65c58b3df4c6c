/// The name that people gave to a device: part of the names of exported conflict versions.
package struct DeviceName: PlainByteText {
    package let string: String

    package init(_ string: String) { self.string = string }
}
