"""Regular expressions of XPath, for REGEX and REPLACE. Open patterns.py first, then syntax.py beneath it, and characters.py for
what its classes are."""
