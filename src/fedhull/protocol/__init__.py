"""Who says what to whom: studies, messages, keys, client and server. No input or output here."""
