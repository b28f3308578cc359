"""The languages that a subscription can be written in."""
