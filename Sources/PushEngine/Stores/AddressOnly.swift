/// A member of this type keeps a struct at one address. A struct that may be passed by value is copied for every call of a method that does
/// not change it: for the undivided engine that was 1.4 kB, eighteen times per push.
struct AddressOnly {
    private let value: any Sendable = ()
}
