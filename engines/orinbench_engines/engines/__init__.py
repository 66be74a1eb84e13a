"""Engines: each owns a device, a precision and a memory meter."""
