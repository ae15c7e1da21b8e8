"""Who may ask and change what: tokens, the audit log, limits of rates."""
