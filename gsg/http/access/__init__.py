"""Who may do what at the HTTP door.

Open principals.py first: somebody is a name with roles. tokens.py reads the file that says who that may be, credentials.py finds in
a request what is shown there, and authentication.py says who has shown it. What an operation takes stands in its table
(application.py), what a message of the WebSocket takes in roles.py.
"""
