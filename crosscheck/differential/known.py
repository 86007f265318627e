"""Differences that are explained. A row is format, rule, loader, a pattern of the
detail, and the reason; what is matched is counted and not reported."""
import re

TABLE = [
    ("pickle", "refuses", "pickle|joblib", "persistent id|persistent_load", "torch's own pickles need torch's persistent_load"),
    ("pickle", "refuses", "pickle|joblib", "UnicodeDecodeError", "texts of Python 2: pickle takes them with encoding='latin1' or 'utf-8', as torch does"),
]


def reason(d):
    for form, rule, loader, pattern, why in TABLE:
        if re.fullmatch(form, d.format) and d.rule == rule and re.fullmatch(loader, d.loader) and re.search(pattern, d.detail):
            return why
    return None
