"""A change of a fact at all holders of its keys, and holders that compare what they have.

Open changes.py first: the primary makes a change, tells the others and answers when all have it. deaf_holders.py sets aside those
that take none. copying.py tells a holder what it lacks of some keys; anti_entropy.py, with digests.py, finds what that is in the
end, whatever went wrong, restoring.py what is gone under one key of a fact and not under the others, and catching_up.py what a
peer has missed before it answers who subscribes.
"""
