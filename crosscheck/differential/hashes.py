"""How values are compared: by a digest that this module's side makes, too."""
import hashlib


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]
