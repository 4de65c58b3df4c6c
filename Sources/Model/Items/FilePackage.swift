/// Directories that represent one document, by the extensions of their names.
///
/// Source: the extensions of Apple's System-Declared Uniform Type Identifiers that conform to `com.apple.package`.
package enum FilePackage {
    package static func isPackage(_ name: ItemName) -> Bool { extensions.contains(name.pathExtension.lowercased()) }

    private static let extensions: Set<String> = [
        "app", "appex", "bundle", "framework", "plugin", "kext", "xpc", "pkg", "mpkg", "prefpane", "qlgenerator",
        "rtfd", "pages", "numbers", "key", "playground", "playgroundbook", "xcodeproj", "xcworkspace", "xcdatamodeld",
        "xcassets", "download", "photoslibrary", "imovielibrary", "fcpbundle", "band", "logicx", "garageband",
        "sketch", "graffle", "oo3", "ooutline", "scriv", "textbundle", "vmwarevm", "sparsebundle", "dsym", "webarchive",
        "wdgt",
    ]
}
