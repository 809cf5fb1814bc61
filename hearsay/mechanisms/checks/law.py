"""What a check says when a law is broken."""


class BrokenLaw(AssertionError):
    """A mechanism or a query breaks a law; the message says which one, where, what was expected and what was got."""


def expect(holds: object, message: str) -> None:
    """Raise BrokenLaw with the message unless the law holds."""
    if not holds:
        raise BrokenLaw(message)
