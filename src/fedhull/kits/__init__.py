"""A participant's folder and what happens in it: kits, consent, audit log, journal, results."""
