/// A property of this type keeps a struct at one address. Without it, the struct may be copied for every call of a
/// method that does not change it. The engine was once copied eighteen times per push, 1.4 kB each.
struct AddressOnly {
    private let value: any Sendable = ()
}
