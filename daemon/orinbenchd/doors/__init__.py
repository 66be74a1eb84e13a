"""Who gets in: doors, tokens, certificates, roles, limits for each caller, and the audit log."""
