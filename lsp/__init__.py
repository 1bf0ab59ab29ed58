"""The language server: what an editor shows while a schedule is typed.

`document.py` reads a text into a `Document`; every feature is a function from a `Document` and a place in it to an
answer, in a module of its own; `server.py` speaks the protocol. Nothing here imports torch: models are known from
their saved traces.
"""
