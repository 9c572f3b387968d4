"""The protocol: studies, messages, keys, client and server. No input or output here."""
