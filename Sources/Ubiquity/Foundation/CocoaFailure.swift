import ControlClient
import Model

extension NSError {
    convenience init(_ error: FileError, url: URL?) {
        self.init(domain: NSPOSIXErrorDomain, code: Int(error.errno))
    }
}
