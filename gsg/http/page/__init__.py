"""The page that a peer serves to browsers at ``/``.

Its sources are in ``web/``, in JavaScript; ``npm run build`` there makes ``files/`` of them, which is kept beside this file so that
nobody who starts a peer needs node. serving.py sends it: nothing of it is made for the one who asks.
"""
