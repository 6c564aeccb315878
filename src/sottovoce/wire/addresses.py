"""Addresses as messages and logs may show them: without what may be a secret."""


def without_secrets(address: str) -> str:
    """The address without its user, password, query and fragment."""
    scheme, slashes, rest = address.rpartition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    authority, slash, path = rest.partition("/")
    return f"{scheme}{slashes}{authority.rpartition('@')[2]}{slash}{path}"


def origin_of(address: str) -> str:
    """Its scheme and host alone: the path of a web hook may be a secret, too."""
    shown = without_secrets(address)
    scheme, slashes, rest = shown.rpartition("://")
    return f"{scheme}{slashes}{rest.partition('/')[0]}" if slashes else shown
