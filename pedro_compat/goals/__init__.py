"""Pedro's goals: what a subscription's body asks of a notification.

Open covers.py first: whether a subscription wants a notification; goals.py runs a body.
"""
