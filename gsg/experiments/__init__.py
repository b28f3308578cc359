"""Experiments with real peers: a facilitator begins one, tells its participants what to do and when, and collects their logs.

What it is: the facilitator of Paraschiv, Stefănescu and Almasi, "Agent-Based Implementation of a P2P Publish/Subscribe System",
section 5.1. What it is not: a way to command peers. Who takes part has said so, and of which facilitator.

    participant ──TakePart: rows of its log──> facilitator ──rows, at times of one clock──> Parquet
                <──Orders: acts, each at a time──

    plan.py           what is done to whom at what time
    facilitator.py    the stages of an experiment, and what is taken from whom
    participant.py    what one participant has still to tell, and to do
    clocks.py         how far two clocks are apart
    log.py            the columns of the log, which simulations/dissemination/experiment_log.py reads

Open plan.py first; facilitation.py and participation.py are the shells around it.
"""
