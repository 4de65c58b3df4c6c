import ControlClient
import Glibc
import Linux
import Model
import Testing
import Ubiquity

@testable import Ubiquity

@Suite struct ResourceValueTests {
    @Test func `an item has a uniform type`() throws {
        let scratch = try ScratchDirectory()
        func type(_ url: URL) throws -> UTType? { try url.resourceValues(forKeys: [.contentTypeKey]).contentType }
        #expect(try type(scratch.file("a.PNG", "x")) == .png)
        #expect(try type(scratch.directory("d")) == .folder && type(scratch.directory("p.rtfd")) == .rtfd)
        #expect(try type(scratch.file("a.unknown", "x")) == .data)
        #expect(
            UTType.png.conforms(to: .image) && UTType.image.isSupertype(of: .png) && !UTType.pdf.conforms(to: .image))
        #expect(UTType("public.none") == nil && UTType("public.png")?.preferredFilenameExtension == "png")
        #expect(UTType(filenameExtension: "md")?.supertypes.contains(.text) == true)
        #expect(throws: CocoaError.self) { try type(scratch.url.appendingPathComponent("absent")) }
    }

    let url = URL(fileURLWithPath: "/etc/passwd")

    @Test func `Foundation stores resource values as expected`() { #expect(ResourceValuesLayout.isKnown) }

    @Test func `outside a container only isUbiquitousItem has a value`() throws {
        let values = try url.resourceValues(forKeys: UbiquityValues.keys.union([.isRegularFileKey]))
        #expect(values.isUbiquitousItem == false)
        #expect(values.isRegularFile == true)
        #expect(values.allValues.count == 2)
        #expect(values.ubiquitousItemDownloadingStatus == nil)
        #expect(try (url as NSURL).resourceValues(forKeys: Array(UbiquityValues.keys)).count == 1)
        var value: AnyObject? = NSNull()
        try (url as NSURL).getResourceValue(&value, forKey: .ubiquitousItemDownloadingStatusKey)
        #expect(value == nil)
    }

    @Test func `values of all types arrive`() {
        let values = ResourceValuesLayout.adding(
            [
                .ubiquitousItemDownloadingStatusKey: NSString(
                    string: "NSURLUbiquitousItemDownloadingStatusDownloaded"),
                .ubiquitousItemIsUploadedKey: true, .ubiquitousItemPercentDownloadedKey: 42.5,
                .ubiquitousItemDownloadingErrorKey: NSError(domain: NSCocoaErrorDomain, code: 4353),
                .ubiquitousItemContainerDisplayNameKey: "Notes",
            ], to: URLResourceValues())
        #expect(values.ubiquitousItemDownloadingStatus == .downloaded)
        #expect(values.ubiquitousItemIsUploaded == true)
        #expect(values.ubiquitousItemPercentDownloaded == 42.5)
        #expect(values.ubiquitousItemDownloadingError?.code == 4353)
        #expect(values.ubiquitousItemContainerDisplayName == "Notes")
        let status = values.allValues[.ubiquitousItemDownloadingStatusKey]
        #expect(status as? String == URLUbiquitousItemDownloadingStatus.downloaded.rawValue)
        #expect(status as? URLUbiquitousItemDownloadingStatus == .downloaded)
    }

    @Test func `exclusion from sync is taken out before Foundation sets the rest`() {
        var values = URLResourceValues()
        #expect(!ResourceValuesLayout.isAnythingSet(in: values))
        values.ubiquitousItemIsExcludedFromSync = true
        #expect(values.ubiquitousItemIsExcludedFromSync == true)
        #expect(ResourceValuesLayout.take(.ubiquitousItemIsExcludedFromSyncKey, from: &values) as? Bool == true)
        #expect(!ResourceValuesLayout.isAnythingSet(in: values))
        #expect(values.ubiquitousItemIsExcludedFromSync == nil)
    }

    @Test func `an item outside a container cannot be excluded from sync`() throws {
        let scratch = try ScratchDirectory()
        var url = try scratch.file("f", "")
        var values = URLResourceValues()
        values.ubiquitousItemIsExcludedFromSync = true
        let error = #expect(throws: CocoaError.self) { try url.setResourceValues(values) }
        #expect(error?.code == .featureUnsupported)
    }

    @Test func `a missing item is an error`() {
        let missing = URL(fileURLWithPath: "/etc/no-such-file")
        let error = #expect(throws: CocoaError.self) { try missing.resourceValues(forKeys: [.isUbiquitousItemKey]) }
        #expect(error?.code == .fileReadNoSuchFile)
        let unreachable = #expect(throws: CocoaError.self) { try missing.checkPromisedItemIsReachable() }
        #expect(unreachable?.code == .fileReadNoSuchFile)
    }

    @Test func `the keys are the names of Apple's constants`() {
        for key in UbiquityValues.keys { #expect(key.rawValue.hasPrefix("NSURL") && key.rawValue.hasSuffix("Key")) }
        #expect(UbiquityValues.keys.count == 20)
    }

    @Test(
        arguments: [
            (ENOENT, CocoaFailure.Access.reading, 260), (ENOENT, .writing, 4), (EACCES, .reading, 257),
            (EPERM, .writing, 513), (EEXIST, .writing, 516), (ENOSPC, .writing, 640), (EDQUOT, .writing, 4354),
            (EROFS, .writing, 642), (EHOSTUNREACH, .reading, 4355), (ENETUNREACH, .reading, 4355),
            (ETIMEDOUT, .reading, 4355), (ENOTCONN, .reading, 4355), (EREMOTEIO, .reading, 4353),
            (ECANCELED, .writing, 3072), (EDEADLK, .writing, 255), (EBUSY, .writing, 513), (EOPNOTSUPP, .writing, 3328),
            (EIO, .reading, 256), (EIO, .writing, 512),
        ] as [(Int32, CocoaFailure.Access, Int)])
    func `each errno has its Cocoa code`(_ number: Int32, _ access: CocoaFailure.Access, _ code: Int) {
        let error = CocoaFailure.error(FileError(FailedCall("open", number)), access, url)
        #expect(error.code.rawValue == code)
        #expect(error.userInfo[NSFilePathErrorKey] as? String == "/etc/passwd")
        #expect(error.userInfo[NSURLErrorKey] as? URL == url)
        #expect((error.underlying as? POSIXError)?.code.rawValue == number)
    }

    @Test func `a daemon's refusal keeps its reason`() {
        let error = NSError(ControlError.refused(FileError(.corrupt, "damaged")), .reading, url: url)
        #expect(error.domain == NSCocoaErrorDomain)
        #expect(error.code == 259)
        #expect(error.localizedFailureReason == "damaged")
        #expect(NSError(ControlError.daemonUnreachable("gone"), url: url).code == 4355)
        #expect(NSError(FileError(.busy, "claimed"), .writing, url: url).code == 513)
    }
}
