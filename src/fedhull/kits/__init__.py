"""A participant's folder: kit, consent, audit log, journal, results."""
