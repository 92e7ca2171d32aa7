/// A property of this type keeps a struct at one address. Without such a property, Swift may copy the struct for every
/// call of a method that is not `mutating`. The engine was once copied eighteen times per push, 1.4 kB each.
struct AddressOnly {
    private let value: any Sendable = ()
}
