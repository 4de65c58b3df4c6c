import Testing
import Ubiquity
