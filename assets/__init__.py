"""Software-defined assets and their checks, one module a domain.

An asset here reads its resources, calls the engine, and reports what came of it; it computes nothing itself.
"""
