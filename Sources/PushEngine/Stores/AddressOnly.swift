/// A property of this type keeps a struct at one address. A struct that may be passed by value is copied for every call
/// of a method that does not change it. The undivided engine was copied eighteen times per push, 1.4 kB each.
struct AddressOnly {
    private let value: any Sendable = ()
}
